"""Token ids in, next-token logits out: a small Llama with tied embeddings, fake-quantised for QAT."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    """Shape of the model; every matrix row is a multiple of 32 so that groups of 32 fit."""
    vocab: int = 2048
    hidden: int = 192
    layers: int = 5
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 32
    intermediate: int = 512
    context: int = 512
    theta: float = 10000.0
    eps: float = 1e-5


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


class Model(nn.Module):
    """Pre-norm decoder; q, k, v and gate, up are held fused here and split apart on export."""

    def __init__(self, config):
        super().__init__()
        c = self.config = config
        self.qat = False
        self.embed = nn.Parameter(torch.randn(c.vocab, c.hidden) * 0.05)
        self.final_norm = nn.Parameter(torch.ones(c.hidden))
        self.layers = nn.ModuleList()
        rows = (c.heads + 2 * c.kv_heads) * c.head_dim
        for _ in range(c.layers):
            layer = nn.Module()
            layer.qkv = nn.Parameter(torch.randn(rows, c.hidden) * c.hidden ** -0.5)
            layer.out = nn.Parameter(torch.randn(c.hidden, c.heads * c.head_dim) * c.hidden ** -0.5 * 0.2)
            layer.gate_up = nn.Parameter(torch.randn(2 * c.intermediate, c.hidden) * c.hidden ** -0.5)
            layer.down = nn.Parameter(torch.randn(c.hidden, c.intermediate) * c.intermediate ** -0.5 * 0.2)
            layer.norm1 = nn.Parameter(torch.ones(c.hidden))
            layer.norm2 = nn.Parameter(torch.ones(c.hidden))
            self.layers.append(layer)
        speed = c.theta ** (-torch.arange(0, c.head_dim, 2) / c.head_dim)
        angle = torch.outer(torch.arange(c.context), speed)
        self.register_buffer('cos', torch.cat([angle.cos(), angle.cos()], 1)[:, None], persistent=False)
        self.register_buffer('sin', torch.cat([-angle.sin(), angle.sin()], 1)[:, None], persistent=False)
        self.register_buffer('mask', torch.full((c.context, c.context), -1e9).triu(1), persistent=False)

    def weight(self, parameter, quantise=quantise4):
        """The parameter, or in QAT its quantised value with a straight-through gradient."""
        if not self.qat:
            return parameter
        return parameter + (quantise(parameter) - parameter.detach())

    def norm(self, x, gain):
        """RMSNorm."""
        return x * (x.square().mean(-1, keepdim=True) + self.config.eps).rsqrt() * gain

    def rotate(self, x):
        """Rotary embedding of [batch, time, heads, head_dim], halves layout as in Hugging Face Llama."""
        time = x.shape[1]
        return x * self.cos[:time] + x.roll(x.shape[-1] // 2, -1) * self.sin[:time]

    def attention(self, layer, x):
        """Causal grouped-query attention."""
        c, (batch, time, _) = self.config, x.shape
        q, k, v = F.linear(x, self.weight(layer.qkv)).view(batch, time, -1, c.head_dim).split(
            [c.heads, c.kv_heads, c.kv_heads], 2)
        group = c.heads // c.kv_heads
        q = self.rotate(q) * c.head_dim ** -0.5
        q = q.view(batch, time, c.kv_heads, group, c.head_dim).permute(0, 2, 3, 1, 4).reshape(
            batch * c.kv_heads, group * time, c.head_dim)
        k = self.rotate(k).permute(0, 2, 3, 1).reshape(batch * c.kv_heads, c.head_dim, time)
        v = v.transpose(1, 2).reshape(batch * c.kv_heads, time, c.head_dim)
        scores = torch.bmm(q, k).view(-1, group, time, time) + self.mask[:time, :time]
        mixed = torch.bmm(scores.softmax(-1).view(-1, group * time, time), v)
        mixed = mixed.view(batch, c.kv_heads, group, time, c.head_dim).permute(0, 3, 1, 2, 4)
        return F.linear(mixed.reshape(batch, time, -1), self.weight(layer.out))

    def forward(self, ids):
        """Logits [batch, time, vocab] of ids [batch, time]."""
        table = self.weight(self.embed, quantise8)
        x = F.embedding(ids, table)
        for layer in self.layers:
            x = x + self.attention(layer, self.norm(x, layer.norm1))
            gate, up = F.linear(self.norm(x, layer.norm2), self.weight(layer.gate_up)).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, self.weight(layer.down))
        return F.linear(self.norm(x, self.final_norm), table)

    def loss(self, ids):
        """Mean cross-entropy in nats of each next token of ids [batch, time + 1]."""
        logits = self(ids[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
