"""Requests for existing stories. In: stories as text. Out: dialogues whose request names things from the story."""
import json
import re
from collections import Counter

from .say import a, careless, join, talk
from .words import ANIMALS, BOYS, GIRLS, MAGIC, OBJECTS, words

MORE_THINGS = words("""tree, park, river, garden, house, forest, beach, lake, sea, boat, truck, train, plane, castle, bridge,
mountain, hill, cave, rainbow, sun, moon, snow, rain, storm, swing, slide, toy, tower, farm, zoo, store, school, kitchen, pond,
bed, window, door, dress, shirt, shoe, soup, bread, milk, honey, cheese, banana, lemon, sandwich, ice cream, treasure, fire,
tent, nest, leaf, stick, rock, bone, block, wheel, truck, rocket, ship, bubble, gift, bus, wall, fence, hole""")
THINGS = sorted(set(OBJECTS + MORE_THINGS) - {'star', 'car'}) + ['car', 'star']
KINDS = ANIMALS + MAGIC + ['boy', 'girl', 'prince', 'princess', 'king', 'queen', 'pirate', 'wizard']
UNCOUNTED = set('snow, rain, soup, bread, milk, honey, cheese, ice cream, sun, moon, sea, fire, treasure, beach'.split(', '))
PLACES = set("""park, river, garden, forest, beach, lake, sea, castle, mountain, hill, cave, farm, zoo, store, school, kitchen,
pond""".replace('\n', ' ').split(', '))
NAMED = re.compile(r'\b(?:named|called|name was|name is) ([A-Z][a-z]{1,9})\b')
KIND_OF = re.compile(r'\b(?:was|were|lived) an? (?:[a-z-]+,? ){0,3}?(' + '|'.join(KINDS) + r')\b')
NOT_NAMES = set("""The He She They It But One Once And So Then His Her When Mom Dad Mommy Daddy There You Yes No What Can Do As
After Let Oh That This In At My Suddenly From To Not If We On Today Every All Her Its Hello Hi Thank Look Why How Now Please
Everyone Are Is Wow Okay Sure Just Don Well Come For Some Me Where Who Of Be Inside Soon With Their Finally Maybe Mum Grandma
Grandpa Sorry Help Stop Go Sir Mr Mrs Miss Little Big Spot I'm Inside Here Day Time Both Two These Every Next Even Help End
Moral Remember Later Did Before While Good Great Your Does Will Would Since Because Always Never Instead Monday Sunday""".split())


class Story:
    """A story and the details that a request may name: the hero's name and kind, and things."""

    def __init__(self, text):
        self.text = text
        self.low = text.lower()
        self.counts = Counter(re.findall(r"[A-Z]?[a-z]+", text))
        known = NAMED.search(text)
        name = known and known[1]
        if not name:
            capitals = [(n, w) for w, n in self.counts.items() if w in BOYS or w in GIRLS]
            name = max(capitals)[1] if capitals else None
        self.name = name if name and self.counts[name] >= 3 and name not in NOT_NAMES else None
        kind = KIND_OF.search(text[:300])
        self.kind = kind[1] if kind and self.counts[kind[1]] >= 1 else None
        if self.kind and not self.name and self.counts[self.kind] < 3:
            self.kind = None
        self.things = [t for t in THINGS if t != self.kind and self.count(t) >= 2]

    def count(self, word):
        return len(re.findall(rf'\b{word}s?\b', self.low)) if word in self.low else 0

    def phrase(self, thing):
        if thing in UNCOUNTED:
            return thing if thing in ('snow', 'rain', 'soup', 'bread', 'milk', 'honey', 'cheese', 'ice cream') else f'the {thing}'
        singular = re.search(rf'\b{thing}\b', self.low)
        return a(thing) if singular else thing + 's'


def load(path, longest=1250):
    """The stories of a JSONL file that are complete and not too long."""
    stories = []
    for line in open(path, encoding='utf-8'):
        text = json.loads(line)['text']
        text = text.replace('\u201c', '"').replace('\u201d', '"').replace('\u2019', "'").replace('\u2018', "'")
        text = re.sub(r' +', ' ', re.sub(r'\s*\n\s*', '\n\n', text.replace('\u2026', '...').replace('\u2014', ' - '))).strip()
        whole = re.search(r'[.!?]"?$', text) and text.count('"') % 2 == 0 and text.isascii()
        if whole and 250 <= len(text) <= longest and text[0].isupper() and ' ' in text:
            stories.append(Story(text))
    return [s for s in stories if s.name or s.kind or s.things]


