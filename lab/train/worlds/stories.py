"""Stories of simulated worlds on request. In: a random source. Out: dialogues, also with turns after the story."""
import re

from .prose import ASKS, GO_ON, WITHS
from .say import a, cap, careless, choose, join, talk
from . import words as W
from .world import World, PRONOUNS

WHO = 'Who is the story about? | Who was the story about? | Who is the hero? | Who is in the story?'
WHERE = 'Where did {n} live? | Where does the story take place? | Where did it happen? | Where was {n}?'
WANT = 'What did {n} want? | What did {he} want? | What was {his} wish?'
FIX = 'How did it get better? | How was it solved? | What made it better?'
END = 'How does the story end? | How did it end? | What happened at the end? | What is the end of the story?'
UNKNOWN = ("What was the name of {n_s} father? | How old was {n}? | What did {n} eat for lunch? | What was the name of {n_s} sister? | "
           "What colour were {n_s} eyes? | How tall was {n}? | What day was it? | What was the name of {n_s} teacher? | "
           "How many brothers did {n} have? | What was {n_s} favourite song? | Where did {n_s} uncle live? | "
           "What colour was {n_s} bed? | When was {n_s} birthday? | What did {n_s} mother do? | What was the king's name?")
SILENT = ("The story does not say. | The story does not tell that. | I do not know. The story does not say it. | "
          "That is not in the story. | The story does not say, but you can make it up!")
SHORTER = ("Tell it again shorter. | Tell it again, but shorter. | Can you tell it in a few words? | What was the story about? | "
           "Tell me the story again in short. | Say it in two sentences. | Can you make it shorter? | Sum it up, please.")


def request(rng, w):
    """A request that names some of the things in the world's story."""
    uses = w.plot['uses']
    kind = w.hero
    who = kind
    if w.name and rng.random() < 0.7:
        who = rng.choice([f'{kind} named {w.name}', f'{kind} called {w.name}', f'{kind} with the name {w.name}'])
    if rng.random() < 0.45 and uses:
        extra = {'fear': [f' who is afraid of {w.fear}'], 'skill': [f' who could not {w.skill}', f' who wants to {w.skill}',
                 f' that wants to {w.skill}'], 'wish': [f' that wanted to be {w.wish}', f' who wants to be {w.wish}'],
                 'seed': [f' and {a(w.seed)}', ' and a seed'], 'thing': [f' and {a(w.thing)}', f' and {a(w.noun)}']}[uses[0]]
        if w.plot['sad'].endswith('lost the {thing}.'):
            extra += [f' who lost {PRONOUNS[w.he][1]} {w.noun}']
        who += rng.choice(extra)
    if rng.random() < 0.5 and ' who ' not in who and ' that ' not in who:
        if rng.random() < 0.25:
            who += ' ' + w.place
        else:
            noun = re.sub(r'^(in|on|by|near|under|at) ', '', w.place)
            noun = a(noun.split(' ', 1)[1]) if noun.startswith('the ') and 'edge' not in noun and noun != 'the mountains' else noun
            things = [a(w.noun)] if 'thing' in uses else []
            return careless(rng, rng.choice(WITHS).replace('X', join([kind, *things, noun])))
    ask = rng.choice(ASKS)
    if w.plot.get('bed') and rng.random() < 0.5:
        ask = rng.choice(['Tell me a bedtime story about X.', 'A bedtime story about X, please.', 'Tell me a good night story about X.'])
    return careless(rng, ask.replace('X', who))


QUESTIONS = ('who', 'where', 'want', 'sad', 'fix', 'end', 'unknown', 'thing')


def question(rng, w, kind):
    """A question of a kind about the story just told, and its answer."""
    s = dict(n=w.n, he=w.he, his=PRONOUNS[w.he][1], n_s=w.n + "'s")
    if kind == 'who':
        named = f', {w.hero}' if w.name else ''
        return choose(rng, WHO), rng.choice([f'It is about {w.n if w.name else w.hero}{named}.',
                                             f'The story is about {w.n if w.name else w.hero}{named}.'])
    if kind == 'where':
        return choose(rng, WHERE).format(**s), f'{cap(w.n)} lived {w.place}.'
    if kind == 'want':
        return choose(rng, WANT).format(**s), w.fact('want')
    if kind == 'sad':
        fact = w.fact('sad')
        found = re.match(r'(.*) was (\w+) because', fact)
        return f'Why was {found[1][0].lower() + found[1][1:] if not w.name or found[1] != w.n else found[1]} {found[2]}?', fact
    if kind == 'fix':
        return choose(rng, FIX), w.fact('fix')
    if kind == 'end':
        return choose(rng, END), w.fact('end')
    if kind == 'thing' and 'thing' in w.plot['uses'] and w.colour:
        return f'What colour was the {w.noun}?', rng.choice([f'The {w.noun} was {w.colour}.', f'It was {w.colour}.'])
    return choose(rng, UNKNOWN).format(**s), choose(rng, SILENT)


def change_name(rng, w):
    """A request for another name, and the story with that name."""
    w.name = rng.choice([n for n in (W.BOYS if w.he == 'he' else W.GIRLS) if n != w.name])
    ask = choose(rng, 'Change the name to X. | Now the same with the name X. | Please call the hero X. | '
                      'Can you tell it again with the name X?')
    return ask.replace('X', w.name), w.story()


def dialogue(rng):
    """A story on request; a third of them continue."""
    w = World(rng)
    ask, story = request(rng, w), w.story()
    roll = rng.random()
    if roll < 0.08:
        told = w.beats()
        cut = rng.randint(3, 7)
        return talk(ask, ' '.join(told[:cut]), rng.choice(GO_ON), ' '.join(told[cut:])), 'world-goon', w
    if roll < 0.42:
        turns = [ask, story]
        asked = set()
        for kind in rng.sample(QUESTIONS, rng.randint(1, 3)):
            q, answer = question(rng, w, kind)
            if answer not in asked:
                turns += [careless(rng, q), answer]
                asked.add(answer)
        return talk(*turns), 'world-questions', w
    if roll < 0.5:
        return talk(ask, story, choose(rng, SHORTER), w.say('{a_hero} {named} lived {in_place}. ', known=False) + w.say(w.plot['short'])), 'world-shorter', w
    if roll < 0.54 and w.name and len(story) < 900:
        return talk(ask, story, *change_name(rng, w)), 'world-name', None
    return talk(ask, story), 'world', w
