"""out/tower.pt in; the mmproj file, and held-out pictures with what is in them as JSON lines, out."""
import argparse
import base64
import json
from pathlib import Path

import numpy as np
import torch

from sight.mmproj import mmproj
from sight.scenes import EMPTY, draw, name_of, png, scene
from sight.tower import Tower

#: The seed of the held-out pictures, which no training has.
HELD_SEED = 2034


def held_lines(count):
    """JSON lines of a PNG in base64 and the name of the thing in each cell, null where there is none.

    Each picture has a thing where none was in training. Every second one is three times as large as the tower
    reads it. None has noise, so that the files stay small.
    """
    rng = np.random.default_rng(HELD_SEED)
    for number in range(count):
        cells = scene(rng, held=True)
        picture = png(draw(rng, cells, scale=1 + 2 * (number % 2), noise=0))
        names = [None if thing == EMPTY else ' '.join(name_of(thing)) for thing in cells]
        yield json.dumps({'cells': names, 'png': base64.b64encode(picture).decode()})


def main():
    """Writes both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--from', dest='source', type=Path, default=Path('out/tower.pt'))
    parser.add_argument('--to', type=Path, default=Path('models/halfbyte-sight/mmproj.gguf'))
    parser.add_argument('--held', type=Path, default=Path('../test/conformance/vision/golden/sight.jsonl'))
    parser.add_argument('--count', type=int, default=64, help='held-out pictures')
    args = parser.parse_args()
    state = torch.load(args.source)['tower']
    tower = Tower(state['project.weight'].shape[0])
    tower.load_state_dict(state)
    args.to.parent.mkdir(parents=True, exist_ok=True)
    args.to.write_bytes(mmproj(tower))
    args.held.write_text('\n'.join(held_lines(args.count)) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
