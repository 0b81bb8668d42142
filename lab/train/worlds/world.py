"""A small world and its story. In: a random source. Out: hero, place, thing, helper, the told story, its facts."""
import re

from .plots import MORE, PLOTS
from .say import a, cap, fill
from . import words as W

ALL = PLOTS | MORE
SPOTS = W.words("""a big stone, an old tree, a small bush, a blue flower, a wooden fence, a green door, a tall rock, a red bench,
a round hole, a little bridge, an empty box, a white gate, a heap of leaves, a well""")
OPENINGS = ['Once upon a time, there was {a_hero} {named}. {n} lived {in_place}.',
            'Once upon a time there lived {a_hero} {named} {in_place}.',
            '{in_place}, there lived {a_hero} {named}.', 'There once was {a_hero} {named}. {he} lived {in_place}.',
            '{n} was {a_hero}. {he} lived {in_place}.', 'Long ago, {a_hero} {named} lived {in_place}.']
PRONOUNS = {'he': ('him', 'his'), 'she': ('her', 'her'), 'it': ('it', 'its')}


TOYS = W.words('ball, kite, drum, doll, puzzle, toy boat, toy train, whistle, book, wagon, sled, teddy, bike, balloon, flute')
BREAKABLE = W.words('''cup, bell, lamp, mirror, box, pot, chair, clock, watch, guitar, violin, toy boat, toy train, flute,
    bottle, bucket, ladder, jar, picture, doll, wagon, crown, kite, drum, basket''')
LIGHT = W.words('ball, kite, balloon, hat, feather, apple, pear, scarf, paper plane, key, ring, nut, sock, cap, star, ribbon, glove')
MADE = W.words('''kite, scarf, hat, book, blanket, necklace, bracelet, basket, doll, picture, sweater, cake, pie, candle, toy boat,
    box, whistle, crown, pillow, spoon, paper plane, chair, bag, drum''')
FITTING = {'share': TOYS, 'broken': BREAKABLE, 'truth': BREAKABLE, 'top': LIGHT, 'gift': MADE}


class World:
    """All facts of one story. `name` is None for a hero without a name."""

    def __init__(self, rng):
        plot = rng.choice(list(ALL))
        self.plot = ALL[plot]
        self.he = rng.choice(['he', 'she'])
        roll = rng.random()
        self.kind = rng.choice(W.ANIMALS if roll < 0.55 else W.PEOPLE[self.he] if roll < 0.75 else
                               W.MAGIC if roll < 0.87 else W.THING_HEROES)
        if self.kind in ('hen', 'cow', 'fairy', 'witch'):
            self.he = 'she'
        if self.kind in ('king', 'giant', 'wizard', 'snowman'):
            self.he = 'he'
        self.name = rng.choice(W.BOYS if self.he == 'he' else W.GIRLS) if rng.random() < 0.65 else None
        if self.kind in W.THING_HEROES and not self.name:
            self.he = 'it'
        self.trait = rng.choice(W.TRAITS)
        self.place = rng.choice(W.PLACES)
        noun = rng.choice(FITTING.get(plot, W.OBJECTS))
        self.colour = rng.choice(W.COLOURS) if rng.random() < 0.6 else None
        self.noun = noun
        self.thing = f'{self.colour or rng.choice(W.SIZES)} {noun}'
        self.helper = rng.choice([h for h in W.HELPERS if self.kind not in h])
        self.fear = rng.choice([f for f in W.FEARS if self.kind not in f])
        self.skill, self.seed = rng.choice(W.SKILLS), rng.choice(W.SEEDS)
        self.wish = rng.choice([w for w in W.WISHES if self.kind not in w])
        self.spot = rng.choice(SPOTS)
        self.choices = [rng.randrange(1000) for _ in range(20)]
        self.opening = rng.choice(OPENINGS)
        self.bare = rng.random() < 0.3

    @property
    def n(self):
        return self.name or f'the {self.kind}'

    @property
    def hero(self):
        return a(self.kind if self.bare else f'{self.trait} {self.kind}')

    def slots(self):
        him, his = PRONOUNS[self.he]
        helper = 'the ' + self.helper.split(' ', 1)[1]
        return dict(n=self.n, he=self.he, him=him, his=his, a_hero=self.hero, in_place=self.place, thing=self.thing,
                    named=f'named {self.name}' if self.name else '', a_thing=a(self.thing), helper=helper,
                    a_helper=a(self.helper), a_helper_cap=a(self.helper), helper_s=helper + "'s", helper_a=cap(a(self.helper)),
                    fear=self.fear, fear_came=W.FEARS[self.fear], skill=self.skill, wish=self.wish, wish_cap=cap(self.wish),
                    spot=self.spot, seed=self.seed, trait=self.trait, kind=self.kind)

    def say(self, template, known=True):
        """The template with its slots filled; a `known` place has the definite article."""
        slots = self.slots()
        if known:
            slots['in_place'] = re.sub(r'\ban? ', 'the ', self.place)
        text = fill(template, slots).replace(' .', '.').replace(' ,', ',').replace('  ', ' ')
        return text

    def beats(self):
        """The story as a list of sentences; the choices are the same each time, so changing the name changes nothing else."""
        opening = self.opening
        if not self.name and opening.startswith('{n} was'):
            opening = OPENINGS[3]
        told = [self.say(opening, known=False)]
        for beat, choice in zip(self.plot['beats'], self.choices):
            options = beat.split(' | ')
            told.append(self.say(options[choice % len(options)]))
        if 'seed' in self.plot['uses'] and 'helper' in self.plot['beats'][5]:
            helper = self.slots()['helper']
            if a(self.helper) not in ' '.join(told[:2]).lower():
                told[6] = told[6].replace(f'said {helper}', f'said {a(self.helper)} who came by')
        return told

    def story(self):
        told, cuts = self.beats(), (4, 8)
        parts = [' '.join(told[:cuts[0]]), ' '.join(told[cuts[0]:cuts[1]]), ' '.join(told[cuts[1]:])]
        return '\n\n'.join(parts)

    def fact(self, key):
        return self.say(self.plot[key])
