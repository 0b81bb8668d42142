"""Chooses a format for each matrix, so that a model of a given size is expected to lose least.

    python3 -m lowbits.sensitivity --model MODEL.gguf --text TEXT.jsonl --formats w2z_g32s6,w3z_g64s6,w3z_g32s6,w4z_g32s6 \\
        --table w4z_g64s6 --megabytes 59.5 --to layout.json

The expected loss of a matrix is half the sum of its squared rounding errors, each times the mean square of the loss's gradient
(the diagonal of the Fisher information, over tokens drawn from the model itself). Each matrix starts in the smallest format;
then the change that saves most per bit is made until the size is reached.
"""
import argparse
import json
from pathlib import Path

import torch
import torch.nn.functional as F

from compress.folder import open_folder
from compress.text import windows_of
from lowbits.blocks import linears
from lowbits.grid import codes_of, fit, format_of
from lowbits.memory import fast_products, reuse_memory


def matrices_of(model):
    """Matrices of blocks by number and name, as in a layout, and the table."""
    found = {f'{at}.{name}': each for at, layer in enumerate(model.model.layers) for name, each in linears(layer).items()}
    return {**found, 'table': model.model.embed_tokens}


def fisher(model, windows):
    """The diagonal of the Fisher information per token of each matrix, by name."""
    matrices = matrices_of(model)
    model.requires_grad_(False)
    for each in matrices.values():
        each.weight.requires_grad_(True)
    total = {name: torch.zeros_like(each.weight) for name, each in matrices.items()}
    for ids in windows:
        with fast_products():
            logits = model(input_ids=ids[None], use_cache=False).logits[0].float()
        drawn = torch.multinomial(logits.detach().softmax(-1), 1)[:, 0]
        F.cross_entropy(logits, drawn, reduction='sum').backward()
        for name, each in matrices.items():
            total[name] += each.weight.grad.square() / windows.numel()
            each.weight.grad = None
    return total


@torch.no_grad()
def rounded(matrix, form):
    """The values of a matrix's nearest codes."""
    groups = matrix.reshape(-1, form.group).t()
    scale, zero = fit(groups, torch.ones(form.group, 1), form)
    scale = form.stored(scale.reshape(len(matrix), -1)).flatten()
    return ((codes_of(groups, scale, zero, form).round().clamp(0, form.top) - zero) * scale).t().reshape(matrix.shape)


def bits_of(matrix, form):
    """Bits of a matrix."""
    return matrix.numel() * form.bits_per_weight + (16 * len(matrix) if form.scale_bits else 0)


@torch.no_grad()
def costs_of(matrix, weights, formats):
    """The bits and the expected loss of each format whose groups divide the rows, by name."""
    found = {}
    for name in formats:
        form = format_of(name)
        if matrix.shape[1] % form.group == 0:
            loss = (weights * (rounded(matrix, form) - matrix).square()).sum() / 2
            found[name] = (bits_of(matrix, form), float(loss))
    return found


def allocate(costs, most):
    """Formats by matrix with at most so many bits. costs: bits and loss by format, by matrix."""
    chosen = {name: min(own, key=lambda form: own[form][0]) for name, own in costs.items()}
    left = most - sum(costs[name][form][0] for name, form in chosen.items())
    if left < 0:
        raise ValueError(f'the smallest formats take {-left / 8e6:.1f} MB too many; give more --megabytes or smaller --formats')
    while True:
        best = None
        for name, form in chosen.items():
            bits, loss = costs[name][form]
            for other, (more, less) in costs[name].items():
                if bits < more <= bits + left and less < loss and (best is None or (loss - less) / (more - bits) > best[0]):
                    best = ((loss - less) / (more - bits), name, other)
        if best is None:
            return chosen
        left -= costs[best[1]][best[2]][0] - costs[best[1]][chosen[best[1]]][0]
        chosen[best[1]] = best[2]


def summary(costs, chosen, formats):
    """Expected losses by kind of matrix, as Markdown."""
    kinds = sorted({name.split('.', 1)[-1] for name in costs})
    for kind in kinds:
        names = [name for name in costs if name.split('.', 1)[-1] == kind]
        cells = [f'{sum(costs[name][form][1] for name in names):.4f} ({sum(chosen[name] == form for name in names)})'
                 if all(form in costs[name] for name in names) else '' for form in formats]
        print('| ' + ' | '.join([kind, *cells]) + ' |')


def arguments(given=None):
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True)
    parser.add_argument('--text', type=Path, required=True)
    parser.add_argument('--formats', default='w2z_g32s6,w3z_g64s6,w3z_g32s6,w4z_g64s6,w4z_g32s6')
    parser.add_argument('--table', default='w4z_g64s6', help='the format of the embedding')
    parser.add_argument('--megabytes', type=float, required=True, help='of matrices and the table, without vectors and tokenizer')
    parser.add_argument('--windows', type=int, default=8, help='windows of 512 tokens')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--to', type=Path, required=True, help='the layout as JSON')
    return parser.parse_args(given)


def main(given=None):
    """Writes the layout."""
    args = arguments(given)
    reuse_memory()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    tokenizer, model = open_folder(args.model)
    weights = fisher(model.eval(), windows_of(args.text, tokenizer, 511, max(args.windows, 17))[:args.windows])
    formats = args.formats.split(',')
    costs = {name: costs_of(each.weight.detach(), weights[name], [args.table] if name == 'table' else formats)
             for name, each in matrices_of(model).items()}
    chosen = allocate(costs, args.megabytes * 8e6)
    summary(costs, chosen, formats)
    print(f'table {args.table}: {costs["table"][args.table][1]:.4f}; '
          f'all: {sum(costs[name][form][1] for name, form in chosen.items()):.4f} nats per token expected')
    args.to.write_text(json.dumps({'*': formats[0], **{name: form for name, form in chosen.items() if name != 'table'}}, indent=1))


if __name__ == '__main__':
    main()
