"""Names and things of the simulated worlds. In: nothing. Out: lists of plain words."""


def words(text):
    """The parts of a text between commas or line ends."""
    return [part.strip() for part in text.replace('\n', ',').split(',') if part.strip()]


BOYS = words("""Pip, Max, Ben, Tom, Leo, Finn, Toby, Jack, Oscar, Milo, Sam, Tim, Teddy, Bobo, Adam, Alex, Andy, Billy, Bruno, Charlie, Dan,
    Dino, Eddie, Felix, Fred, George, Gus, Hugo, Ivan, Jake, Jim, Joe, John, Josh, Kai, Luca, Luke, Mark, Mike, Nico, Noah,
    Ollie, Otto, Paul, Peter, Ralph, Remy, Rob, Rufus, Simon, Spike, Steve, Theo, Timmy, Will, Ziggy, Zack, Bob, Omar, Ravi,
    Kofi, Emil, Anton, Hans, Carlos, Pablo, Yusuf, Ned, Rory, Dexter, Buddy, Bernie""")
GIRLS = words("""Mia, Lily, Lucy, Anna, Ella, Rosie, Ruby, Molly, Zoe, Daisy, Nina, Bella, Kitty, Alice, Amy, Ava, Clara, Cleo, Cora, Dora,
    Emma, Eva, Fay, Fiona, Flora, Gina, Grace, Hanna, Holly, Ida, Iris, Ivy, Jane, Jenny, Jill, Julia, Kate, Kim, Lara, Lea,
    Lena, Lola, Lotta, Luna, Maggie, Maya, Milly, Nora, Olga, Olive, Penny, Pia, Polly, Poppy, Rita, Rosa, Sally, Sara, Sofia,
    Sue, Tara, Tilly, Tina, Vera, Wendy, Willa, Amina, Leila, Priya, Mei, Yuki, Carmen""")
ANIMALS = words("""mouse, rabbit, bear, fox, cat, dog, frog, duck, bird, squirrel, turtle, pig, hedgehog, owl, lion, horse, fish, monkey,
    elephant, bee, ant, snail, goat, sheep, cow, hen, chick, kitten, puppy, deer, wolf, tiger, giraffe, penguin, seal, whale,
    crab, butterfly, ladybug, beaver, badger, otter, mole, bat, panda, koala, donkey, pony, swan, goose, parrot, lizard, camel,
    zebra, hamster, worm, spider, caterpillar, dinosaur, crow, hare, weasel, skunk, gorilla, panther, leopard, buffalo, mule,
    calf, piglet, gecko, tortoise, newt, eel, seahorse, starfish, squid, shrimp, eagle, hawk, sparrow, dove, turkey, rooster,
    peacock, pelican, stork, heron, wasp, beetle, cricket, grasshopper, dragonfly, moth, firefly, sloth, lemur, chipmunk,
    porcupine, rhino, elk""")
MAGIC = words('dragon, robot, fairy, giant, unicorn, witch, wizard, elf, ghost, monster, snowman, teddy bear')
PEOPLE = {'he': words('boy, boy, boy, boy, prince, farmer, king, baker, knight, sailor, pirate'),
          'she': words('girl, girl, girl, girl, princess, farmer, queen, baker, gardener, sailor, pirate')}
THING_HEROES = words("""cloud, boat, star, train, leaf, tree, kite, moon, snowflake, car, bus, balloon, pencil, clock, teapot, lamp, raindrop,
    flower, ball, spoon, drum, tractor, bell, candle, sock, button, stone, plane""")
TRAITS = words("""little, brave, kind, curious, shy, happy, clever, sleepy, lonely, funny, small, gentle, young, friendly, big, quiet, tiny,
    cheerful, silly, old, lazy, careful, proud, hungry""")
# place | 'in' form
PLACES = words("""in the forest, in the park, in a garden, in a small village, on a farm, by a lake, by a river, on a hill, by the sea,
    in a big city, in a castle, in a cave, on an island, in the mountains, in a meadow, near a pond, in a field, in the jungle,
    in the snow, in a little house, in a barn, under a bridge, in a small town, in a tall tower, on a beach, in the desert,
    in a toy shop, near an old mill, at the edge of the woods, in a valley, near a school, in a library, on a cliff, by a creek,
    near a fountain, in a palace, in a mill, in a cabin, on a pier, in a canyon, by a canal, in a bakery, in a museum, on a raft,
    at the foot of a volcano, in a market, in a backyard, in a hut, near a church, in a camp""")
COLOURS = words('red, blue, green, yellow, pink, golden, silver, white, orange, purple, brown, black')
SIZES = words('little, big, new, old, shiny, soft, pretty, round, tiny, lovely, wooden, strange')
OBJECTS = words("""ball, hat, kite, key, balloon, book, drum, bell, scarf, apple, stone, lamp, cup, box, spoon, bike, car, umbrella, pencil,
    flute, feather, shell, cookie, puzzle, flower, ring, crown, blanket, doll, coat, boot, sock, mirror, basket, bag, coin, jar,
    whistle, rope, ladder, chair, toy boat, toy train, paper plane, cake, pie, pear, nut, egg, pot, teddy, picture, map, candle,
    brush, button, glove, bucket, shovel, wagon, sled, pillow, bottle, pumpkin, carrot, star, necklace, bracelet, clock, watch,
    guitar, violin, trumpet, camera, letter, cap, broom, sweater, anchor, barrel, belt, bench, cane, cart, chain, chest, crate,
    cushion, diary, envelope, fan, globe, hammock, harp, jacket, jug, lock, locket, magnet, marble, mitten, mug, needle, paddle,
    parcel, pearl, pebble, pipe, postcard, quilt, raft, rake, ribbon, rug, saddle, sail, saucer, shield, slipper, spade, statue,
    stool, suitcase, sword, tambourine, teapot, torch, towel, tray, vest, wand, wheelbarrow, wig, muffin, bagel, donut, lemon,
    melon, plum, pumpkin, radish, tart, bun""")
HELPERS = words("""old owl, kind horse, wise turtle, friendly duck, small bee, big bear, clever crow, gentle cow, quiet mole, old man,
    kind woman, busy beaver, tall giraffe, little bird, old goat, grey rabbit, white goose, kind farmer, young deer,
    funny monkey, friendly fox, red squirrel, old dog, small mouse, kind girl, happy boy, brown hen, strong elephant""")
FEARS = {'the dark': 'night came', 'thunder': 'a storm came', 'deep water': 'the others swam', 'high places':
         'the others climbed', 'big dogs': 'a dog barked', 'loud noises': 'a door banged', 'spiders': 'a spider came by',
         'the wind': 'the wind blew', 'new friends': 'someone said hello', 'the moon': 'the moon rose',
         'shadows': 'a shadow moved', 'the rain': 'it rained', 'mice': 'a mouse ran by', 'the snow': 'the snow fell'}
SKILLS = words("""swim, dance, sing, whistle, climb, read, paint, skate, jump, juggle, cook, hop, count, write, ride a bike, bake bread,
    play the drum, tie a knot, catch a ball, stand on one leg, build a tower, roll down a hill, fly a kite""")
WISHES = words("""a cloud, a bird, a star, a fish, a tree, a king, a lion, a ball, a butterfly, a train, the wind, a flower, a bear, a boat,
    the moon, a dragon, an elephant, a whale, a cat, a rainbow, a clown""")
SEEDS = words('sunflower, pumpkin, rose, carrot, apple tree, bean, tulip, strawberry, pear tree, tomato')
