"""Makes a request for a given story that names its hero, or a thing or place in it."""
import re
from collections import Counter

from stories.nouns import NOUNS, PLACES, TRAITS
from stories.swap import COLOURS, KINDS, is_noun, plural

NAME = re.compile(r'\b([A-Z][a-z]{2,11})\b')
NOT_NAMES = set('''The She They One Then But And His Her When Once There This That What With From For You Your Yes Let
Mommy Daddy Mom Dad Mum Mama Papa Can Look Please Thank Thanks Sorry Inside All Every After Suddenly Finally Soon
Now Just Today How Why Where Who Are Was Were Have Not Maybe Some Its Our Hello Goodbye Wow Okay Don Did Does Here
Everyone Nobody Next Later Even Each Suddenly Instead First Stop Come Help Good Great Very Well These Those Both
Sometimes Their Before While Until Since Because Mr Mrs Miss Grandma Grandpa Day Time'''.split())
KIND = re.compile(r'\b(?:a|an)\s+((?:[a-z]+\s+){0,2}?)(boy|girl|bird|dog|cat|bear|bunny|rabbit|fox|mouse|frog|fish|'
                  r'princess|prince|king|queen|dragon|fairy|lion|elephant|monkey|duck|turtle|squirrel|owl|pig|cow|'
                  r'horse|wolf|man|woman|farmer|robot|puppy|kitten|bee|butterfly|spider|ant|snail|whale|dolphin|'
                  r'shark|crab|hen|chick|lamb|goat|sheep|deer|giraffe|zebra|tiger|panda|penguin|snowman|witch|wizard|'
                  r'knight|pirate|clown|unicorn|dinosaur|car|truck|train|boat|plane|tree|flower|cloud|star|doll|toy|'
                  r'teddy bear|child|baby|family|hippo|rhinoceros|donkey|worm|bug|ladybug|crocodile|alligator|swan|'
                  r'goose|rat|hamster|parrot|peacock|crow|chef|doctor|soldier|sailor|tailor|' + '|'.join(KINDS[0]) + r')\b')
ONLY = ['Tell me a story about {}.', 'Tell me a story about {}.', 'Can you tell me a story about {}?',
        'I want a story about {}.', 'Please tell me a story about {}.', 'A story about {}, please.',
        'tell me a story about {}', 'Write a short story about {}.', 'I would like a story about {}.',
        'Tell me a bedtime story about {}.', 'I want to hear about {}.', 'Could you write a story about {}?',
        'Make up a story about {}.', 'Give me a story about {}.', 'Story about {}', 'Do you know a story about {}?', 'Tell me about {}.', 'story about {}']
ANY = ['Tell me a story.', 'Tell me a story!', 'Can you tell me a story?', 'tell me a story', 'I want a story.',
       'Please tell me a story.', 'Another story, please.', 'Tell me a bedtime story.', 'Write a short story.',
       'I would like to hear a story.', 'Surprise me with a story.', 'Tell me another one.']
WITH = ['Can you tell me a story with {}?', 'Tell me a story with {}.', 'Write a story with {} in it.',
        'I want a story with {}, please.', 'Make a story from these: {}.', 'Tell me a story that has {} in it.']


def article(noun):
    """The noun with a or an."""
    return f'a{"n" if noun[0] in "aeiou" else ""} {noun}'


def hero_of(rng, story):
    """The hero: a name, a kind, or a kind with its trait and name; None if nothing stands out."""
    names = Counter(n for n in NAME.findall(story) if n not in NOT_NAMES)
    name = next((n for n, count in names.most_common(2) if count >= 3 and n.lower() not in story.split()), None)
    found = KIND.search(story[:400])
    if not found:
        return name
    trait, kind = found[1].strip(), found[2]
    words = [w for w in trait.split() if w in TRAITS]
    full = article(' '.join([*words, kind]))
    named = name and rng.random() < 0.55 and story.find(name) < found.end() + 120
    if named:
        return f'{full} {rng.choice(["named", "called"])} {name}'
    return rng.choice([full, article(kind), full, name or full])


#: Moods to request, each with words of which such a story contains at least two.
MOODS = {'scary': r'scary|scared|afraid|monster|ghost|dark|spooky|shadow|frightened', 'funny': r'funny|silly|laugh\w*|giggl\w*|joke|tickl\w*',
         'sad': r'sad|cry|cried|tears|lonely', 'happy': r'happy|happily|smile\w*|joy', 'spooky': r'scary|ghost|monster|dark|spooky',
         'silly': r'silly|funny|laugh\w*|giggl\w*'}
IN_MOOD = ['Tell me a {} story.', 'I want a {} story.', 'A {} story, please.', 'Can you tell me a {} story?', 'Do you know a {} story?',
           'Please tell us a {} story!', 'I would like to hear a {} story.', 'something {} please', 'Make up a {} story.', 'a {} story']
