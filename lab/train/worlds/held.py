"""Held-out questions. In: a seed. Out: prompts/held.json: sums, stories with requested things, and unusual prompts.

python3 -m worlds.held writes the file. It uses its own words, wordings and numbers, which are excluded from training.
"""
import json
import random
from pathlib import Path

from .arithmetic import plain, value_of
from .say import a, join
from .words import words

SEED = 30
PATH = Path(__file__).resolve().parent.parent / 'prompts' / 'held.json'
HELD_ANIMALS = words('kangaroo, raccoon, moose, walrus, pigeon, ferret, llama, reindeer, toad, lobster, flamingo, ostrich')
HELD_THINGS = words("""lantern, backpack, helmet, telescope, compass, sponge, ticket, vase, trophy, medal, canoe, waffle, pretzel, banner""")
HELD_PLACES = words('lighthouse, windmill, tunnel, orchard, waterfall, harbor, cottage, station, balcony, swamp')
HELD_WORDS = set(HELD_ANIMALS + HELD_THINGS + HELD_PLACES)

PLAIN = [
    'What is {}?', '{}', '{} =', 'How much is {}?', 'Please tell me what {} gives.', 'I would like to know {}.',
    'Work this out: {}', 'So, {}?',
]
PROBLEMS = {
    '+': ['There are {a} ducks on the pond. {b} more land there. How many ducks are on the pond now?', 'Grandma baked {a} rolls and {b} buns. How many did she bake?',
          'I walked {a} steps before lunch and {b} after it. How many steps did I walk?', 'Nora saved {a} dollars and earned {b} more. How many dollars has she?'],
    '-': ['A bus has {a} people in it. {b} get off. How many people are still in the bus?', 'Of {a} candles, {b} went out. How many still burn?',
          'The rope was {a} metres long and I cut off {b} metres. How long is it now?', 'I want to read {a} books this year and have read {b}. How many are missing?'],
    '*': ['Each tray holds {b} muffins. How many muffins are on {a} trays?', 'A ride costs {b} euros. What do {a} rides cost?',
          'Every child gets {b} balloons. There are {a} children. How many balloons do I need?', 'A cat eats {b} fish a week. How many does it eat in {a} weeks?'],
    '/': ['{a} players make {b} equal teams. How many players are in each team?', 'We cut a ribbon of {a} centimetres into {b} equal parts. How long is each part?',
          '{a} plums are put on {b} plates, the same on each plate. How many plums are on a plate?'],
}
SHARE = [
    'What is {p} % of {a}?', 'How much is {p} percent of {a}?', '{p}% of {a}',
    'A jacket costs {a} euros. It is {p} % cheaper today. What does it cost today?',
    '{p} percent of the {a} pupils walk to school. How many pupils is that?',
]
AFTER = [
    ('and times {w}?', '{r} * {n}'), ('Plus {n}.', '{r} + {n}'), ('Now take {n} away.', '{r} - {n}'),
    ('And divided by {w}?', '{r} / {n}'), ('What is {n} % of that?', '{n}% * {r}'), ('And half of that?', '{r} / 2'),
    ('Multiply the result by {n}, please.', '{r} * {n}'), ('add {n} to it', '{r} + {n}'),
]
SMALL = 'zero one two three four five six seven eight nine'.split()


def sign_words(rng, expression):
    """The expression with its signs in words or as symbols."""
    if rng.random() < 0.4:
        for sign, word in (('+', 'plus'), ('-', 'minus'), ('*', 'times'), ('/', 'divided by')):
            expression = expression.replace(f' {sign} ', f' {word} ')
    return expression


def numbers(rng):
    """Three numbers, sometimes with decimals."""
    made = [str(rng.choice([rng.randint(3, 30), rng.randint(10, 99), rng.randint(100, 2000)])) for _ in range(3)]
    if rng.random() < 0.25:
        made[0] = f'{rng.randint(1, 90)}.{rng.choice(["5", "25", "75", "4", "8"])}'
    return made


def plain_sum(rng, count, brackets=False):
    """A sum of two or three numbers; divisors are small, so that results are short."""
    ns, signs = numbers(rng), [rng.choice('+-*/'), rng.choice('+-*')]
    ns = [str(rng.randint(2, 12)) if i and signs[i - 1] in '*/' else n for i, n in enumerate(ns)]
    if count == 2:
        expression = f'{ns[0]} {signs[0]} {ns[1]}'
    elif brackets:
        expression = f'({ns[0]} {rng.choice("+-")} {ns[1]}) {rng.choice("*/")} {rng.randint(2, 9)}'
    else:
        expression = f'{ns[0]} {signs[0]} {ns[1]} {signs[1]} {ns[2]}'
    return {'turns': [rng.choice(PLAIN).format(sign_words(rng, expression))], 'result': float(value_of(expression)), 'expression': expression}


def problem(rng):
    sign = rng.choice('+-*/')
    a_, b_ = sorted((rng.randint(3, 60), rng.randint(2, 40)), reverse=True)
    if sign in '*/':
        a_, b_ = rng.randint(3, 15), rng.randint(2, 12)
    if a_ == b_:
        a_ += 1
    a_ = a_ * b_ if sign == '/' else a_
    return {'turns': [rng.choice(PROBLEMS[sign]).format(a=a_, b=b_)], 'result': float(value_of(f'{a_} {sign} {b_}'))}


