"""Fits the end of a second phase's curve, loss = a + b log(tokens), and extrapolates it.

    python3 -m lowbits.curve out/low/whole.pt --step-tokens 1024 --first 50 --times 2,10,115

Prints the slope per doubling with its standard error, and the divergence expected at multiples of the tokens. Windows are new in
the first pass, so a step's loss before its update is that of unseen text. The rates fall along the curve; a longer run has its
own schedule, so this is a guess about it, not a measurement.
"""
import argparse
import math
from pathlib import Path

import torch


def fit(losses, first):
    """The level at the last step, the slope per natural logarithm of steps, their covariance, from the losses after the first
    steps. Raises ValueError for fewer than 10."""
    steps = torch.arange(first + 1, len(losses) + 1, dtype=torch.float64)
    if len(steps) < 10:
        raise ValueError(f'{len(losses)} steps leave {len(steps)} after the first {first}; a fit needs at least 10')
    wanted = torch.tensor(losses[first:], dtype=torch.float64)
    inputs = torch.stack([torch.ones_like(steps), (steps / len(losses)).log()], 1)
    inverse = torch.linalg.inv(inputs.t() @ inputs)
    found = inverse @ inputs.t() @ wanted
    spread = (wanted - inputs @ found).square().sum() / (len(steps) - 2)
    return float(found[0]), float(found[1]), inverse * spread


def main(given=None):
    """Prints the fit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('checkpoint', type=Path)
    parser.add_argument('--step-tokens', type=int, default=1024)
    parser.add_argument('--first', type=int, default=50, help='steps to leave out')
    parser.add_argument('--times', default='2,10,115', help='multiples of the tokens to extrapolate to')
    args = parser.parse_args(given)
    losses = torch.load(args.checkpoint)['losses']
    level, slope, covariance = fit(losses, args.first)
    print(f'{len(losses) * args.step_tokens} tokens: divergence {level:.4f} ± {math.sqrt(covariance[0, 0]):.4f}, '
          f'{slope * math.log(2):+.4f} ± {math.sqrt(covariance[1, 1]) * math.log(2):.4f} per doubling')
    for times in map(float, args.times.split(',')):
        at = torch.tensor([1.0, math.log(times)], dtype=torch.float64)
        error = math.sqrt(at @ covariance @ at)
        print(f'{times:g} times the tokens, extrapolated: {level + slope * math.log(times):.4f} ± {error:.4f}')


if __name__ == '__main__':
    main()
