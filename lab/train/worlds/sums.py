"""Sums for the calculator. In: a random source. Out: questions, the expression of each, and questions that continue from a
result."""
import re

from .arithmetic import SIGNS, number, pair, said, spoken, value_of, written
from .problems import problem
from .say import careless, choose
from .words import words

ASK = ("What is X? | What is X? | What's X? | How much is X? | Can you work out X for me? | Please work out X. | Work out X. | "
       "Calculate X. | Can you calculate X? | Please calculate X for me. | I need X. | What does X make? | X = ? | X = | X | "
       "X? | "
       "Do you know what X is? | Tell me what X is. | Could you tell me X? | How much does X make? | What do I get for X? | "
       "Compute X, please. | Hi, what is X? | what's X please | solve X | Solve: X | X is what? | Help me with X. | Quick, X? | "
       "Can you solve X? | X equals? | What is the result of X?")
GOODS = words('a book, a pen, a ticket, a cake, a ball, a lamp, a cup, a shirt, a toy, a pizza, a hat, a bag, a kite, a plant')
FOLLOW = {
    '*': "And times b? | and times b | Times b. | times b? | Now times b. | Multiply that by b. | Multiply it by b. | "
    "And that times b? | "
         "Now multiply the result by b. | What is that times b? | and b times that? | And if I multiply it by b?",
    '+': "And plus b? | plus b | And b more? | Add b. | Add b to that. | Now add b. | What is that plus b? | And if I add b? | "
    "Plus b, please. | "
         "Add b to the result.",
    '-': "And minus b? | minus b | And b less? | Subtract b. | Take b away from that. | Now minus b. | What is that minus b? | "
         "And if I take away b? | Now subtract b from it.",
    '/': "And divided by b? | Divide that by b. | Now divide it by b. | divided by b | What is that divided by b? | "
    "And half of a b? | "
         "Divide the result by b.",
    '%': "What is b percent of that? | And b % of it? | b% of that? | How much is b% of that? | And b percent of the result?",
}
FOLLOW['/'] = FOLLOW['/'].replace(' | And half of a b?', '')
HALVES = [
    ('What is half of that?', '/ 2'), ('And half of it?', '/ 2'), ('Double it.', '* 2'), ('And twice that?', '* 2'),
    ('Now double that.', '* 2'), ('And squared?', '^ 2'), ('And a third of that?', '/ 3'), ('Halve it.', '/ 2'),
    ('and a quarter of that', '/ 4'), ('Triple it.', '* 3'),
]


def asked(rng, text):
    """A question around a phrased sum."""
    return careless(rng, choose(rng, ASK).replace('X', text))


def two(rng):
    a, sign, b = pair(rng)
    expression, roll = f'{a} {sign} {b}', rng.random()
    one, other = written(rng, a), written(rng, b)
    if roll < 0.12:
        return careless(rng, {'+': rng.choice([f'Add {one} and {other}.', f'What is the sum of {one} and {other}?', f'Add {other} to {one}.']),
                              '-': rng.choice([f'Take {other} away from {one}.', f'Subtract {other} from {one}.',
                                               f'What is the difference between {one} and {other}?']),
                              '*': rng.choice([f'Multiply {one} by {other}.', f'What is the product of {one} and {other}?']),
                              '/': rng.choice([f'Divide {one} by {other}.', f'How often does {other} go into {one}?'])}[sign]), expression
    if roll < 0.18 and a.isdigit() and b.isdigit() and int(a) < 10000:
        return asked(rng, f'{spoken(int(a))} {SIGNS[sign][0]} {spoken(int(b))}'), expression
    if roll < 0.23:
        coin = rng.choice('$£€')
        return asked(rng, f'{coin}{a} {SIGNS[sign][0]} {coin + b if sign in "+-" else b}'), expression
    return asked(rng, said(rng, expression)), expression


def three(rng):
    """Sums of three numbers, a third of them with brackets."""
    a, b, c = (number(rng) for _ in range(3))
    signs = [rng.choice('++-*'), rng.choice('++-*/')]
    if '/' in signs:
        c = str(rng.choice([2, 4, 5, 8, 10]))
    b, c = (str(rng.randint(2, 20)) if s in '*/' and rng.random() < 0.8 else n for s, n in zip(signs, (b, c)))
    roll = rng.random()
    if roll < 0.2:
        expression = f'({a} {signs[0]} {b}) {rng.choice("*/-*")} {c}'
    elif roll < 0.33:
        expression = f'{a} {rng.choice("*-+*")} ({b} {signs[1]} {c})'
    else:
        expression = f'{a} {signs[0]} {b} {signs[1]} {c}'
    if roll > 0.9 and '(' not in expression:
        expression = f'{a} + {b} + {c}'
        return careless(rng, rng.choice([f'Add {a}, {b} and {c}.', f'What is the sum of {a}, {b} and {c}?', f'{a} and {b} and {c} makes?'])), expression
    if roll < 0.12 and signs[0] in '+-':
        kind = 'sum' if signs[0] == '+' else 'difference'
        return careless(rng, f'What is the {kind} of {a} and {b}, times {c}?'), f'({a} {signs[0]} {b}) * {c}'
    return asked(rng, said(rng, expression)), expression


