"""From a matrix to codes of 2 to 8 bits with a scale and a zero point per group, as a layer's trainable weight.

A value is scale * (code - zero). Codes are 0 to 2^bits - 1; scales are f16 as in a pack, or with a suffix like s6 whole numbers
of so many bits times an f16 unit per row; zero points are multiples of a half between 0 and the largest code, so they take
bits + 1 bits. A mask may fix weights at zero.
"""
import re
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.utils import parametrize

from compress.grids import stored

#: Shares of a group's range by which its two ends move inwards; the best one is chosen.
CUTS = ((0, 0), (0.05, 0.05), (0.1, 0.1), (0.15, 0.15), (0.2, 0.2), (0.1, 0), (0, 0.1))
#: Maximum initial distance of a weight from its code, in steps: a weight at the border, 0.5, would flip immediately.
EDGE = 0.3


@dataclass(frozen=True)
class Format:
    """Bits of a code, weights per group, and bits of a scale; 0: it is f16."""

    bits: int
    group: int
    scale_bits: int = 0

    @property
    def top(self):
        """The largest code."""
        return 2 ** self.bits - 1

    @property
    def bits_per_weight(self):
        """With scales and zero points, without the units of rows."""
        return self.bits + ((self.scale_bits or 16) + self.bits + 1) / self.group

    def stored(self, scales):
        """The nearest scales [rows, groups, ...] that can be stored."""
        if not self.scale_bits:
            return stored(scales)
        most = 2 ** self.scale_bits - 1
        unit = stored(scales.amax(1, keepdim=True) / most).clamp(min=stored(torch.tensor(2.0 ** -32)))
        return (scales / unit).round().clamp(1, most) * unit


class Solved(NamedTuple):
    """Codes [outputs, inputs], scales and zero points [outputs, groups]; kept: the mask [outputs, inputs], None if all stay."""

    codes: torch.Tensor
    scales: torch.Tensor
    zeros: torch.Tensor
    kept: torch.Tensor | None


def format_of(name):
    """Parses a name like w3z_g64 or w3z_g32s6. Raises ValueError for any other name."""
    found = re.fullmatch(r'w([2-8])z_g(\d+)(?:s([4-8]))?', name)
    if found is None or int(found[2]) < 1:
        raise ValueError(f'{name} is not a format; use one like w3z_g64 or w3z_g32s6, with 2 to 8 bits and scales of 4 to 8')
    return Format(int(found[1]), int(found[2]), int(found[3] or 0))


def codes_of(values, scale, zero, form):
    """The codes nearest to values, before rounding."""
    return values * torch.where(scale != 0, 1 / scale, torch.zeros_like(scale)) + zero


def fit(group, weights, form):
    """The scale and zero point [rows] of a group [inputs, rows] with the least squared error.

    weights: the weight of each input's error, [inputs, 1], or of each value's, [inputs, rows].
    """
    low, high = group.amin(0).clamp(max=0), group.amax(0).clamp(min=0)
    best, least = None, None
    for below, above in CUTS:
        scale = (high * (1 - above) - low * (1 - below)) / form.top
        zero = (codes_of(-low * (1 - below), scale, 0, form) * 2).round().clamp(0, 2 * form.top) / 2
        steps = codes_of(group, scale, zero, form).round().clamp(0, form.top) - zero
        squares = (weights * steps.square()).sum(0)
        scale = stored(torch.where(squares > 0, (weights * steps * group).sum(0) / squares, scale))
        values = codes_of(group, scale, zero, form).round().clamp(0, form.top).sub_(zero).mul_(scale)
        error = (weights * (values - group).square()).sum(0)
        found = torch.stack([scale, zero])
        best = found if best is None else torch.where(error < least, found, best)
        least = error if least is None else torch.minimum(error, least)
    return best


