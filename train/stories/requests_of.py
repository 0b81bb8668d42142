"""A story in, a request for it out: with its hero, an object or a place in it."""
import re
from collections import Counter

from stories.nouns import NOUNS, PLACES, TRAITS

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
                  r'goose|rat|hamster|parrot|peacock|crow|chef|doctor|soldier|sailor|tailor)\b')
ONLY = ['Tell me a story about {}.', 'Tell me a story about {}.', 'Can you tell me a story about {}?',
        'I want a story about {}.', 'Please tell me a story about {}.', 'A story about {}, please.',
        'tell me a story about {}', 'Write a short story about {}.', 'I would like a story about {}.',
        'Tell me a bedtime story about {}.', 'I want to hear about {}.', 'Could you write a story about {}?',
        'Make up a story about {}.', 'Do you know a story about {}?', 'Tell me about {}.', 'story about {}']
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


def things_of(rng, story):
    """Up to three nouns that the story uses at least twice."""
    counts = Counter(w for w in re.findall(r'[a-z]+', story.lower()) if w in NOUNS)
    return [w for w, count in counts.most_common(5) if count >= 2]


def phrase(rng, noun):
    """A thing or a place as it stands in a list."""
    return rng.choice([f'the {noun}', article(noun)]) if noun in PLACES else article(noun)


def clause_of(rng, story, hero):
    """What the hero wants or does, from the story's own words; None if no sentence says it plainly."""
    found = re.search(r'\b(?:He|She|It|They|[A-Z][a-z]+) (wanted to|loved to|liked to|was afraid of|found|lost|could not)'
                      r' ([a-z][a-z ]{3,32})(?=[.,!])', story)
    if not found or hero is None or re.search(r'\b(and|but|so|he|she|it|they|him|her|his|was|had)\b', found[2]):
        return None
    verb = {'found': 'finds', 'lost': 'loses', 'was afraid of': 'is afraid of', 'wanted to': 'wants to',
            'loved to': 'loves to', 'liked to': 'likes to', 'could not': 'can not'}[found[1]]
    if rng.random() < 0.5:
        verb = found[1]
    return f'{hero} who {verb} {found[2]}'


def request_for(rng, story):
    """What a person asks to be told this story."""
    hero, things = hero_of(rng, story), things_of(rng, story)
    draw = rng.random()
    if draw < 0.1 or (hero is None and not things):
        return rng.choice(ANY)
    clause = clause_of(rng, story, hero)
    if clause and draw < 0.45:
        return rng.choice(ONLY).format(clause)
    if hero is None:
        return rng.choice(ONLY).format(phrase(rng, things[0]))
    if things and draw < 0.6:
        extra = [phrase(rng, w) for w in rng.sample(things, min(len(things), rng.choice([1, 2, 2])))]
        listed = [hero, *[x for x in extra if x.split()[-1] not in hero]]
        if len(listed) > 1:
            return rng.choice(WITH).format(', '.join(listed[:-1]) + ' and ' + listed[-1])
    if things and draw < 0.78:
        thing = rng.choice(things)
        if thing not in hero:
            joined = (f'{hero} {rng.choice(["in", "at"])} the {thing}' if thing in PLACES
                      else f'{hero} and {article(thing)}')
            return rng.choice(ONLY).format(joined)
    return rng.choice(ONLY).format(hero)
