"""Codes that GPTQ chose in, codes that were trained from there out: self-distillation on the very grid of a pack.

    halfbyte quantize out/float gptq.hbm --calibration TEXT.jsonl
    npx node train/compress/codes.mjs read gptq.hbm codes.safetensors
    python3 -m compress.codes --model out/float/model.pt --codes codes.safetensors --text TEXT.jsonl --to trained.safetensors
    npx node train/compress/codes.mjs write gptq.hbm trained.safetensors trained.hbm

A weight is scale * code. What is trained is the code before it is rounded, the logarithm of the scale's size, and the gains
of norms; a rate is in steps of the grid, or a share of a scale's size. Training begins at the float weight, moved to where it
rounds to GPTQ's code. The rounded code's gradient passes straight through; a scale's is that of LSQ (Esser et al. 2020,
arXiv 1902.08153). Embedding and vectors stay as they are in the pack.
"""
import argparse
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.func import functional_call

from compress.grids import FACTOR, GROUP
from compress.losses import cakld, confidence, training_loss
from compress.source import open_model, windows_of
from compress.train import held_loss
from model import quantise8
from weights import read_safetensors, write_safetensors

#: The pack's matrices, by parameter of a layer: their rows follow each other there.
MLP = {'gate_up': ['mlp_gate', 'mlp_up'], 'down': ['mlp_down']}
PARTS = {'llama': {'qkv': ['attn_q', 'attn_k', 'attn_v'], 'out': ['attn_output'], **MLP},
         'granitehybrid': {'in_proj': ['ssm_in_z', 'ssm_in_x', 'ssm_in_dt'], 'out': ['ssm_output'], **MLP}}
#: The pack's gains, likewise.
GAINS = {'llama': {'norm1': 'attn_norm.weight', 'norm2': 'mlp_norm.weight'},
         'granitehybrid': {'norm1': 'ssm_norm.weight', 'norm2': 'mlp_norm.weight', 'gate_norm': 'ssm_gate_norm.weight'}}
#: How far from the value of its code a weight may begin, in steps: a weight at the border, 0.5, would leave at once.
EDGE = 0.3
#: Most error of a matrix's stored values, as a share of the squares of its weights. 4 bits leave about 0.01.
STRANGE = 0.5


def rounded(value, low, high):
    """The nearest whole number in a range; the gradient is that of the value, and zero outside."""
    inside = value.clamp(low, high)
    return inside + (inside.round() - inside).detach()


def require_same(name, weight, codes, scales):
    """Raises ValueError if the codes are not those of the weight: attention's rows have another order in a GGUF."""
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
        """What is stored."""
        return self.code.detach().round().clamp(-8, 7)

    def scales(self):
        """As a pack stores them; the gradient is that of the unrounded scale."""
        exact = self.first * self.growth.exp()
        return exact + ((exact * FACTOR).half().float() / FACTOR - exact).detach()

    def forward(self):
        return rounded(self.code, -8, 7) * self.spread(self.scales())


