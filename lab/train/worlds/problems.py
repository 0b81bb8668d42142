"""Word problems. In: a random source. Out: a small story with two or three numbers, a question, and its expression."""
from .arithmetic import spoken
from .say import choose
from .words import ANIMALS, BOYS, GIRLS, words

THINGS = words("""apples, coins, shells, eggs, nuts, stars, balls, cookies, pencils, stickers, marbles, flowers, sweets, cards, cars, pears,
    buttons, stones, tomatoes, photos, letters, blocks, stamps, chairs, cups, roses, trees, sandwiches, oranges, bottles, bricks,
    beads, potatoes, pens, leaves""")
PEOPLE = words("""children, people, guests, boys, girls, players, dancers, sailors, friends, workers, students, tourists, singers, farmers""")
SPOTS = words("""in the park, on the train, in the boat, at the party, in the shop, in the zoo, in the hall, on the ship, at the show,
    in the pool, in the garden, on the field""")
HOLDERS = words('box, bag, jar, basket, shelf, cart, row, packet, crate, drawer, page, room, table, truck, bowl, pot')
DAYS = [
    ('in the morning', 'in the evening'), ('on Monday', 'on Tuesday'), ('yesterday', 'today'), ('at first', 'later'),
    ('last week', 'this week'), ('in May', 'in June'), ('on the first day', 'on the second'),
    ('before noon', 'in the afternoon'),
]
DID = words('sold, found, counted, picked, made, painted, planted, collected, washed, bought, packed, wrote, drew, carried')
GONE = words("""are eaten, are lost, are sold, break, fall down, are given away, are stolen, are taken away, roll away, are thrown away""")
ALL = words('in all, together, in total, altogether')
GOODS = words('book, pen, ticket, cake, lamp, shirt, toy, pizza, hat, bag, plant, chair, bike, game, coat, melon, stamp, drink')
PLUS = [
    '{A} {did} {a} {X} {t} and {b} {u}. How many {X} is that {all}?',
    '{A} {did} {a} {X} {t} and {b} {X} {u}. How many are that?',
    'There are {a} {P} {s}. Then {b} more come. How many {P} are there now?',
    '{a} {P} are {s} and {b} more arrive. How many are there {all}?',
    '{A} has {a} {X} and gets {b} more. How many {X} does {A} have now?',
    'I have a box with {a} {X} and one with {b}. How many {X} do I have?',
    '{A} has {a} {X} and {B} has {b}. How many do they have {all}?',
    'A farmer has {a} {L} and {b} {M}. How many animals is that?',
    '{A} gives {B} {a} {X}. {B} had {b} before. How many does {B} have now?',
    'A {g} costs {a} euros and a {h} costs {b}. What do they cost together?',
    'The train goes {a} km and then {b} km more. How far does it go?', '{a} red {X} and {b} blue ones, how many are that?',
    'I had {a} {X} and {did} {b} more. How many do I have now?', 'I am {a} years old. How old am I in {b} years?',
    'We drove {a} miles {t} and {b} miles {u}. How many miles did we drive?',
    '{A} spent {a} minutes on a puzzle and {b} minutes on a book. How many minutes is that?',
    '{a} {X} were in the {c}. {A} put in {b} more. How many are in it now?',
]
MINUS = [
    '{A} has {a} {X}. {b} {gone}. How many are left?', 'There were {a} {X} in the {c}, and {b} {gone}. How many {X} are left?',
    '{a} {P} were {s}. {b} went home. How many stayed?', 'There are {a} {P} {s}. {b} of them leave. How many are still there?',
    '{A} had {a} {X} and gave {b} to {B}. How many does {A} have left?', 'I need {a} {X} and have {b}. How many more do I need?',
    '{A} has {a} {X} and {B} has {b}. How many more does {A} have?',
    'I have {a} euros and buy a {g} for {b}. How much money is left?',
    'A {g} costs {b} euros and I pay with {a}. How much do I get back?',
    '{A} is {a} years old and {B} is {b}. How much older is {A}?',
    'A book has {a} pages and I have read {b}. How many pages are left?', 'Of {a} {L}, {b} ran away. How many are still here?',
    '{A} is {a} cm tall and {B} is {b} cm. How much taller is {A}?',
    'A tank had {a} litres and {b} ran out. How many litres are left?', 'From {a} {X}, {A} takes {b} away. What is left?',
    'A {g} was {a} euros and is now {b} euros cheaper. What does it cost now?',
    'It was {a} degrees and got {b} degrees colder. How many degrees is it now?',
    'The film has {a} minutes and {b} are over. How many minutes are left?',
]
TIMES_EACH = [
    'There are {a} {C} with {b} {X} each. How many {X} are there?', 'Every {c} has {b} {X}. How many {X} are in {a} {C}?',
    'One {c} holds {b} {X}. How many {X} are in {a} {C}?', '{a} {P} have {b} {X} each. How many {X} do they have?',
    'A {g} costs {b} euros. How much do {a} of them cost?', 'One {g} costs {b} euros. What do I pay for {a}?',
    '{A} runs {b} km a day. How far does {A} run in {a} days?',
    '{A} reads {b} pages every day. How many pages are that in {a} days?', 'A {l} has {b} legs. How many legs have {a} of them?',
    '{A} earns {b} euros an hour and works {a} hours. How much money is that?',
    'It takes {b} minutes to wash one window. How long do {a} windows take?', '{a} rows of {b} {X}, how many are that?',
    'Each of the {a} {P} brings {b} {X}. How many {X} do they bring?',
    '{A} makes {b} {X} an hour. How many does {A} make in {a} hours?', 'A week has 7 days. How many days are in {a} weeks?',
    'A house has {a} floors with {b} rooms on each. How many rooms has it?',
]
SHARED = [
    '{a} {X} are shared by {b} {P}. How many does each get?',
    '{A} puts {a} {X} into {b} {C}, the same in each. How many {X} are in one {c}?',
    '{b} {P} share {a} euros. How much does each one get?', '{b} {G} cost {a} euros. What does one cost?',
    'I have {a} euros and a {g} costs {b}. How many can I buy?',
    'A rope of {a} metres is cut into {b} equal pieces. How long is one piece?',
    '{A} reads {a} pages in {b} days, the same every day. How many pages are that a day?',
    '{a} {P} sit at {b} tables. How many sit at one table?',
    'A car needs {b} hours for {a} km. How many km does it go in one hour?', 'How many {C} of {b} {X} can I fill with {a} {X}?',
    '{a} {P} go in {b} equal groups. How many are in one group?',
    'We share {a} {X} between the {b} of us. How many {X} for each?',
]


