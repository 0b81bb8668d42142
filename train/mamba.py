"""Token ids in, next-token logits out: a small Mamba (Gu and Dao 2023, arXiv 2312.00752)."""
import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from model import LanguageModel, Shape, quantise4, quantise8
from scan import STATES, WIDTH, Conv, Scan


@dataclass
class MambaConfig(Shape):
    """The recurrent layers."""
    layers: int = 7
    inner: int = 384
    rank: int = 32


class Mamba(LanguageModel):
    """The halves of in_proj are held apart here and joined on export. What makes step sizes keeps 8 bits."""

    QUANTISERS = {'embed': quantise8, 'in_x': quantise4, 'in_z': quantise4, 'x_proj': quantise8,
                  'dt_proj': quantise8, 'out_proj': quantise4}

    def initial_layer(self):
        """A = -1..-STATES, D = 1, and biases whose softplus is log-uniform between 0.001 and 0.1, as published."""
        c = self.config
        step = torch.exp(torch.rand(c.inner) * math.log(100) + math.log(0.001))
        return {
            'norm': torch.ones(c.hidden),
            'in_x': torch.randn(c.inner, c.hidden) * c.hidden ** -0.5,
            'in_z': torch.randn(c.inner, c.hidden) * c.hidden ** -0.5,
            'conv': (torch.rand(c.inner, WIDTH) * 2 - 1) * WIDTH ** -0.5,
            'conv_bias': torch.zeros(c.inner),
            'x_proj': torch.randn(c.rank + 2 * STATES, c.inner) * (3 * c.inner) ** -0.5,
            'dt_proj': (torch.rand(c.inner, c.rank) * 2 - 1) * c.rank ** -0.5,
            'dt_bias': step + torch.log(-torch.expm1(-step)),
            'a_log': torch.arange(1., STATES + 1).log().repeat(c.inner, 1),
            'd': torch.ones(c.inner),
            'out_proj': torch.randn(c.hidden, c.inner) * c.inner ** -0.5 * 0.2,
        }

    def matrices(self):
        """The projections; what shapes the recurrence is trained element by element."""
        return [p for layer in self.layers for p in (layer.in_x, layer.in_z, layer.x_proj, layer.out_proj)]

    def block(self, layer, x):
        """Projection, convolution, selective scan, gate, projection."""
        normed = self.norm(x, layer.norm)
        mixed = Conv.apply(F.linear(normed, self.weight(layer, 'in_x')), layer.conv.T.contiguous(), layer.conv_bias)
        rank, between = F.linear(mixed, self.weight(layer, 'x_proj')).split([self.config.rank, 2 * STATES], -1)
        raw = F.linear(rank, self.weight(layer, 'dt_proj'), layer.dt_bias)
        z = F.linear(normed, self.weight(layer, 'in_z'))
        scanned = Scan.apply(mixed, raw, z, between.contiguous(), -layer.a_log.T.exp().contiguous(), layer.d)
        return x + F.linear(scanned, self.weight(layer, 'out_proj'))