def solve(matrix, factor, form, pattern=None):
    """A matrix [outputs, inputs] on its grid, by GPTQ, and with a pattern also pruned, by SparseGPT in the same pass.

    factor: the upper Cholesky factor of the inverse of the inputs' Hessian; the identity rounds, and prunes by magnitude.
    A group's mask is chosen after the groups before it are solved, from weights that already compensate for their errors.
    Raises ValueError if the inputs are not whole groups, or the groups not whole units.
    """
    inputs = matrix.shape[1]
    if inputs % form.group:
        raise ValueError(f'a row has {inputs} weights, which is not a multiple of the group, {form.group}; give another group')
    left = matrix.t().contiguous()
    codes, grids = torch.empty_like(left), []
    kept = None if pattern is None else torch.empty_like(left, dtype=torch.bool)
    for start in range(0, inputs, form.group):
        own = slice(start, start + form.group)
        corner, group = factor[own, own], left[own]
        weights = corner.diagonal().reciprocal().square()[:, None]
        keep = torch.ones(len(group), 1)
        if pattern is not None:
            keep = kept[own] = pattern.kept(weights * group.square())
        scale, zero = fit(group * keep, weights * keep, form)
        errors = torch.empty_like(group)
        for j, column in enumerate(group):
            code = codes[start + j] = codes_of(column, scale, zero, form).round_().clamp_(0, form.top)
            errors[j] = (column - (code - zero) * scale * keep[j]) / corner[j, j]
            group[j + 1:].addr_(corner[j, j + 1:], errors[j], alpha=-1)
        left[start + form.group:] -= factor[own, start + form.group:].t() @ errors
        grids.append((scale, zero))
    scales, zeros = (torch.stack(each, 1) for each in zip(*grids))
    return Solved(codes.t().contiguous(), form.stored(scales), zeros, None if kept is None else kept.t().contiguous())


class Values(torch.autograd.Function):
    """Values of codes [rows, groups, size]. Gradients pass straight through the rounding, and not outside of the range."""

    @staticmethod
    def forward(ctx, code, scale, zero, top):
        steps = code.clamp(0, top).round_().sub_(zero)
        ctx.save_for_backward(code, steps, scale)
        ctx.top = top
        return steps * scale

    @staticmethod
    def backward(ctx, gradient):
        code, steps, scale = ctx.saved_tensors
        of_scale = torch.linalg.vecdot(gradient, steps)[..., None]
        through = gradient * scale
        of_zero = -through.sum(-1, keepdim=True)
        if not ctx.needs_input_grad[0]:
            return None, of_scale, of_zero, None
        return through.masked_fill_((code < 0) | (code > ctx.top), 0), of_scale, of_zero, None


class Codes(nn.Module):
    """The values of a matrix, from its codes before rounding, which are the layer's parameter.

    growth: the logarithm of each scale's growth. Both of growth and zero are [rows, groups, 1].
    kept: the mask of the weights, or None. A dropped weight is zero and gets no gradient.
    """

    def __init__(self, form, scales, zeros, kept):
        super().__init__()
        self.form = form
        self.register_buffer('kept', kept)
        self.register_buffer('first', scales[..., None])
        self.growth = nn.Parameter(torch.zeros_like(self.first))
        self.zero = nn.Parameter(zeros[..., None].clone())

    def scale(self):
        """The scales as a pack stores them; the gradient is that of the unrounded scale."""
        exact = self.first * self.growth.exp()
        return exact + (self.form.stored(exact) - exact).detach()

    def zeros(self):
        """The zero points as they are stored, likewise."""
        inside = self.zero.clamp(0, self.form.top)
        return inside + ((inside * 2).round() / 2 - inside).detach()

    def forward(self, code):
        groups = code.reshape(len(code), -1, self.form.group)
        values = Values.apply(groups, self.scale(), self.zeros(), self.form.top).reshape(code.shape)
        return values if self.kept is None else values * self.kept


def put_on_grid(layer, solved, form):
    """Replaces a layer's weight by a solved one. Training starts near the float weight."""
    codes, scales, zeros, kept = solved
    wide = [each.repeat_interleave(form.group, 1) for each in (scales, zeros)]
    wanted = codes_of(layer.weight.data, *wide, form)
    # The parameter may be shared with another layer, so it is not overwritten.
    layer.weight = nn.Parameter(torch.minimum(torch.maximum(wanted, codes - EDGE), codes + EDGE))
    parametrize.register_parametrization(layer, 'weight', Codes(form, scales, zeros, kept), unsafe=True)


def is_on_grid(layer):
    """Whether a layer's weight consists of codes."""
    return parametrize.is_parametrized(layer, 'weight') and isinstance(layer.parametrizations.weight[0], Codes)


def parts_of(layer):
    """The parameters of a layer on the grid: codes, growths and zero points."""
    own = layer.parametrizations.weight
    return own.original, own[0].growth, own[0].zero


def state_of(layer):
    """What load needs."""
    own = layer.parametrizations.weight
    return {'code': own.original.detach(), **{name: each.detach() for name, each in own[0].state_dict().items()}}


def load(layer, state, form):
    """Puts a layer on the grid of a saved state."""
    layer.weight = nn.Parameter(state['code'])
    codes = Codes(form, state['first'][..., 0], state['zero'][..., 0], state.get('kept'))
    parametrize.register_parametrization(layer, 'weight', codes, unsafe=True)
    layer.parametrizations.weight[0].growth.data.copy_(state['growth'])
