"""Phase 1: trains the codes, scales and zero points of one block after another, from the float block's outputs.

Chen et al. 2024, EfficientQAT, 3.2 (arXiv 2407.11062). A block reads what the compressed blocks before it produce, and learns
what the float model produces there. It starts from GPTQ's codes on the same inputs; with a pattern, from SparseGPT's mask,
which stays.
"""
import time
from functools import partial

import torch
from torch import nn

from checkpoint import save
from compress.fewer_bits import factor_of
from lowbits.grid import is_on_grid, load, parts_of, put_on_grid, solve, state_of
from lowbits.memory import fast_products
from lowbits.pattern import pattern_of

#: Windows whose inputs make the Hessians.
HESSIAN_WINDOWS = 16


def minutes(seconds):
    """A duration as text."""
    return f'{seconds / 60:.0f} min' if seconds >= 90 else f'{seconds:.0f} s'


class Progress:
    """Prints steps with the time left. first: the steps that were finished before."""

    def __init__(self, steps, name, first=0):
        self.steps, self.name, self.first, self.started = steps, name, first, time.time()

    def say(self, done, text):
        """done: the number of finished steps, including those before."""
        left = (time.time() - self.started) / (done - self.first) * (self.steps - done)
        print(f'{self.name} {done} of {self.steps}: {text}; {minutes(left)} left', flush=True)


def linears(layer):
    """The matrices of a block, by name."""
    return {name: each for name, each in layer.named_modules() if isinstance(each, nn.Linear)}


def output(layer, x, given):
    """The residual stream after a block."""
    found = layer(x, **given)
    return found[0] if isinstance(found, tuple) else found


@torch.no_grad()
def given_to(model, ids):
    """The keyword arguments that the model passes to each block for windows like ids [1, time]: positions and masks."""
    found = []
    hooks = [layer.register_forward_pre_hook(lambda _, __, given: found.append(given), with_kwargs=True)
             for layer in model.model.layers]
    model.model(input_ids=ids, use_cache=False)
    for hook in hooks:
        hook.remove()
    return found


@torch.no_grad()
def through(layer, stream, given, size):
    """Runs windows [count, time, hidden] through a block, in place."""
    with fast_products():
        for at in range(0, len(stream), size):
            stream[at:at + size] = output(layer, stream[at:at + size], given)


@torch.no_grad()
def factors_of(layer, stream, given, size):
    """The factor of the Hessian of each matrix's inputs, by name. Matrices that read the same inputs share one."""
    sums, shared, last = {}, {}, (None, None)

    def watch(name):
        def hook(_, args):
            nonlocal last
            if last[0] is not args[0]:
                last = (args[0], name)
                rows = args[0].reshape(-1, args[0].shape[-1]).float()
                sums[name] = sums.get(name, 0) + rows.t() @ rows
            shared[name] = last[1]
        return hook

    hooks = [each.register_forward_pre_hook(watch(name)) for name, each in linears(layer).items()]
    for at in range(0, min(len(stream), HESSIAN_WINDOWS), size):
        output(layer, stream[at:at + size], given)
    for hook in hooks:
        hook.remove()
    factors = {name: factor_of(total) for name, total in sums.items()}
    return {name: factors[shared[name]] for name in shared}


def distance(ours, theirs):
    """The mean over tokens of the squared error relative to the float stream's squares: norms remove a token's size."""
    theirs = theirs.float()
    # The stream of a padding token may be zero.
    return ((ours.float() - theirs).square().sum(-1) / theirs.square().sum(-1).clamp(min=1e-9)).mean()


def groups_of(layers, rates):
    """The optimiser's parameters of layers on the grid, at rates of codes (in steps), scales (shares) and zero points (steps)."""
    parts = zip(*(parts_of(layer) for layer in layers))
    return [{'params': [p for p in own], 'rate': rate} for own, rate in zip(parts, rates) if rate]


def set_rates(optimizer, step, steps, warm=5):
    """Rates rise over the first steps and fall linearly to zero."""
    for group in optimizer.param_groups:
        group['lr'] = group['rate'] * min(1, (step + 1) / warm) * (1 - step / steps)


def train_block(layer, stream, wanted, given, args, seed):
    """Trains a block on windows. Returns the mean distance of the first and last quarter of the steps."""
    layers = [each for each in layer.modules() if is_on_grid(each)]
    groups = groups_of(layers, (args.code_rate, args.scale_rate, args.zero_rate))
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.95), fused=True)
    order = torch.Generator().manual_seed(seed)
    batches = [at for _ in range(args.epochs) for at in torch.randperm(len(stream), generator=order).split(args.batch)]
    losses = []
    for step, at in enumerate(batches):
        set_rates(optimizer, step, len(batches))
        with fast_products():
            ours = output(layer, stream[at], given)
        loss = distance(ours, wanted[at])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    quarter = max(1, len(losses) // 4)
    return sum(losses[:quarter]) / quarter, sum(losses[-quarter:]) / quarter


def compress_block(layer, stream, given, form, args):
    """Replaces the matrices of a block by GPTQ's codes for a stream, or with args.rounded by the nearest ones. Those of
    args.pattern are pruned as well. form: a function from a matrix's name to its format."""
    factors = {} if args.rounded else factors_of(layer, stream, given, args.batch)
    for name, each in linears(layer).items():
        factor = torch.eye(each.in_features) if args.rounded else factors[name]
        put_on_grid(each, solve(each.weight.data, factor, form(name), pattern_of(args.pattern)), form(name))


def load_block(layer, place, form):
    """Puts the matrices of a block on the grid of a finished run."""
    for name, state in torch.load(place).items():
        load(layer.get_submodule(name), state, form(name))


def finish_block(layer, place, ours, theirs, given, form, args, seed):
    """Compresses, trains and saves a block. Returns what to say about it."""
    compress_block(layer, ours, given, form, args)
    said = 'solved'
    if args.epochs:
        first, last = train_block(layer, ours, theirs, given, args, seed)
        said = f'distance {first:.5f} to {last:.5f}'
    save(place, **{name: state_of(each) for name, each in linears(layer).items()})
    return said


def train_blocks(student, teacher, windows, layout, args):
    """Compresses and trains every block; finished ones are read from args.work, others are written there. layout: a function
    from a block's number and a matrix's name to its format."""
    blocks = student.model.layers
    places = [args.work / f'block-{at:02}.pt' for at in range(len(blocks))]
    if places[-1].exists():
        for at, (layer, place) in enumerate(zip(blocks, places)):
            load_block(layer, place, partial(layout, at))
        return
    given = given_to(teacher, windows[:1])
    ours, theirs = student.model.embed_tokens(windows).detach(), teacher.model.embed_tokens(windows).detach()
    # Finished blocks only run, which takes a fraction of the time.
    progress = Progress(len(blocks), 'block', sum(place.exists() for place in places))
    for at, (layer, original, place) in enumerate(zip(blocks, teacher.model.layers, places)):
        through(original, theirs, given[at], args.batch)
        said, form = None, partial(layout, at)
        if place.exists():
            load_block(layer, place, form)
        else:
            said = finish_block(layer, place, ours, theirs, given[at], form, args, args.seed * 1000 + at)
        through(layer, ours, given[at], args.batch)
        if said:
            progress.say(at + 1, f'{said}, stream {float(distance(ours, theirs)):.5f} from float')
