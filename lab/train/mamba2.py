"""Mamba-2 mixers (Dao and Gu 2024, arXiv 2405.21060) with gated MLPs, as in Granite 4, from token ids to next-token logits."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from model import LanguageModel, Shape, quantise4
from ssd import ssd

#: Width of the convolution.
WIDTH = 4


@dataclass
class Mamba2Config(Shape):
    """The mixers and the MLP. Heads of a group share B and C, and the norm after the gate."""
    inner: int = 288
    heads: int = 6
    groups: int = 3
    states: int = 96
    intermediate: int = 768


class Mamba2(LanguageModel):
    """The rows of in_proj are those of the gate, x, B, C and the step sizes. The embedding has 4 bits too."""

    QUANTISERS = dict.fromkeys(['embed', 'in_proj', 'out', 'gate_up', 'down'], quantise4)

    def initial_layer(self):
        """Zeros and ones of the right shapes: the weights come from a Llama."""
        c = self.config
        channels = c.inner + 2 * c.groups * c.states
        return {
            'norm1': torch.ones(c.hidden),
            'in_proj': torch.zeros(c.inner + channels + c.heads, c.hidden),
            'conv': torch.zeros(channels, WIDTH),
            'conv_bias': torch.zeros(channels),
            'dt_bias': torch.zeros(c.heads),
            'a_log': torch.zeros(c.heads),
            'd': torch.zeros(c.heads),
            'gate_norm': torch.ones(c.inner),
            'out': torch.zeros(c.hidden, c.inner),
            'norm2': torch.ones(c.hidden),
            'gate_up': torch.zeros(2 * c.intermediate, c.hidden),
            'down': torch.zeros(c.hidden, c.intermediate),
        }

    def mixer(self, layer, u):
        """The mixer's output for its normalised input u [batch, time, hidden]."""
        c, (batch, time, _) = self.config, u.shape
        sizes = [c.inner, layer.conv.shape[0], c.heads]
        z, mixed, dt = F.linear(u, self.weight(layer, 'in_proj')).split(sizes, -1)
        padded = F.pad(mixed.transpose(1, 2), (WIDTH - 1, 0))
        mixed = F.silu(F.conv1d(padded, layer.conv[:, None], layer.conv_bias, groups=len(layer.conv))).transpose(1, 2)
        x, b, leave = mixed.split([c.inner, c.groups * c.states, c.groups * c.states], -1)
        x = x.reshape(batch, time, c.heads, -1)
        dt = F.softplus(dt + layer.dt_bias)
        b, leave = (each.reshape(batch, time, c.groups, c.states) for each in (b, leave))
        y = ssd(x, dt, -layer.a_log.exp(), b, leave) + x * layer.d[:, None]
        y = (y.reshape(z.shape) * F.silu(z)).view(batch, time, c.groups, -1)
        y = y * (y.square().mean(-1, keepdim=True) + c.eps).rsqrt()
        return F.linear(y.reshape(z.shape) * layer.gate_norm, self.weight(layer, 'out'))

    def block(self, layer, x):
        """The mixer, then the gated MLP."""
        x = x + self.mixer(layer, self.norm(x, layer.norm1))
        gate, up = F.linear(self.norm(x, layer.norm2), self.weight(layer, 'gate_up')).chunk(2, -1)
        return x + F.linear(F.silu(gate) * up, self.weight(layer, 'down'))
