"""Continues to train the codes that GPTQ chose: self-distillation on a pack's own grid.

    halfbyte quantize out/float gptq.hbm --calibration TEXT.jsonl
    npx node lab/train/compress/codes.mjs read gptq.hbm codes.safetensors
    python3 -m compress.codes --model out/float/model.pt --codes codes.safetensors --text TEXT.jsonl --to trained.safetensors
    npx node lab/train/compress/codes.mjs write gptq.hbm trained.safetensors trained.hbm

A weight is scale * code. The code before rounding, the logarithm of the scale's size, and the gains of norms are trained; rates
are in steps of the grid, or shares of a scale's size. Training starts at the float weight, moved so that it rounds to GPTQ's
code. The rounded code's gradient passes straight through; a scale's is that of LSQ (Esser et al. 2020, arXiv 1902.08153).
Embedding and vectors stay as in the pack.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from compress.grids import FACTOR, GROUP
from compress import text
from compress.layout import own_layout, transformers_layout
from compress.losses import cakld, confidence, counted, given, held_loss, mean_of, training_loss
from compress.source import open_model, windows_of
from compress.text import batch_of
from model import quantise8
from weights import read_safetensors, write_safetensors

#: Maximum initial distance of a weight from its code, in steps: a weight at the border, 0.5, would flip immediately.
EDGE = 0.3
#: Maximum error of a matrix's stored values, relative to the squares of its weights. 4 bits leave about 0.01.
STRANGE = 0.5


def rounded(value, low, high):
    """The nearest integer in a range; the gradient passes through inside the range and is zero outside."""
    inside = value.clamp(low, high)
    return inside + (inside.round() - inside).detach()


def require_same(name, weight, codes, scales):
    """Raises ValueError if the codes do not belong to the weight: in a GGUF, attention's rows have a different order."""
    values = codes * scales.repeat_interleave(GROUP, 1)[:, :weight.shape[1]]
    error = float((values - weight).square().sum() / weight.square().sum())
    if error > STRANGE:
        raise ValueError(f'the codes of {name} miss its weights by {error:.1f} of their squares (at most {STRANGE}); '
                         'make the pack from the folder of the same float model, not from a GGUF')


class CodedMatrix(nn.Module):
    """A matrix [n, k] of codes -8..7 and scales [n, groups]."""

    def __init__(self, weight, codes, scales):
        super().__init__()
        self.width = weight.shape[1]
        self.register_buffer('first', scales)
        by_input = self.spread(scales)
        wanted = weight / by_input.where(by_input != 0, torch.ones_like(by_input))
        self.code = nn.Parameter(torch.minimum(torch.maximum(wanted, codes - EDGE), codes + EDGE))
        self.growth = nn.Parameter(torch.zeros_like(scales))

    def spread(self, scales):
        """The scale of each input."""
        return scales.repeat_interleave(GROUP, 1)[:, :self.width]

    def codes(self):
        """The stored values."""
        return self.code.detach().round().clamp(-8, 7)

    def scales(self):
        """The scales as a pack stores them; the gradient is that of the unrounded scale."""
        exact = self.first * self.growth.exp()
        return exact + ((exact * FACTOR).half().float() / FACTOR - exact).detach()

    def forward(self):
        return rounded(self.code, -8, 7) * self.spread(self.scales())


def on_codes(layout, stored):
    """The layout of the matrices whose codes are stored. Raises ValueError if there are no codes, or codes without a matrix."""
    kept = {name: parts for name, parts in layout.matrices.items() if all(part + '.codes' in stored for part in parts)}
    known = {part + '.codes' for parts in kept.values() for part in parts}
    lost = [name for name in stored if name.endswith('.codes') and name not in known]
    if lost or not kept:
        raise ValueError(f'{lost[0] if lost else "a matrix with codes"} is not in the model; give the codes of a w4 pack of this model')
    return layout._replace(matrices=kept)