class Coded(nn.Module):
    """A model whose matrices are codes; everything else is the float model's."""

    def __init__(self, family, teacher, stored):
        super().__init__()
        self.family, self.layers = family, teacher.config.layers
        self.matrices, self.gains = nn.ModuleDict(), nn.ParameterDict()
        self.rows = {name.removesuffix('.codes'): len(value) for name, value in stored.items() if name.endswith('.codes')}
        #: The float model is no part of what is trained.
        self.teacher = [teacher]
        state = teacher.state_dict()
        for i in range(self.layers):
            for ours, theirs in PARTS[family].items():
                names = [f'layers.{i}.{each}.weight' for each in theirs]
                codes = torch.cat([stored[name + '.codes'] - 8 for name in names])
                scales = torch.cat([stored[name + '.scales'] for name in names])
                sizes = [self.rows[name] for name in names]
                for part in zip(names, *(each.split(sizes) for each in (state[f'layers.{i}.{ours}'], codes, scales))):
                    require_same(*part)
                self.matrices[f'{i} {ours}'] = CodedMatrix(state[f'layers.{i}.{ours}'], codes, scales)
            for ours in GAINS[family]:
                self.gains[f'{i} {ours}'] = state[f'layers.{i}.{ours}'].clone()
        self.gains['final_norm'] = state['final_norm'].clone()
        self.embed = quantise8(state['embed'])

    def forward(self, ids):
        """Logits [batch, time, vocab]."""
        named = {'final_norm': self.gains['final_norm'], 'embed': self.embed}
        for group in (self.gains, self.matrices):
            for key, own in group.items():
                if key != 'final_norm':
                    named['layers.' + key.replace(' ', '.')] = own() if isinstance(own, CodedMatrix) else own
        return functional_call(self.teacher[0], named, (ids,))

    def groups(self, code_rate, scale_rate):
        """What an optimizer trains. Gains stand for whole columns, so they move by a third of what scales move by."""
        matrices = self.matrices.values()
        return [{'params': [m.code for m in matrices], 'rate': code_rate},
                {'params': [m.growth for m in matrices], 'rate': scale_rate},
                {'params': list(self.gains.values()), 'rate': scale_rate / 3}]

    def stored(self):
        """Codes 0..15, scales and gains by the pack's names, as arrays of f32."""
        arrays = {'norm.weight': self.gains['final_norm'].detach()}
        for i in range(self.layers):
            for ours, theirs in PARTS[self.family].items():
                arrays.update(self.parts(f'{i} {ours}', [f'layers.{i}.{each}.weight' for each in theirs]))
            for ours, theirs in GAINS[self.family].items():
                arrays[f'layers.{i}.{theirs}'] = self.gains[f'{i} {ours}'].detach()
        return {name: np.ascontiguousarray(value.numpy(), dtype=np.float32) for name, value in arrays.items()}

    def parts(self, key, names):
        """The rows of a matrix by the names that share it."""
        own = self.matrices[key]
        sizes = [self.rows[name] for name in names]
        codes, scales = (own.codes() + 8).split(sizes), own.scales().detach().split(sizes)
        return {f'{name}.{what}': value for name, *both in zip(names, codes, scales)
                for what, value in zip(('codes', 'scales'), both)}


def train(student, windows, steps, batch, rates, gamma):
    """Adam at rates (of codes, of scales) that rise over 10 steps and fall linearly to zero. Without gamma the loss is the
    next token's. Yields each step's loss."""
    optimizer = torch.optim.Adam(student.groups(*rates), betas=(0.9, 0.98))
    for step in range(steps):
        for group in optimizer.param_groups:
            group['lr'] = group['rate'] * min(1, (step + 1) / 10) * (1 - step / steps)
        ids = windows[torch.randint(len(windows), (batch,))]
        loss = training_loss(student, student.teacher[0], ids, gamma)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield float(loss.detach())


@torch.no_grad()
def divergence(student, windows):
    """KL(teacher || student) in nats per token: what quantising changed, with less noise than a loss has."""
    return float(torch.stack([cakld(student(ids[None, :-1]), student.teacher[0](ids[None, :-1]), 0.0) for ids in windows]).mean())


def main():
    """Trains and says what was gained on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='the float model that the pack was made of')
    parser.add_argument('--tokenizer', type=Path, help="the folder with a checkpoint's tokenizer.json")
    parser.add_argument('--codes', type=Path, required=True, help='what codes.mjs read')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text')
    parser.add_argument('--loss', choices=['cakld', 'ce'], default='cakld', help='distance from the float model, or of the text')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=4000)
    parser.add_argument('--rate', type=float, default=0.005, help='of codes, in steps of their grid')
    parser.add_argument('--scale-rate', type=float, default=0.003, help='of scales, as a share of their size')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--to', type=Path, required=True)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    vocabulary, family, teacher = open_model(args.model, tokenizer=args.tokenizer)
    teacher.eval().requires_grad_(False)
    windows = windows_of(args.text, vocabulary, args.length, args.windows)
    windows, held = windows[:-16], windows[-16:]
    gamma = confidence(teacher, windows[:32].split(4)) if args.loss == 'cakld' else None
    student = Coded(family, teacher, read_safetensors(args.codes))
    before = student.stored()
    print(f'float {held_loss(teacher, held):.4f}, as quantised {held_loss(student, held):.4f} nats per token, '
          f'{divergence(student, held):.4f} from the float model' + ('' if gamma is None else f'; gamma {gamma:.3f}'), flush=True)
    started, total = time.time(), 0.0
    for step, loss in enumerate(train(student, windows, args.steps, args.batch, (args.rate, args.scale_rate), gamma)):
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