def share(rng):
    p, whole, ask = rng.choice([4, 5, 8, 12, 15, 20, 25, 30, 45, 60]), rng.randint(2, 60) * 10, rng.choice(SHARE)
    expression = f'{whole} - {p}% * {whole}' if 'cheaper' in ask else f'{p}% * {whole}'
    return {'turns': [ask.format(p=p, a=whole)], 'result': float(value_of(expression))}


def follow(rng):
    """A sum and a question that continues from its result."""
    first = plain_sum(rng, 2)
    ask, step = rng.choice(AFTER)
    n = rng.randint(2, 9)
    result = value_of(step.format(r=plain(first['result']), n=n))
    return {'turns': [*first['turns'], ask.format(w=SMALL[n], n=n)], 'result': float(result),
            'first': {'expression': first['expression'], 'result': plain(first['result'])}}


MAKERS = [('two', lambda rng: plain_sum(rng, 2), 50), ('three', lambda rng: plain_sum(rng, 3), 30), ('brackets', lambda rng: plain_sum(rng, 3, True), 20),
          ('percent', share, 30), ('problems', problem, 40), ('follow-ups', follow, 30)]
ASKS = [
    'Tell me a story about {}.', 'Please tell a story with {}.', 'Could I have a story with {}?',
    'I want a story where {} play a part.', 'A tale of {}, please.',
]


def story(rng):
    """A request for one to three held-out things, and the words that its story must contain."""
    count = rng.choice([1, 2, 2, 3])
    things = [rng.choice(HELD_ANIMALS), rng.choice(HELD_THINGS), rng.choice(HELD_PLACES)]
    things = rng.sample(things, count)
    ask = rng.choice([x for x in ASKS if count > 1 or 'play' not in x])
    return {'prompt': ask.format(join([a(t) for t in things])), 'words': things}


#: The story prompts of prompts.json, and what their stories must contain.
KNOWN = [['mouse'], ['Mia', 'kite', 'park'], ['dragon', 'dark'], ['boat', 'lake'], ['fox', 'hat', 'river'],
         ['bear', 'honey', 'jar'], ['Sam', 'shoe'], ['cloud', 'sheep'], ['friend', 'snowman'], ['frog', 'jump']]
#: The expected answer: a story, a kind sentence, a refusal, or that the model only knows English.
SPECIAL = [
    ('TELL ME A STORY', 'story'), ('Once upon a time', 'story'), ('Tell me a scary story.', 'scary'),
    ('Tell me a funny story.', 'funny'), ('TELL ME A STORY ABOUT A BEAR!!!', 'story'),
    ('Can you tell me something spooky about a ghost?', 'scary'),
    ('I need a good laugh, tell me a story about a silly king.', 'funny'), ('one day a little girl', 'story'), ('🙂', 'kind'),
    ('😂😂😂', 'kind'), ('💚', 'kind'), ('🦊', 'kind'), ('hello 🌻', 'kind'), ('😩', 'kind'), ('Hallo, wie geht es dir?', 'english'),
    ('Bonjour, comment allez-vous ?', 'english'), ('¿Cómo estás?', 'english'), ('Ciao, come stai?', 'english'),
    ('Erzähle mir bitte eine Geschichte über einen Fuchs.', 'english'), ('Olá, tudo bem?', 'english'), ('Как дела?', 'english'),
    ('今日はいい天気ですね', 'english'), ('Write a mail to my aunt.', 'refusal'),
    ('Write an email to my teacher to say I am sick.', 'refusal'), ('Make a shopping list for a party.', 'refusal'),
    ('Give me a list of ten animals.', 'refusal'), ('Write a poem about spring.', 'refusal'),
    ('List the days of the week.', 'refusal'), ('Write a job ad for a cook.', 'refusal'),
    ('Summarize this article for me.', 'refusal'),
]


def questions(seed=SEED):
    """All held-out questions; the same seed gives the same questions."""
    rng, sums, seen = random.Random(seed), [], set()
    for kind, maker, count in MAKERS:
        made = 0
        while made < count:
            one = {'kind': kind, **maker(rng)}
            key = json.dumps(one['turns'])
            if key not in seen and 0 <= one['result'] < 1e7 and abs(one['result'] * 100 - round(one['result'] * 100)) < 1e-6:
                seen.add(key)
                sums.append(one)
                made += 1
    stories = []
    while len(stories) < 40:
        one = story(rng)
        if one not in stories:
            stories.append(one)
    prompts = json.loads((PATH.parent / 'prompts.json').read_text(encoding='utf-8'))
    known = [{'prompt': p, 'words': w} for p, w in zip(prompts['twenty']['stories'] + prompts['ten']['stories'], KNOWN)]
    return {'sums': sums, 'known': known, 'stories': stories, 'special': [{'prompt': p, 'expects': e} for p, e in SPECIAL]}


def main():
    """Writes the file."""
    parts = [f'"{name}": [\n' + ',\n'.join(f'    {json.dumps(q, ensure_ascii=False)}' for q in found) + '\n  ]' for name, found in questions().items()]
    PATH.write_text('{\n  ' + ',\n  '.join(parts) + '\n}\n', encoding='utf-8')


if __name__ == '__main__':
    main()
