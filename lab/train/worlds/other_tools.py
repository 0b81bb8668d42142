"""Invented tools, from which the model learns the format of calls. In: a random source. Out: dialogues."""
import json

from .say import message
from .words import ANIMALS, BOYS, COLOURS, GIRLS, OBJECTS, words

CITIES = words('London, Paris, Rome, Berlin, Madrid, Oslo, Tokyo, Cairo, Lima, Boston, Dublin, Vienna, Prague, Sydney')
# name, description, argument, requests, result, answer
TOOLS = [
    ('get_weather', 'Tells the weather of a city.', 'city', CITIES,
     ['What is the weather in X?', 'How is the weather in X today?', 'Is it cold in X?', 'Does it rain in X?'],
     lambda rng, x: (lambda s, t: ({'sky': s, 'degrees': t}, f'In {x} it is {s}, with {t} degrees.'))(
         rng.choice(['sunny', 'rainy', 'cloudy', 'windy']), rng.randint(1, 30))),
    ('set_timer', 'Starts a timer.', 'minutes', list(range(1, 60)),
     ['Set a timer for X minutes.', 'Please start a timer of X minutes.', 'Wake me in X minutes.'],
     lambda rng, x: ({'ok': True}, f'The timer is set for {x} minute{"s" if x > 1 else ""}.')),
    ('play_sound', 'Plays the sound of an animal.', 'animal', ANIMALS,
     ['What sound does a X make?', 'Play the sound of a X.', 'I want to hear a X.'],
     lambda rng, x: ({'ok': True}, f'Listen! That is the sound of the {x}.')),
    ('find_object', 'Tells where a thing is in the house.', 'object', OBJECTS,
     ['Where is my X?', 'I cannot find my X.', 'Please find my X.'],
     lambda rng, x: (lambda r: ({'room': r}, f'Your {x} is in the {r}.'))(rng.choice(['kitchen', 'garden', 'bedroom', 'hall']))),
    ('set_colour', 'Changes the colour of the page.', 'colour', COLOURS,
     ['Make the page X.', 'Change the colour to X, please.', 'I want the page in X.'],
     lambda rng, x: ({'ok': True}, f'Now the page is {x}.')),
    ('send_note', 'Leaves a note for a person.', 'name', BOYS + GIRLS,
     ['Leave a note for X.', 'Please write a note to X.'], lambda rng, x: ({'ok': True}, f'I left a note for {x}.')),
    ('roll_dice', 'Rolls a die.', 'sides', [4, 6, 8, 10, 12, 20],
     ['Roll a die with X sides.', 'Please roll a X sided die.'],
     lambda rng, x: (lambda n: ({'result': n}, f'You rolled a {n}.'))(rng.randint(1, x))),
]


def made_up(rng):
    """Messages, kind and tools of a dialogue that calls a tool of another page."""
    from .tools import ALL
    name, about, argument, values, asks, result = rng.choice(TOOLS)
    value = rng.choice(values)
    tool = {'type': 'function', 'function': {'name': name, 'description': about, 'parameters': {
        'type': 'object', 'properties': {argument: {'type': 'number' if isinstance(value, int) else 'string'}},
        'required': [argument]}}}
    ask = rng.choice(asks).replace('X', str(value))
    for vowel in 'aeiou':
        ask = ask.replace(f' a {vowel}', f' an {vowel}').replace(' an uni', ' a uni')
    ask = ask.replace('a 8 sided', 'an 8 sided').replace('minutes', 'minute') if value == 1 else ask.replace('a 8 sided', 'an 8 sided')
    returned, answer = result(rng, value)
    call = '<tool_call>\n' + json.dumps({'name': name, 'arguments': {argument: value}}) + '\n</tool_call>'
    tools = [tool] + ([rng.choice(ALL)] if rng.random() < 0.5 else [])
    rng.shuffle(tools)
    return [message('user', ask), message('assistant', call), message('tool', json.dumps(returned)),
            message('assistant', answer)], 'other-tool', tools
