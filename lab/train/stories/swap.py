"""Finds the things in a story and replaces them with others, so that a story's content depends on its request."""
import re
from collections import Counter

from stories.nouns import TRAITS
from worlds.words import BOYS, GIRLS, words

#: Words that can replace one another in a simple story: each list contains both the old and the new words.
KINDS = [
    words("""dog, cat, bear, rabbit, fox, mouse, frog, bird, duck, squirrel, pig, owl, lion, elephant, monkey, turtle, horse, cow, goat,
    wolf, tiger, deer, penguin, hedgehog, otter, badger, panda, zebra, giraffe, hamster, donkey, beaver, koala, camel, seal,
    dragon, robot, mole, snail, crab, goose, swan, parrot, crow, lizard, puppy, kitten, pony, hare, weasel, skunk, gorilla,
    chimp, panther, leopard, jaguar, buffalo, bison, mule, ram, calf, piglet, cub, gecko, iguana, tortoise, newt, eel, trout,
    salmon, seahorse, starfish, jellyfish, squid, clam, shrimp, eagle, hawk, falcon, sparrow, dove, turkey, rooster, peacock,
    pelican, stork, heron, magpie, wasp, beetle, cricket, grasshopper, dragonfly, moth, firefly, centipede, sloth, lemur, hyena,
    coyote, chipmunk, porcupine, platypus, wombat, rhino, yak, ox, elk, antelope, gazelle, troll, goblin, mermaid, gnome,
    unicorn, dinosaur, bunny, bee, ant, butterfly, spider, caterpillar, dolphin, whale, shark, octopus, crocodile, hippo, chick,
    lamb, worm, ladybug, bat, snake, rat"""),
    words("""ball, kite, hat, doll, book, balloon, box, map, key, crown, ring, drum, bell, candle, lamp, mirror, rope, jar, bottle,
    basket, bag, coin, necklace, feather, cup, spoon, bucket, umbrella, scarf, puzzle, pencil, shell, whistle, flute, guitar,
    clock, watch, shoe, boot, sock, glove, coat, dress, blanket, pillow, chair, ladder, hammer, shovel, broom, brush, camera,
    letter, wagon, sled, bike, scooter, truck, toy, stick, stone, rock, button, violin, trumpet, piano, pot, bowl, net, tent,
    flag, mask, cap, sweater, teddy, picture, plate, fork, wheel, boat, car, jewel, bracelet, crayon, notebook, kettle, purse,
    hoop, swing, pan, anchor, axe, barrel, bead, belt, bench, bolt, bracket, bubble, buckle, cabinet, cane, cannon, cart, chain,
    chest, chisel, clip, cork, cradle, crate, curtain, cushion, dagger, dart, desk, diary, dice, drawer, earring, easel,
    envelope, fan, fiddle, funnel, globe, hairbrush, hammock, handkerchief, harp, hinge, jacket, jigsaw, jug, knot, lace, lasso,
    lock, locket, log, magnet, marble, mitten, mop, mug, nail, napkin, needle, oar, oven, package, paddle, parcel, patch, pearl,
    pebble, pipe, pitcher, pocket, postcard, poster, quilt, raft, rake, rattle, ribbon, rod, rug, saddle, sail, saucer, saw,
    scissor, screw, shield, skateboard, slipper, snowball, sofa, spade, spear, statue, stool, string, suitcase, sword,
    tambourine, teapot, thimble, thread, toolbox, top, torch, towel, toothbrush, tray, trunk, tube, typewriter, vest, wand,
    wheelbarrow, wig, wrench, zipper"""),
    words("""apple, banana, orange, carrot, cookie, cake, pie, sandwich, pizza, pumpkin, tomato, pear, potato, egg, nut, lemon, peach,
    melon, muffin, pancake, cupcake, berry, strawberry, mushroom, lollipop, cherry, plum, onion, coconut, donut, corn, turnip,
    bagel, biscuit, burger, dumpling, noodle, omelet, pepper, radish, cabbage, cucumber, fig, grape, kiwi, mango, papaya,
    pineapple, raspberry, blueberry, walnut, almond, chestnut, pea, bean, bun, roll, tart, pudding, sausage, taco, pickle,
    popsicle, gumdrop"""),
    words("""park, forest, garden, field, meadow, farm, zoo, jungle, village, castle, barn, town, valley, desert, museum, market, city,
    library, palace, temple, school, factory, mill, camp, orphanage, bakery, shop, hospital, hotel, church, cabin, hut, igloo,
    prairie, canyon, vineyard, courtyard, backyard, playground, graveyard, cellar, attic, gym, theater, circus, fair"""),
    words("""lake, river, pond, sea, beach, hill, mountain, bridge, island, stream, shore, cliff, volcano, lagoon, creek, canal, bay,
    coast, dune, reef, glacier, pier, dock, fountain, well, path, road"""),
]
COLOURS = words("""red, blue, green, yellow, pink, purple, orange, white, black, brown, golden, silver, grey""")
PLACES = set(KINDS[3] + KINDS[4])
#: Longer words that contain a class member, and texts in which a word is a verb.
BOUND = re.compile(r'\b(teddy bear|ice cream|polar bear|fire truck|toy car|hot dog|bus stop|car seat|football|rocking chair|'
                   r'bear it|to ring|to box|to watch|to book|to fly|to fish|to duck|to park|to farm|to swing|to brush|to pot)\b', re.I)


