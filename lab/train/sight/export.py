"""Exports out/sight.pt as the small Llama's folder, the mmproj file, and held-out questions as JSON lines."""
import argparse
import base64
import json
from pathlib import Path

import numpy as np
import torch

from sight.body import load_vocabulary, small_llama, small_vocabulary
from sight.mmproj import mmproj
from sight.questions import KINDS, ask, held_cells
from sight.scenes import draw, png, scene
from sight.tower import Tower
from stories.export import write_folder

#: The seed of the held-out images, never used in training.
HELD_SEED = 2034


def held_lines(count):
    """JSON lines with a PNG in base64, a question of the next kind about a thing in a held-out place, and its answer.

    In every second round of kinds, the images are three times as large as the tower's input. They have no noise, so that the
    files stay small.
    """
    rng = np.random.default_rng(HELD_SEED)
    lines = []
    while len(lines) < count:
        cells, kind = scene(rng, held=True), KINDS[len(lines) % len(KINDS)]
        one = ask(rng, cells, kind, among=held_cells(cells))
        if one is None:
            continue
        picture = png(draw(rng, cells, scale=1 + 2 * (len(lines) // len(KINDS) % 2), noise=0))
        lines.append(json.dumps({'kind': kind, 'question': one[0], 'answer': one[1],
                                 'png': base64.b64encode(picture).decode()}))
    return lines


def main():
    """Writes all of these files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--stories', type=Path, default=Path('models/halfbyte-stories'), help='model with the vocabulary to reduce')
    parser.add_argument('--from', dest='source', type=Path, default=Path('out/sight.pt'))
    parser.add_argument('--to', type=Path, default=Path('models/halfbyte-sight'))
    parser.add_argument('--held', type=Path, default=Path('../../test/conformance/vision/golden/sight.jsonl'))
    parser.add_argument('--count', type=int, default=80, help='number of held-out questions')
    args = parser.parse_args()
    state = torch.load(args.source)
    vocabulary = small_vocabulary(load_vocabulary(args.stories))
    model = small_llama(vocabulary)
    model.load_state_dict(state['model'])
    tower = Tower(model.config.hidden)
    tower.load_state_dict(state['tower'])
    write_folder(args.to, model, vocabulary, snapped=False, kind='bf16')
    args.to.with_name(f'mmproj-{args.to.name}.gguf').write_bytes(mmproj(tower))
    args.held.write_text('\n'.join(held_lines(args.count)) + '\n', encoding='utf-8')


if __name__ == '__main__':
    main()