ASK = """Tell me a story about X. | Tell me a story about X, please. | Please tell me a story about X. | Can you tell me a story
 about X? | I would like a story about X. | I want a story about X. | Write a story about X. | Write a short story about X. |
 A story about X, please. | Tell me a bedtime story about X. | Could you tell a story about X? | Make up a story about X. |
 Do you know a story about X? | I want to hear a story about X. | I want to hear about X. | Let us have a story about X. |
 Tell me about X. | Story about X | Give me a story about X. | Once more, a story about X, please. |
 Can I have a story about X? | My little sister wants a story about X. | Tell us a story about X. | Say a short story about X. |
 Please write a little tale about X. | Tell a tale about X. | I feel like a story about X.""".replace('\n', '')
ASKS = [p.strip() for p in ASK.split('|')]
WITH = """Tell me a story with X. | Please tell me a story with X in it. | Can you write a story with X? | I would like a story
 with X. | Make a story with X, please. | A short story with X, please. | Use X in a story. | Write a story that has X in it. |
 Can you tell me a story with X? | Tell a bedtime story with X.""".replace('\n', '')
WITHS = [p.strip() for p in WITH.split('|')]


def hero(rng, story):
    if story.name and story.kind:
        return rng.choice([f'{a(story.kind)} named {story.name}', f'{a(story.kind)} called {story.name}',
                           story.name if rng.random() < 0.3 else f'{a(story.kind)} named {story.name}', a(story.kind)])
    return story.name or (story.kind and a(story.kind))


def request(rng, story):
    """A request that this story answers."""
    things = rng.sample(story.things, min(len(story.things), rng.choice([0, 1, 1, 2])))
    phrases = [story.phrase(t) for t in things]
    who = hero(rng, story)
    if who and (not things or rng.random() < 0.75):
        where = [t for t in things if t in PLACES]
        if len(things) == 1 and where:
            text = f'{who} {"on" if where[0] in ("hill", "farm", "beach", "mountain") else "at" if where[0] in ("lake", "river", "sea", "pond", "zoo", "school", "store") else "in"} the {where[0]}'
            return rng.choice(ASKS).replace('X', text)
        return rng.choice(ASKS).replace('X', join([who, *phrases]))
    if not phrases:
        things = rng.sample(story.things, 1)
        phrases = [story.phrase(things[0])]
    if len(phrases) >= 2 or rng.random() < 0.5:
        return rng.choice(WITHS).replace('X', join(phrases))
    return rng.choice(ASKS).replace('X', phrases[0])


GO_ON = words('Go on., Go on, What happens next?, And then?, Tell me more., Please go on., Continue., What happened then?, More please')
GIVEN = ['Go on with this story: X', 'Continue this story: X', 'How does this story go on? X', 'Finish this story: X',
         'X\n\nGo on, please.', 'What happens next? X', 'X\n\nPlease continue the story.']


def dialogue(rng, stories):
    """A request and its story, told as a whole, in two parts, or from a beginning that the user gives."""
    story = rng.choice(stories)
    roll = rng.random()
    sentences = re.split(r'(?<=[.!?])\s(?=[A-Z"])', story.text)
    if roll < 0.1 and len(sentences) > 6:
        cut = rng.randint(2, 4)
        start, rest = ' '.join(sentences[:cut]), story.text
        rest = story.text[len(start):].strip()
        if start.count('"') % 2 == 0 and story.text.startswith(start):
            return talk(rng.choice(GIVEN).replace('X', start), rest), 'continue'
    ask = careless(rng, request(rng, story))
    parts = story.text.split('\n\n')
    if 0.1 <= roll < 0.2 and len(parts) > 2:
        cut = rng.randint(1, len(parts) - 1)
        if '\n\n'.join(parts[:cut]).count('"') % 2 == 0:
            return talk(ask, '\n\n'.join(parts[:cut]), rng.choice(GO_ON), '\n\n'.join(parts[cut:])), 'goon'
    return talk(ask, story.text), 'tale'
