"""Measures how many rows of an MLP's hidden state a token needs, and the loss when the others are skipped.

    python3 -m idle.rows --model MODEL --choose wiki.valid.raw --score wiki.test.raw --windows 20

A row is one of the values that the last matrix of the MLP (down) reads. Its size is its magnitude times the norm of the column
of that matrix, so it is the length of what the row adds to the stream. --choose gives the thresholds, one per layer. In lines of
JSON: the share of rows that carry 90, 99 and 99.9 % of a token's squared sizes; the share of the kept rows that the token before
also kept; and per skipped share the perplexity, and the difference from the original in nats per token with its standard error
over windows. `product` skips rows by size, after the whole hidden state is known; `gate` by the activated gate alone (CATS, Lee
et al. 2024, arXiv 2404.08763), which also saves the rows of the up matrix; `fixed` skips in a window's second half the rows that
were smallest in its first half.
"""
import argparse
import contextlib
import json
from pathlib import Path

import torch

from compress.fewer_bits import losses_of, windows_of
from compress.folder import open_folder

LENGTH = 256
CARRIED = (0.9, 0.99, 0.999)


def mlps(model):
    """The MLP of each layer."""
    return [layer.mlp for layer in model.model.layers]


@contextlib.contextmanager
def replaced(model, change):
    """Inside, change(layer, hidden [1, time, rows]) gives what down reads; None leaves it as it is."""
    def hook(layer):
        def changed(_, given):
            found = change(layer, given[0])
            return None if found is None else (found,)
        return changed

    hooks = [mlp.down_proj.register_forward_pre_hook(hook(layer)) for layer, mlp in enumerate(mlps(model))]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def sizes_of(model):
    """A function from a layer and its hidden state [1, time, rows] to the rows' sizes."""
    norms = [mlp.down_proj.weight.norm(dim=0) for mlp in mlps(model)]
    return lambda layer, hidden: hidden.abs() * norms[layer]


def gates_of(model):
    """A function like that of sizes_of, from the activated gate of the last forward pass."""
    return lambda layer, _: mlps(model)[layer].gate


@contextlib.contextmanager
def watched_gates(model):
    """Inside, each MLP has its last activated gate as `gate`."""
    def keep(mlp):
        def hook(_, given, found):
            mlp.gate = mlp.act_fn(found).abs()
        return hook

    hooks = [mlp.gate_proj.register_forward_hook(keep(mlp)) for mlp in mlps(model)]
    try:
        yield
    finally:
        for each in hooks:
            each.remove()


def needed(sizes, share):
    """The mean share of rows that carry this share of the squares of sizes [time, rows], largest first."""
    squares = sizes.square().sort(1, descending=True).values.cumsum(1)
    return float(((squares < share * squares[:, -1:]).sum(1) + 1).clamp(max=sizes.shape[1]).float().mean() / sizes.shape[1])


def repeated(sizes, skipped):
    """Of the largest rows of a token, the share that is also among the largest of the token before."""
    count = round((1 - skipped) * sizes.shape[1])
    kept = torch.zeros_like(sizes, dtype=torch.bool).scatter_(1, sizes.topk(count, 1).indices, True)
    return float((kept[1:] & kept[:-1]).sum(1).float().mean() / count)


def watch(model, windows, measure):
    """measure(layer, hidden)'s results for every window, by layer."""
    found = [[] for _ in mlps(model)]
    with replaced(model, lambda layer, hidden: found[layer].append(measure(layer, hidden))):
        losses_of(model, windows)
    return found


def thresholds(model, windows, measure, skipped):
    """For each share, the threshold of each layer below which that share of values lies."""
    values = [torch.cat(each, 1).flatten() for each in watch(model, windows, measure)]
    return {share: [float(each.kthvalue(round(share * len(each))).values) for each in values] for share in skipped}


def losses_below(model, windows, measure, limits):
    """The losses when rows below their layer's limit are skipped, and the share that was."""
    count = [0, 0]

    def cut(layer, hidden):
        kept = measure(layer, hidden) >= limits[layer]
        count[0] += int((~kept).sum())
        count[1] += kept.numel()
        return hidden * kept

    with replaced(model, cut):
        return losses_of(model, windows), count[0] / count[1]


def losses_fixed(model, windows, measure, skipped):
    """The losses when a window's second half skips the rows that are smallest in its first half."""
    def cut(layer, hidden):
        half = hidden.shape[1] // 2
        mean = measure(layer, hidden)[0, :half].square().mean(0)
        kept = torch.zeros_like(mean).scatter_(0, mean.topk(round((1 - skipped) * len(mean))).indices, 1)
        return torch.cat([hidden[:, :half], hidden[:, half:] * kept], 1)

    with replaced(model, cut):
        return losses_of(model, windows), skipped


def compared(name, skipped, losses, base):
    """A row of results. losses, base: nats of each window."""
    tokens = LENGTH - LENGTH // 2 - 1
    losses, base = (torch.tensor(each, dtype=torch.float64) / tokens for each in (losses, base))
    difference = losses - base
    return {'name': name, 'skipped': skipped, 'perplexity': float(losses.mean().exp()), 'difference': float(difference.mean()),
            'error': float(difference.std() / len(difference) ** 0.5)}


def summary(model, windows, skipped):
    """The shares of rows that carry a token's squares, and those that repeat: means over layers and tokens."""
    sizes = [torch.cat([each[0] for each in layer]) for layer in watch(model, windows, sizes_of(model))]
    mean = lambda measure: sum(measure(each) for each in sizes) / len(sizes)
    return {'needed': {share: mean(lambda each: needed(each, share)) for share in CARRIED},
            'repeated': {share: mean(lambda each: repeated(each, share)) for share in skipped}}


def main(given=None):
    """Prints the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a folder of transformers, or a GGUF file that it reads')
    parser.add_argument('--choose', type=Path, required=True, help='a text for the thresholds')
    parser.add_argument('--score', type=Path, required=True, help='a text for the losses')
    parser.add_argument('--windows', type=int, default=20, help='windows of 256 tokens to score')
    parser.add_argument('--chosen', type=int, default=2, help='windows of 256 tokens for the thresholds')
    parser.add_argument('--skipped', type=float, nargs='+', default=[0.3, 0.5, 0.7])
    parser.add_argument('--threads', type=int, default=1)
    args = parser.parse_args(given)
    torch.set_num_threads(args.threads)
    tokenizer, model = open_folder(args.model)
    model.eval().requires_grad_(False)
    chosen, scored = (windows_of(path.read_text(encoding='utf-8'), tokenizer, count, LENGTH)
                      for path, count in ((args.choose, args.chosen), (args.score, args.windows)))
    say = lambda line: print(json.dumps(line), flush=True)
    say(summary(model, chosen, args.skipped))
    base = losses_of(model, scored)
    say(compared('original', 0, base, base))
    with watched_gates(model):
        for name, measure in (('product', sizes_of(model)), ('gate', gates_of(model))):
            for share, limits in thresholds(model, chosen, measure, args.skipped).items():
                losses, skipped = losses_below(model, scored, measure, limits)
                say(compared(f'{name} {share}', skipped, losses, base))
    for share in args.skipped:
        losses, skipped = losses_fixed(model, scored, sizes_of(model), share)
        say(compared(f'fixed {share}', skipped, losses, base))


if __name__ == '__main__':
    main()