REGULAR = [w for w in ANIMALS if w not in ('fish', 'sheep', 'deer', 'goose', 'mouse', 'wolf', 'calf', 'squid', 'shrimp', 'elk')]


def many(noun):
    """The plural of a holder or an animal."""
    return 'shelves' if noun == 'shelf' else noun + ('es' if noun.endswith(('x', 's', 'h')) else 's')


def numbers(rng, sign):
    """Two numbers that fit a sign."""
    if sign == '*':
        return rng.randint(2, 25), rng.randint(2, 20)
    if sign == '/':
        b = rng.randint(2, 15)
        return b * rng.randint(2, 20), b
    a, b = rng.choice([(rng.randint(2, 20), rng.randint(2, 20)), (rng.randint(10, 99), rng.randint(2, 60)), (rng.randint(50, 999), rng.randint(5, 500))])
    if sign == '-':
        a, b = max(a, b), min(a, b)
    return a + (a == b), b


def problem(rng):
    """A word problem of one step, or of two."""
    sign = rng.choice('+-*/')
    template = rng.choice({'+': PLUS, '-': MINUS, '*': TIMES_EACH, '/': SHARED}[sign])
    a, b = numbers(rng, sign)
    expression = f'{a} {sign} {b}' if '{b}' in template else f'{a} * 7'
    if sign == '*' and rng.random() < 0.5 and '{b}' in template:
        expression = f'{b} * {a}'
    if sign in '+-' and rng.random() < 0.08 and '. How many' in template:
        c = rng.randint(2, max(2, min(30, a - b - 1))) if sign == '-' else rng.randint(2, 30)
        step, other = rng.choice([(f'Then {c} more are gone', '-'), (f'Then {c} are lost', '-'), (f'Then {c} more come', '+'),
                                  (f'Later there are {c} more', '+')])
        story, _, ask = template.rpartition('. ')
        template, expression = f'{story}. {step}. {ask}', f'{expression} {other} {c}'
    one, other = rng.sample(BOYS + GIRLS, 2)
    first, second = rng.choice(DAYS)
    animals, goods, holder = rng.sample(REGULAR, 2), rng.sample(GOODS, 2), rng.choice(HOLDERS)
    text = template.format(A=one, B=other, X=rng.choice(THINGS), P=rng.choice(PEOPLE), s=rng.choice(SPOTS),
                           c=holder, C=many(holder), g=goods[0], h=goods[1], G=goods[0] + 's',
                           l=animals[0], L=many(animals[0]), M=many(animals[1]), t=first, u=second,
                           did=rng.choice(DID), gone=rng.choice(GONE), all=rng.choice(ALL),
                           a=spoken(a) if a < 21 and rng.random() < 0.08 else a, b=spoken(b) if b < 21 and rng.random() < 0.12 else b)
    text = text.replace('A owl', 'An owl')
    if rng.random() < 0.12:
        text = choose(rng, 'Can you help me? | A question: | Please work this out: | Quick: | Here is a sum: ').strip() + ' ' + text
    return text[0].upper() + text[1:], expression
