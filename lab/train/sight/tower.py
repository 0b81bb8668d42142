"""A vision tower of SigLIP's architecture with LLaVA's projector, from images to rows of the language model."""
import torch
import torch.nn.functional as F
from torch import nn

from sight.scenes import CELL, CELLS

#: Width of the tower, its heads, its layers, and the inner width of a feed-forward block.
HIDDEN, HEADS, LAYERS, INNER = 128, 4, 3, 384
EPSILON = 1e-6


class Block(nn.Module):
    """Attention from each patch to all, then a feed-forward block, with a norm before each."""

    def __init__(self):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(HIDDEN, EPSILON), nn.LayerNorm(HIDDEN, EPSILON)
        self.attn_q, self.attn_k, self.attn_v, self.attn_out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))
        self.ffn_up, self.ffn_down = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)

    def forward(self, x):
        """Rows [batch, rows, HIDDEN] after the block."""
        batch, rows, _ = x.shape
        normed = self.ln1(x)
        q, k, v = (part(normed).view(batch, rows, HEADS, -1).transpose(1, 2)
                   for part in (self.attn_q, self.attn_k, self.attn_v))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, rows, HIDDEN)
        x = x + self.attn_out(mixed)
        return x + self.ffn_down(F.gelu(self.ffn_up(self.ln2(x)), approximate='tanh'))


class Tower(nn.Module):
    """The parts are named as in llama.cpp's mmproj files."""

    def __init__(self, width):
        super().__init__()
        self.patch_embd = nn.Linear(3 * CELL * CELL, HIDDEN)
        self.position_embd = nn.Parameter(torch.randn(CELLS, HIDDEN) * 0.02)
        self.blk = nn.ModuleList(Block() for _ in range(LAYERS))
        self.post_ln = nn.LayerNorm(HIDDEN, EPSILON)
        self.inner, self.project = nn.Linear(HIDDEN, width), nn.Linear(width, width)

    def states(self, pictures):
        """The projector's input for images [batch, height, width, 3] in bytes: [batch, CELLS, HIDDEN]."""
        x = self.patch_embd(patches(pictures)) + self.position_embd
        for block in self.blk:
            x = block(x)
        return self.post_ln(x)

    def projected(self, states):
        """Rows [batch, CELLS, width] of the language model."""
        return self.project(F.gelu(self.inner(states), approximate='tanh'))

    def forward(self, pictures):
        """Rows [batch, CELLS, width] of pictures [batch, height, width, 3] in bytes."""
        return self.projected(self.states(pictures))


def patches(pictures):
    """Patches [batch, patch][channel, y, x], with values from -1 to 1."""
    x = pictures.float() / 127.5 - 1
    batch, height, width, _ = x.shape
    x = x.view(batch, height // CELL, CELL, width // CELL, CELL, 3).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(batch, -1, 3 * CELL * CELL)