PRICES = [
    ('+', 'G costs W. Now it costs P more. What is the new price?'),
    ('+', 'G was W euros and got P dearer. What does it cost now?'), ('-', 'G costs W. Now it is P less. What does it cost?'),
    ('-', 'G costs W and there is P off. What is the price now?'), ('-', 'G for W euros is P cheaper now. How much is it?'),
    ('-', 'I get P off on a price of W. What do I pay?'), ('-', 'The price was W euros and falls by P. What is it now?'),
]
PARTS = [
    'P of W children have a dog. How many is that?', 'I give a tip of P on W euros. How much is the tip?',
    'How much tax is P on W?', 'P of the W trees are old. How many trees is that?',
    'There are W cards and P of them are red. How many are red?', 'P of W people like tea. How many people like tea?',
    'A class has W girls and boys, and P are ill. How many are ill?', 'Of W eggs, P are broken. How many are broken?',
    'I save P of my W euros. How much do I save?',
]


def percent(rng):
    """Shares, prices that rise or fall, and parts of a number."""
    share = rng.choice([rng.randint(1, 99), rng.choice([5, 10, 15, 20, 25, 30, 50, 75, 7.5, 2.5, 12.5])])
    whole, mark, roll = number(rng), rng.choice(['%', ' %', ' percent', ' per cent']), rng.random()
    if roll < 0.45:
        return asked(rng, f'{share}{mark} of {written(rng, whole)}'), f'{share}% * {whole}'
    sign, template = rng.choice(PRICES) if roll < 0.72 else ('', rng.choice(PARTS))
    whole = whole if sign else str(rng.randint(2, 90) * 10)
    slots = {'P': f'{share}{mark}', 'W': whole, 'G': rng.choice(GOODS)}
    text = re.sub(r'\b[PWG]\b', lambda m: slots[m[0]], template)
    return careless(rng, text[0].upper() + text[1:]), f'{whole} {sign} {share}% * {whole}' if sign else f'{share}% * {whole}'


def shares(rng):
    """Halves, doubles, powers and dozens."""
    a = number(rng)
    spelt = written(rng, a)
    small, power = rng.randint(2, 20), rng.randint(2, 10)
    return rng.choice([
        (asked(rng, f'half of {spelt}'), f'{a} / 2'), (asked(rng, f'twice {spelt}'), f'2 * {a}'), (asked(rng, f'double {spelt}'), f'2 * {a}'),
        (asked(rng, f'a third of {spelt}'), f'{a} / 3'), (asked(rng, f'a quarter of {spelt}'), f'{a} / 4'),
        (asked(rng, f'{small} squared'), f'{small} ^ 2'), (asked(rng, f'{small} cubed'), f'{small} ^ 3'),
        (asked(rng, rng.choice([f'{small} to the power of {power % 6 + 2}', f'{small}^{power % 6 + 2}'])), f'{small} ^ {power % 6 + 2}'),
        (f'How many are {small} dozen?', f'{small} * 12'), (f'How many eggs are in {small} dozen?', f'{small} * 12')])


MAKERS = [(two, 44), (three, 9), (percent, 12), (shares, 3), (problem, 32)]


def sum_of(rng):
    """A question and its expression; results stay below a billion."""
    while True:
        question, expression = rng.choices([m for m, _ in MAKERS], [s for _, s in MAKERS])[0](rng)
        try:
            value = value_of(expression)
        except ZeroDivisionError:
            continue
        if abs(float(value)) < 1e9:
            return question, expression, value


def follow_up(rng, before):
    """A question that continues from a result, and its expression."""
    if rng.random() < 0.2:
        question, step = rng.choice(HALVES)
        return careless(rng, question), f'{before} {step}'
    sign = rng.choice('*+-/%')
    b = str(rng.choice([rng.randint(2, 12), rng.randint(2, 12), rng.randint(10, 99), rng.randint(100, 500)] if sign in '+-' else [rng.randint(2, 12)]))
    if sign == '%':
        b = str(rng.choice([5, 10, 15, 20, 25, 30, 40, 50, 75, rng.randint(1, 99)]))
    spelt = spoken(int(b)) if int(b) < 21 and rng.random() < 0.35 else b
    question = ' '.join(w.replace('b', spelt, 1) if w.rstrip('.?,%') == 'b' else w for w in choose(rng, FOLLOW[sign]).split(' '))
    return careless(rng, question), f'{b}% * {before}' if sign == '%' else f'{before} {sign} {b}'
