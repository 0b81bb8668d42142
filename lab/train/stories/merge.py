"""Interpolates between a start and a fine-tuned checkpoint; writes out/middle.pt, from which training continues with fresh
momenta."""
import argparse
from pathlib import Path

import torch

from stories.spm import BOS, END, FIRST_BYTE, ROLES

#: Rows that the teacher never used, or used for something else. Merging keeps their fine-tuned values.
NEW_ROWS = [BOS, END, *range(FIRST_BYTE + 256, FIRST_BYTE + 258 + len(ROLES))]


def merged(start, tuned, share):
    """Weights interpolated from start to tuned."""
    state = {name: value.lerp(tuned[name], share) for name, value in start.items()}
    state['embed'][NEW_ROWS] = tuned['embed'][NEW_ROWS]
    return state


def main():
    """Writes the merged checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--tuned', type=Path, help='default: out/checkpoint.pt')
    parser.add_argument('--share', type=float, default=0.5)
    args = parser.parse_args()
    start = torch.load(args.out / 'start.pt')
    tuned = torch.load(args.tuned or args.out / 'checkpoint.pt')
    state = merged(start['model'], tuned['model'], args.share)
    torch.save({**start, 'model': state}, args.out / 'middle.pt')
    print('merged with step', tuned['step'])


if __name__ == '__main__':
    main()