def plural(noun):
    """The plural of the noun."""
    if noun.endswith(('ch', 'sh', 's', 'x')):
        return noun + 'es'
    return noun[:-1] + 'ies' if noun.endswith('y') and noun[-2] not in 'aeou' else noun + 's'


def replaced(text, old, new):
    """The text with another noun, including its plural and the article before it."""
    def one(match):
        article, gap, noun = match[1], match[2], match[3]
        word = plural(new) if noun.lower() == plural(old) != old else new
        word = word.capitalize() if noun[0].isupper() else word
        return f'{article[0]}{"n" if word[0] in "aeiou" and not word.startswith("uni") else ""}{gap}{word}' if article else word
    return re.sub(rf'\b(?:(an?)(\s+))?\b({plural(old)}|{old})\b', one, text, flags=re.I)


#: The words before a noun: `saw` and `watch` are mostly verbs, but `a saw` is a noun.
BEFORE = rf'\b(?:an?|the|his|her|their|my|your|its|that|this)\s+(?:(?:{"|".join(sorted(TRAITS | set(COLOURS)))})\s+)*'


def is_noun(word, text, count):
    """Whether a word is a noun in at least half of its occurrences in a text."""
    return 2 * len(re.findall(rf'{BEFORE}(?:{word}|{plural(word)})\b', text)) >= count


def present(text):
    """The nouns of each class that the text uses at least twice, most used first."""
    low = text.lower()
    counts = Counter(re.findall(r'[a-z]+', low))
    used = [[w for w in kind if counts[w] and counts[w] + counts[plural(w)] >= 2] for kind in KINDS]
    return [sorted((w for w in found if is_noun(w, low, counts[w] + counts[plural(w)])), key=lambda w: -counts[w]) for found in used]


def renamed(rng, text):
    """The text with another name for its hero, if a list has the name."""
    names = Counter(n for n in re.findall(r'\b[A-Z][a-z]+\b', text) if n in BOYS or n in GIRLS)
    if not names or rng.random() < 0.4:
        return text
    name = names.most_common(1)[0][0]
    new = rng.choice(BOYS if name in BOYS else GIRLS)
    return text if new in text else re.sub(rf'\b{name}\b', new, text)


def swapped(rng, text):
    """The story with some of its nouns replaced by others of the same kind."""
    if BOUND.search(text):
        return text
    used = set(re.findall(r'[a-z]+', text.lower()))
    for kind, found in zip(KINDS, present(text)):
        for old in found[:2]:
            new = rng.choice(kind)
            if rng.random() < 0.7 and new not in used and plural(new) not in used:
                text = replaced(text, old, new)
                used.add(new)
    return text
