"""Initialises a Mamba-2 from a trained Llama: queries, keys and values become C, B and x."""
import torch

from mamba2 import Mamba2, Mamba2Config

#: Parameters that layers of the Llama and the Mamba have in common.
SHARED = ['norm1', 'norm2', 'gate_up', 'down']
#: Root mean squares of x, and of B and C, before SiLU, which is nearly linear for small values.
VALUE, KEY = 0.5, 1.0
#: Positions after which a head's state has decayed to 1/e, from the first to the last head of a group.
SHORTEST, LONGEST = 8, 256


def gate_of(inputs, target=1.0, damp=1e-3):
    """The vector whose product is closest to a constant for all inputs [count, hidden], as projections have no bias."""
    square = inputs.T @ inputs / len(inputs)
    square.diagonal().add_(damp * square.diagonal().mean())
    return torch.linalg.solve(square, inputs.mean(0) * target)


def fades_of(config):
    """exp(a_log) of each head at step size 1: evenly spaced in logarithm within a group."""
    per_group = config.heads // config.groups
    share = torch.linspace(0, 1, per_group) if per_group > 1 else torch.ones(1)
    lengths = SHORTEST * (LONGEST / SHORTEST) ** share
    return (1 / lengths).repeat(config.groups)


def start_layer(layer, attention, inputs, config):
    """Fills a Mamba-2 layer from a Llama's; inputs [count, hidden] are the inputs of its attention."""
    c = config
    q, k, v = attention.qkv.detach().chunk(3)
    for name in SHARED:
        getattr(layer, name).data.copy_(getattr(attention, name).detach())

    def scaled(weight, size):
        return weight * (size / (inputs @ weight.T).square().mean().sqrt())

    gate = gate_of(inputs).expand(c.inner, -1)
    noise = torch.randn(c.inner, c.hidden) * 0.1 * inputs.square().mean().rsqrt() * c.hidden ** -0.5
    steps = torch.randn(c.heads, c.hidden) * 0.01
    layer.in_proj.data.copy_(torch.cat([gate + noise, scaled(v, VALUE), scaled(k, KEY), scaled(q, KEY), steps]))
    # The convolution starts as the identity: only the current position counts.
    layer.conv.data.zero_()[:, -1] = 1
    layer.dt_bias.data.fill_(torch.tensor(1.0).expm1().log())
    layer.a_log.data.copy_(fades_of(c).log())
    layer.gate_norm.data.fill_(1)
    layer.out.data.copy_(attention.out.detach() * (inputs @ v.T).square().mean().sqrt())


@torch.no_grad()
def start(llama, ids, **shape):
    """A Mamba-2 of the Llama's size; ids [batch, time] is text to measure the layers' inputs on."""
    c = llama.config
    model = Mamba2(Mamba2Config(vocab=c.vocab, hidden=c.hidden, layers=c.layers, context=c.context, eps=c.eps,
                                intermediate=c.intermediate, **shape))
    model.embed.copy_(llama.embed)
    model.final_norm.copy_(llama.final_norm)
    x = llama.embed[ids]
    for layer, attention in zip(model.layers, llama.layers):
        start_layer(layer, attention, llama.norm(x, attention.norm1).flatten(0, 1), model.config)
        x = llama.block(attention, x)
    return model
