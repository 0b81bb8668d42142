"""From scores of weights to a mask: which weights of a matrix stay, by pattern.

A unit is the smallest part that stays or goes as a whole, as in the sparse formats of packs.
"""
import re
from dataclasses import dataclass

import torch

from compress.masks import UNITS


@dataclass(frozen=True)
class Pattern:
    """height, width: outputs and inputs of a unit. share: the share of units that stay. of: how many neighbouring units along
    a row compete; None: all units of the matrix that are decided together."""

    height: int
    width: int
    share: float
    of: int | None = None

    def kept(self, scores):
        """The mask [inputs, outputs] of the units with the highest sums of scores [inputs, outputs]. Raises ValueError if the
        scores are not whole units."""
        inputs, outputs = scores.shape
        run = self.width * (self.of or 1)
        if inputs % run or outputs % self.height:
            raise ValueError(f'{outputs} outputs x {inputs} inputs are not whole units of {self.height} x {run}; '
                             'give another pattern or group')
        sums = scores.reshape(inputs // self.width, self.width, outputs // self.height, self.height).sum((1, 3))
        rivals = sums.flatten()[:, None] if self.of is None else sums.reshape(-1, self.of, sums.shape[1])
        best = rivals.topk(round(self.share * rivals.shape[-2]), dim=-2).indices
        chosen = torch.zeros_like(rivals, dtype=torch.bool).scatter_(-2, best, True).reshape(sums.shape)
        return chosen.repeat_interleave(self.width, 0).repeat_interleave(self.height, 1)

    def mask_bits(self, weights):
        """Bits of the mask of a matrix with so many weights: one for each unit."""
        return weights // (self.height * self.width)


def pattern_of(name):
    """Parses a name like 2:4, or sv32@0.5 with the share of dropped units. None stays None. Raises ValueError otherwise."""
    if name is None:
        return None
    ratio, unit = re.fullmatch(r'(\d+):(\d+)', name), re.fullmatch(r'(\w+)@(0?\.\d+)', name)
    if ratio and 0 < int(ratio[1]) < int(ratio[2]):
        return Pattern(1, 1, int(ratio[1]) / int(ratio[2]), int(ratio[2]))
    if unit and unit[1] in UNITS and 0 < float(unit[2]) < 1:
        return Pattern(*UNITS[unit[1]], 1 - float(unit[2]))
    raise ValueError(f'{name} is not a pattern; use N:M, or one of {", ".join(UNITS)} with a share of dropped units, like sv32@0.5')
