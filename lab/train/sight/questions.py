"""Makes questions with answers from the contents of the cells."""
import numpy as np

from sight.scenes import COLOURS, EMPTY, SHAPES, SIDE, is_held, name_of

#: Row and column of the cell in each direction.
DIRECTIONS = {'left of': (0, -1), 'right of': (0, 1), 'above': (-1, 0), 'below': (1, 0)}
KINDS = (*DIRECTIONS, 'colour', 'shape', 'count', 'there')
NUMBERS = ('None', 'One', 'Two', 'Three', 'Four')


def beside(cells, cell, direction):
    """The thing in the adjacent cell, or EMPTY if that cell is empty or outside the grid."""
    y, x = (a + b for a, b in zip(divmod(cell, SIDE), DIRECTIONS[direction]))
    return cells[y * SIDE + x] if 0 <= y < SIDE and 0 <= x < SIDE else EMPTY


def held_cells(cells):
    """The cells whose thing is in a held-out place."""
    return [c for c, thing in enumerate(cells) if thing != EMPTY and is_held(thing, c)]


def alone(cells, part):
    """The cells whose thing shares its colour (part 0) or its shape (part 1) with no other."""
    names = {c: name_of(thing)[part] for c, thing in enumerate(cells) if thing != EMPTY}
    return [c for c, name in names.items() if list(names.values()).count(name) == 1]


def ask(rng, cells, kind, among=None):
    """A question of a kind, its answer and the cells to look at, or None if the picture allows no such question.

    among: the cells that the question may be about, by default all with a thing.
    """
    full = [c for c, thing in enumerate(cells) if thing != EMPTY]
    about = full if among is None else among
    if kind in DIRECTIONS:
        near = [c for c in about if beside(cells, c, kind) != EMPTY]
        cell = rng.choice(near if near and rng.random() < 0.7 else about)
        found = beside(cells, cell, kind)
        answer = 'Nothing.' if found == EMPTY else f'A {" ".join(name_of(found))}.'
        return f'What is {kind} the {" ".join(name_of(cells[cell]))}?', answer, [cell]
    if kind in ('colour', 'shape'):
        single = sorted(set(alone(cells, 1 if kind == 'colour' else 0)) & set(about))
        if not single:
            return None
        cell = rng.choice(single)
        colour, shape = name_of(cells[cell])
        if kind == 'colour':
            return f'What colour is the {shape}?', f'{colour.capitalize()}.', [cell]
        return f'What shape is the {colour} one?', f'A {shape}.', [cell]
    if kind == 'count':
        shape = rng.choice([name_of(cells[c])[1] for c in about] if rng.random() < 0.8 else SHAPES)
        alike = [c for c in full if name_of(cells[c])[1] == shape]
        return f'How many {shape}s are there?', f'{NUMBERS[len(alike)]}.', alike
    thing = cells[rng.choice(about)] if rng.random() < 0.5 else rng.integers(len(COLOURS) * len(SHAPES))
    there = [c for c in full if cells[c] == thing]
    return f'Is there a {" ".join(name_of(thing))}?', 'Yes.' if there else 'No.', there


def asked(rng, cells, count):
    """Questions about an image, half of them about the neighbours of a thing."""
    out = []
    while len(out) < count:
        one = ask(rng, cells, rng.choice(KINDS))
        if one:
            out.append(one)
    return out
