"""Draws images of coloured shapes on a grid of three by three from a seed, with the contents of each cell."""
import struct
import zlib

import numpy as np

COLOURS = ('red', 'blue', 'green', 'yellow')
SHAPES = ('circle', 'square', 'triangle', 'star')
#: Cells per side of the grid, and pixels per side of a cell.
SIDE, CELL = 3, 24
CELLS = SIDE * SIDE
#: Mean red, green and blue of each colour, from 0 to 1.
PAINT = np.array([[0.86, 0.13, 0.13], [0.15, 0.30, 0.86], [0.13, 0.62, 0.22], [0.95, 0.80, 0.12]])
EMPTY = -1


def is_held(thing, cell):
    """Whether no training image has this thing in this cell: two of the nine cells are held out for each."""
    return (7 * thing + 5 * cell) % CELLS < 2


def name_of(thing):
    """Colour and shape."""
    return COLOURS[thing // len(SHAPES)], SHAPES[thing % len(SHAPES)]


def scene(rng, held=False):
    """The thing of each cell, or EMPTY: two to seven different things.

    With held, at least one thing is in a held-out place; otherwise none is.
    """
    while True:
        cells = np.full(CELLS, EMPTY)
        count = rng.integers(2, 8)
        for thing in rng.permutation(len(COLOURS) * len(SHAPES))[:count]:
            free = [c for c in range(CELLS) if cells[c] == EMPTY and (held or not is_held(thing, c))]
            if free:
                cells[rng.choice(free)] = thing
        if not held or any(t != EMPTY and is_held(t, c) for c, t in enumerate(cells)):
            return cells


def distance(shape, x, y):
    """The distance of points from a shape that fits a circle of radius 1; negative inside. y points down."""
    if shape == 'circle':
        return np.hypot(x, y) - 0.9
    if shape == 'square':
        return np.maximum(np.abs(x), np.abs(y)) - 0.75
    if shape == 'triangle':
        y = y - 0.15
        return np.maximum(y - 0.5, np.abs(x) * 0.866 - y * 0.5 - 0.5)
    # The star is folded into a tenth of it, whose outline is one edge, from a tip to the next inner corner.
    angle = np.abs((np.arctan2(x, -y) + np.pi / 5) % (2 * np.pi / 5) - np.pi / 5)
    radius = np.hypot(x, y)
    inner = 0.45 * np.array([np.sin(np.pi / 5), np.cos(np.pi / 5)])
    normal = np.array([1 - inner[1], inner[0]]) / np.hypot(1 - inner[1], inner[0])
    return normal[0] * radius * np.sin(angle) + normal[1] * (radius * np.cos(angle) - 1)


def draw(rng, cells, scale=1, noise=0.02):
    """A picture [height, width, 3] in bytes. Each thing has a random position, size, rotation and shade."""
    size = CELL * scale
    ground = np.clip(rng.uniform(0.82, 1.0) + rng.normal(0, 0.015, 3), 0, 1)
    picture = np.broadcast_to(ground, (SIDE * size, SIDE * size, 3)).copy()
    for cell, thing in enumerate(cells):
        if thing == EMPTY:
            continue
        colour, shape = thing // len(SHAPES), SHAPES[thing % len(SHAPES)]
        radius = rng.uniform(7.5, 10.5) * scale
        middle = size / 2 + rng.uniform(-1, 1, 2) * (size / 2 - radius)
        turn = rng.uniform(-0.2, 0.2)
        x = np.arange(size) + 0.5 - middle[0]
        y = (np.arange(size) + 0.5 - middle[1])[:, None]
        x, y = (x * np.cos(turn) + y * np.sin(turn)) / radius, (y * np.cos(turn) - x * np.sin(turn)) / radius
        cover = np.clip(0.5 - distance(shape, x, y) * radius, 0, 1)[..., None]
        paint = np.clip(PAINT[colour] * rng.uniform(0.85, 1.1) + rng.normal(0, 0.03, 3), 0, 1)
        top, left = (cell // SIDE) * size, (cell % SIDE) * size
        part = picture[top:top + size, left:left + size]
        part[:] = part * (1 - cover) + paint * cover
    if noise:
        picture += rng.normal(0, rng.uniform(0, noise), picture.shape)
    return np.round(np.clip(picture, 0, 1) * 255).astype(np.uint8)


def png(picture):
    """The bytes of a PNG file."""
    height, width, _ = picture.shape

    def chunk(name, data):
        return struct.pack('>I', len(data)) + name + data + struct.pack('>I', zlib.crc32(name + data))
    rows = b''.join(b'\0' + row.tobytes() for row in picture)
    head = struct.pack('>IIBBBBB', width, height, 8, 2, 0, 0, 0)
    return b'\x89PNG\r\n\x1a\n' + chunk(b'IHDR', head) + chunk(b'IDAT', zlib.compress(rows, 9)) + chunk(b'IEND', b'')
