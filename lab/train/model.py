"""The base of all families: shape, tied embedding, residual layers, loss, and the fake quantisers of QAT."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


def quantise4(weight):
    """The weight as w4_g32 stores it: per 32 inputs an f16 scale (best of 5 clips), codes 0..15, zero at 8."""
    groups = weight.detach().reshape(-1, 32)
    peak = groups.gather(1, groups.abs().argmax(1, keepdim=True))
    best, error = None, None
    for clip in (1.0, 0.94, 0.88, 0.82, 0.76):
        scale = (peak * clip / -8).half().float()
        inverse = torch.where(scale == 0, scale, 1 / scale)
        value = (groups * inverse).round_().clamp_(-8, 7).mul_(scale)
        loss = (value - groups).square_().sum(1, keepdim=True)
        if best is None:
            best, error = value, loss
        else:
            better = loss < error
            best, error = torch.where(better, value, best), torch.minimum(loss, error)
    return best.reshape(weight.shape)


def quantise8(weight):
    """The weight as 8-bit groups of 32 with an f16 scale, codes -127..127."""
    groups = weight.detach().reshape(-1, 32)
    scale = (groups.abs().amax(1, keepdim=True) / 127).half().float()
    inverse = torch.where(scale == 0, scale, 1 / scale)
    return ((groups * inverse).round().clamp(-127, 127) * scale).reshape(weight.shape)


@dataclass
class Shape:
    """The shape of any family. The length of every matrix row is a multiple of 32, so that groups of 32 fit."""
    vocab: int = 2048
    hidden: int = 192
    layers: int = 5
    context: int = 512
    eps: float = 1e-5


class LanguageModel(nn.Module):
    """Pre-norm layers on a residual stream, between a tied embedding and its own transpose."""

    #: How the pack stores each matrix, by the parameter's name; the others stay f32.
    QUANTISERS = {'embed': quantise8}

    def __init__(self, config):
        super().__init__()
        c = self.config = config
        self.qat = False
        #: The rounding error of each matrix, by its id, shared by threads that read the same weights.
        self.deltas = {}
        self.embed = nn.Parameter(torch.randn(c.vocab, c.hidden) * 0.05)
        self.final_norm = nn.Parameter(torch.ones(c.hidden))
        self.layers = nn.ModuleList()
        for _ in range(c.layers):
            layer = nn.Module()
            for name, value in self.initial_layer().items():
                setattr(layer, name, nn.Parameter(value))
            self.layers.append(layer)

    def initial_layer(self):
        """The parameters of a new layer, by name."""
        raise NotImplementedError

    def block(self, layer, x):
        """The residual stream after a layer."""
        raise NotImplementedError

    def matrices(self):
        """The matrices inside the layers."""
        return [p for p in self.layers.parameters() if p.ndim == 2]

    def weight(self, holder, name):
        """A matrix or, in QAT, its quantised value with a straight-through gradient."""
        parameter = getattr(holder, name)
        if not self.qat or name not in self.QUANTISERS:
            return parameter
        delta = self.deltas.get(id(parameter))
        return parameter + (self.delta(parameter, name) if delta is None else delta)

    def delta(self, parameter, name):
        """The rounding error of a matrix."""
        return self.QUANTISERS[name](parameter) - parameter.detach()

    def rounded(self):
        """The matrices that QAT rounds, each with its name."""
        holders = [self, *self.layers] if self.qat else []
        return [(p, name) for holder in holders for name, p in holder.named_parameters(recurse=False) if name in self.QUANTISERS]

    def norm(self, x, gain):
        """RMSNorm."""
        return x * (x.square().mean(-1, keepdim=True) + self.config.eps).rsqrt() * gain

    def forward(self, ids, chosen=None):
        """Logits [batch, time, vocab] of ids [batch, time]; with the mask chosen, [count, vocab] for its positions."""
        return self.logits(F.embedding(ids, self.weight(self, 'embed')), chosen)

    def logits(self, x, chosen=None):
        """The same for rows [batch, time, hidden] instead of ids."""
        for layer in self.layers:
            x = self.block(layer, x)
        x = self.norm(x, self.final_norm)
        return F.linear(x if chosen is None else x[chosen], self.weight(self, 'embed'))

    def loss(self, ids):
        """Mean cross-entropy in nats of each next token of ids [batch, time + 1]."""
        logits = self(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