class Coded(nn.Module):
    """A model whose matrices are codes; everything else comes from the float model, including matrices that the pack stores in
    8 bits."""

    def __init__(self, layout, teacher, stored):
        super().__init__()
        self.layout = on_codes(layout, stored)
        self.matrices, self.gains = nn.ModuleDict(), nn.ParameterDict()
        #: The float model is not trained.
        self.teacher = [teacher]
        state = teacher.state_dict()
        for name, parts in self.layout.matrices.items():
            codes = [stored[part + '.codes'] - 8 for part in parts]
            scales = [stored[part + '.scales'] for part in parts]
            for part in zip(parts, state[name].split([len(each) for each in codes]), codes, scales):
                require_same(*part)
            self.matrices[key_of(name)] = CodedMatrix(state[name], torch.cat(codes), torch.cat(scales))
        self.rows = {part: len(stored[part + '.codes']) for parts in self.layout.matrices.values() for part in parts}
        for name in self.layout.gains:
            self.gains[key_of(name)] = state[name].clone()
        self.tables = {name: quantise8(state[name]) for name in self.layout.tables}

    def forward(self, ids):
        """Logits [batch, time, vocab]."""
        named = {**self.tables, **{name: self.gains[key_of(name)] for name in self.layout.gains},
                 **{name: self.matrices[key_of(name)]() for name in self.layout.matrices}}
        return functional_call(self.teacher[0], named, (ids,))

    def groups(self, code_rate, scale_rate):
        """The optimizer's parameter groups. Gains affect whole columns, so their rate is a third of the scales'."""
        matrices = self.matrices.values()
        for each in matrices:
            each.code.requires_grad_(code_rate > 0)
        codes = [{'params': [each.code for each in matrices], 'rate': code_rate}] if code_rate > 0 else []
        gains = [{'params': list(self.gains.values()), 'rate': scale_rate / 3}] if self.gains else []
        return [*codes, {'params': [each.growth for each in matrices], 'rate': scale_rate}, *gains]

    def stored(self):
        """Codes 0..15, scales and gains by the pack's names, as arrays of f32."""
        arrays = {theirs: self.gains[key_of(name)].detach() for name, theirs in self.layout.gains.items()}
        for name, parts in self.layout.matrices.items():
            arrays.update(self.parts(self.matrices[key_of(name)], parts))
        return {name: np.ascontiguousarray(value.numpy(), dtype=np.float32) for name, value in arrays.items()}

    def parts(self, own, names):
        """The rows of a matrix, split by the tensors that it consists of."""
        sizes = [self.rows[name] for name in names]
        codes, scales = (own.codes() + 8).split(sizes), own.scales().detach().split(sizes)
        return {f'{name}.{what}': value for name, *both in zip(names, codes, scales)
                for what, value in zip(('codes', 'scales'), both)}


def key_of(name):
    """A parameter's name as a valid key in torch."""
    return name.replace('.', ' ')


def train(student, windows, steps, batch, rates, gamma, seed=1):
    """Adam at rates (of codes, of scales) that rise over 10 steps and fall linearly to zero. Without gamma the loss is the next
    token's. Yields the loss of each step."""
    optimizer = torch.optim.Adam(student.groups(*rates), betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group['lr'] = group['rate'] * min(1, (step + 1) / 10) * (1 - step / steps)
        ids = batch_of(windows, batch, seed, step)
        loss = training_loss(student, student.teacher[0], ids, gamma)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield float(loss.detach())


def divergence(student, windows):
    """KL(teacher || student) in nats per token: the effect of quantisation, with less noise than a loss."""
    def of(ids):
        ours, theirs = (counted(each(given(ids)), ids)[0] for each in (student, student.teacher[0]))
        return cakld(ours, theirs, 0.0)
    return mean_of(windows, of)


def open_float(args):
    """The layout, the float model, and windows of the text."""
    if args.model.is_dir():
        # Only a folder needs transformers.
        from compress import folder
        tokenizer, model = folder.open_folder(args.model)
        teacher = folder.Logits(model)
        layout = transformers_layout(model, folder.matrices_of(model))
        return layout.prefixed('model.'), teacher, text.windows_of(args.text, tokenizer, args.length, args.windows)
    vocabulary, family, teacher = open_model(args.model, tokenizer=args.tokenizer)
    return own_layout(family, teacher.config.layers), teacher, windows_of(args.text, vocabulary, args.length, args.windows)


def main():
    """Trains and prints the gain on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='float model of the pack: a folder of transformers, or a checkpoint')
    parser.add_argument('--tokenizer', type=Path, help="the folder with a checkpoint's tokenizer.json")
    parser.add_argument('--codes', type=Path, required=True, help='output of codes.mjs read')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text; for a folder also messages or answers')
    parser.add_argument('--loss', choices=['cakld', 'ce'], default='cakld', help='distance from the float model, or loss of the text')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=4000)
    parser.add_argument('--rate', type=float, default=0.005, help='rate of codes, in steps of their grid')
    parser.add_argument('--scale-rate', type=float, default=0.003, help='rate of scales, as a share of their size')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--to', type=Path, required=True)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    layout, teacher, windows = open_float(args)
    teacher.eval().requires_grad_(False)
    windows, held = text.split(windows, args.seed)
    some = [batch_of(windows, 4, args.seed, step) for step in range(8)]
    gamma = confidence(teacher, some) if args.loss == 'cakld' else None
    student = Coded(layout, teacher, read_safetensors(args.codes))
    before = student.stored()
    print(f'float {held_loss(teacher, held):.4f}, as quantised {held_loss(student, held):.4f} nats per token, '
          f'{divergence(student, held):.4f} from the float model' + ('' if gamma is None else f'; gamma {gamma:.3f}'), flush=True)
    started, total = time.time(), 0.0
    for step, loss in enumerate(train(student, windows, args.steps, args.batch, (args.rate, args.scale_rate), gamma, args.seed)):
        total += loss
        if (step + 1) % 25 == 0:
            print(f'step {step + 1} of {args.steps}: loss {total / 25:.4f}, {time.time() - started:.0f} s', flush=True)
            total = 0.0
    after = student.stored()
    codes = [name for name in after if name.endswith('.codes')]
    moved = sum(int((before[name] != after[name]).sum()) for name in codes) / sum(after[name].size for name in codes)
    print(f'trained {held_loss(student, held):.4f} nats per token, {divergence(student, held):.4f} from the float model; '
          f'{100 * moved:.1f} % of the codes moved')
    write_safetensors(args.to, after)
    print(args.to)


if __name__ == '__main__':
    main()
