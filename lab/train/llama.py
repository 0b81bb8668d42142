"""A small Llama, from token ids to next-token logits."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from model import LanguageModel, Shape, quantise4, quantise8


@dataclass
class LlamaConfig(Shape):
    """Attention, positions and the MLP."""
    heads: int = 6
    kv_heads: int = 2
    head_dim: int = 32
    intermediate: int = 512
    theta: float = 10000.0


class Llama(LanguageModel):
    """q, k, v and gate, up are fused here, and split on export."""

    QUANTISERS = {'embed': quantise8, 'qkv': quantise4, 'out': quantise4, 'gate_up': quantise4, 'down': quantise4}

    def __init__(self, config):
        super().__init__(config)
        c = config
        speed = c.theta ** (-torch.arange(0, c.head_dim, 2) / c.head_dim)
        angle = torch.outer(torch.arange(c.context), speed)
        self.register_buffer('cos', torch.cat([angle.cos(), angle.cos()], 1)[:, None], persistent=False)
        self.register_buffer('sin', torch.cat([-angle.sin(), angle.sin()], 1)[:, None], persistent=False)

    def initial_layer(self):
        """Matrices that write to the residual stream start with small values."""
        c = self.config
        rows = (c.heads + 2 * c.kv_heads) * c.head_dim
        return {
            'qkv': torch.randn(rows, c.hidden) * c.hidden ** -0.5,
            'out': torch.randn(c.hidden, c.heads * c.head_dim) * c.hidden ** -0.5 * 0.2,
            'gate_up': torch.randn(2 * c.intermediate, c.hidden) * c.hidden ** -0.5,
            'down': torch.randn(c.hidden, c.intermediate) * c.intermediate ** -0.5 * 0.2,
            'norm1': torch.ones(c.hidden),
            'norm2': torch.ones(c.hidden),
        }

    def rotate(self, x):
        """Rotary embedding of [batch, time, heads, head_dim], halves layout as in Hugging Face Llama."""
        time = x.shape[1]
        return x * self.cos[:time] + x.roll(x.shape[-1] // 2, -1) * self.sin[:time]

    def attention(self, layer, x):
        """Causal grouped-query attention."""
        c, (batch, time, _) = self.config, x.shape
        q, k, v = F.linear(x, self.weight(layer, 'qkv')).view(batch, time, -1, c.head_dim).split(
            [c.heads, c.kv_heads, c.kv_heads], 2)
        q, k, v = self.rotate(q).transpose(1, 2), self.rotate(k).transpose(1, 2), v.transpose(1, 2)
        group = c.heads // c.kv_heads
        if group > 1:
            k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return F.linear(mixed.transpose(1, 2).reshape(batch, time, -1), self.weight(layer, 'out'))

    def block(self, layer, x):
        """Attention, then the gated MLP."""
        x = x + self.attention(layer, self.norm(x, layer.norm1))
        gate, up = F.linear(self.norm(x, layer.norm2), self.weight(layer, 'gate_up')).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.weight(layer, 'down'))
