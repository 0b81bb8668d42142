"""Answers in JSON. In: a random source. Out: a story or sentence and its facts as JSON with the requested keys."""
import json

from .say import a, choose, message, talk
from .stories import request
from .world import World


def facts(w):
    """The facts of a world that can be requested, by key."""
    known = {'hero': w.name or w.kind, 'kind': w.kind, 'place': w.place.split(' ', 1)[1] if w.place.split(' ', 1)[0] in
             ('in', 'on', 'by', 'near', 'under') else w.place, 'wish': w.fact('want'), 'end': w.fact('end')}
    if w.name:
        known['name'] = w.name
    if 'thing' in w.plot['uses']:
        known['thing'] = w.thing
        if w.colour:
            known['colour'] = w.colour
    known['place'] = known['place'].removeprefix('a ').removeprefix('an ').removeprefix('the ')
    if any('{helper}' in beat for beat in w.plot['beats']):
        known['helper'] = w.helper
    return known


def schema_of(keys):
    return json.dumps({'type': 'object', 'properties': {k: {'type': 'string'} for k in keys}, 'required': keys})


def dialogue(rng):
    w = World(rng)
    known = facts(w)
    keys = rng.sample([k for k in known if k not in ('wish', 'end')], 2) + ([rng.choice(['wish', 'end'])] if rng.random() < 0.3 else [])
    if rng.random() < 0.3:
        rng.shuffle(keys)
    answer = json.dumps({k: known[k] for k in keys})
    listed = ', '.join(keys)
    roll = rng.random()
    if roll < 0.6:
        ask = choose(rng, 'Give me X of the story as JSON. | Answer in JSON with the keys X. | JSON with X, please. | Now as JSON: X. | '
                          'Write X of this story in JSON.').replace('X', listed)
        return talk(request(rng, w), w.story(), ask, answer), 'json', None
    known = {'hero': w.name or w.kind, 'kind': w.kind, 'place': known['place'], 'thing': w.thing}
    if w.name is None:
        known.pop('kind')
    keys = rng.sample(list(known), rng.randint(2, len(known)))
    named = f'named {w.name} ' if w.name else ''
    text = rng.choice([f'{a(w.kind)} {named}lives {w.place} and has {a(w.thing)}.', f'{a(w.kind)} {named}{w.place} finds {a(w.thing)}.'])
    text = text[0].upper() + text[1:]
    answer = json.dumps({k: known[k] for k in keys})
    if roll < 0.8:
        return [message('system', f'Answer in JSON by this schema: {schema_of(keys)}'), message('user', text),
                message('assistant', answer)], 'json', None
    return talk(f'{text} Give me {", ".join(keys)} as JSON.', answer), 'json', None