MOOD_ABOUT = ['Tell me a {} story about {}.', 'I want a {} story about {}.', 'A {} story about {}, please.', 'Write a {} story with {}.']
UNCOUNTED = set('snow rain ice sun moon honey cheese bread soup juice milk tea paint candy sea fire wind pizza treasure'.split())
SEEN_THINGS = '|'.join(sorted(set(KINDS[1] + KINDS[2])))
SEEN = {'found': 'finds', 'saw': 'sees', 'had': 'has', 'lost': 'loses', 'got': 'gets', 'wanted': 'wants', 'loved': 'loves',
        'liked': 'likes', 'made': 'makes', 'bought': 'buys'}


ASKABLE = NOUNS.union(*KINDS)


def things_of(story):
    """Nouns that the story uses at least twice, most used first."""
    low = story.lower()
    counts = Counter(re.findall(r'[a-z]+', low))
    used = {w: count + counts[plural(w)] for w, count in counts.items() if w in ASKABLE}
    return [w for w in sorted(used, key=lambda w: (-used[w], w)) if used[w] >= 2 and (w in UNCOUNTED or is_noun(w, low, used[w]))][:6]


def phrase(rng, noun, story=''):
    """A thing or a place for a list, sometimes with its colour from the story."""
    found = re.search(rf'\b({"|".join(COLOURS)}) {noun}\b', story)
    if found and rng.random() < 0.6:
        return article(found[0])
    if noun in UNCOUNTED:
        return rng.choice([f'the {noun}', noun])
    return rng.choice([f'the {noun}', article(noun)]) if noun in PLACES else article(noun)


def scene_of(rng, story, hero):
    """The hero with a thing that it finds, sees or has, and the place; None if the story does not say so plainly."""
    found = re.search(rf'\b({"|".join(SEEN)}) (?:a|an|the|his|her|its) ((?:[a-z]+ ){{0,2}})({SEEN_THINGS})\b', story)
    if not found or hero is None or found[3] in hero:
        return None
    words = [w for w in found[2].split() if w in TRAITS or w in COLOURS]
    place = re.search(r'\b(in|at|on|by|near) the (' + '|'.join(sorted(PLACES)) + r')\b', story)
    where = f' {place[1]} the {place[2]}' if place and rng.random() < 0.5 else ''
    return f'{hero} who {rng.choice([SEEN[found[1]], found[1]])} {article(" ".join([*words, found[3]]))}{where}'


def clause_of(rng, story, hero):
    """The wish or action of the hero, in the story's own words; None if no sentence says it plainly."""
    found = re.search(r'\b(?:He|She|It|They|[A-Z][a-z]+) (wanted to|loved to|liked to|was afraid of|found|lost|could not)'
                      r' ([a-z][a-z ]{3,32})(?=[.,!])', story)
    if not found or hero is None or re.search(r'\b(and|but|so|he|she|it|they|him|her|his|was|had)\b', found[2]):
        return None
    verb = {'found': 'finds', 'lost': 'loses', 'was afraid of': 'is afraid of', 'wanted to': 'wants to',
            'loved to': 'loves to', 'liked to': 'likes to', 'could not': 'can not'}[found[1]]
    if rng.random() < 0.5:
        verb = found[1]
    return f'{hero} who {verb} {found[2]}'


def mood_of(rng, story):
    """A mood that the story has; None if it has none."""
    fitting = [m for m, words in MOODS.items() if len(re.findall(rf'\b(?:{words})\b', story.lower())) >= 2]
    return rng.choice(fitting) if fitting else None


def listed(rng, story, hero, things):
    """One to three things from the story, as a list."""
    extra = [phrase(rng, w, story) for w in rng.sample(things, min(len(things), rng.choice([1, 2, 2, 3])))]
    parts = [p for p in ([hero] if hero and rng.random() < 0.8 else []) + [x for x in extra if not hero or x.split()[-1] not in hero]]
    parts = parts[:3] or extra
    return parts[0] if len(parts) == 1 else ', '.join(parts[:-1]) + ' and ' + parts[-1]


def request_for(rng, story):
    """A user's request for this story."""
    hero, things = hero_of(rng, story), things_of(story)
    draw = rng.random()
    mood = mood_of(rng, story) if rng.random() < 0.12 else None
    if mood:
        about = hero or (phrase(rng, things[0]) if things else None)
        if about and rng.random() < 0.5:
            return rng.choice(MOOD_ABOUT).format(mood, about)
        return rng.choice(IN_MOOD).format(mood)
    if draw < 0.08 or (hero is None and not things):
        return rng.choice(ANY)
    scene = scene_of(rng, story, hero) if draw < 0.35 else None
    if scene:
        return rng.choice(ONLY).format(scene)
    clause = clause_of(rng, story, hero) if draw < 0.5 else None
    if clause:
        return rng.choice(ONLY).format(clause)
    if things and draw < 0.75:
        return rng.choice(WITH).format(listed(rng, story, hero, things))
    if hero is None:
        return rng.choice(ONLY).format(phrase(rng, things[0], story))
    free = [w for w in things if w not in hero]
    if free and draw < 0.92:
        thing = rng.choice(free)
        joined = (f'{hero} {rng.choice(["in", "at"])} the {thing}' if thing in PLACES
                  else f'{hero} and {phrase(rng, thing, story)}')
        return rng.choice(ONLY).format(joined)
    return rng.choice(ONLY).format(hero)
