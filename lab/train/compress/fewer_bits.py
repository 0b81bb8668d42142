"""Measures how much of a transformers model GPTQ with 4, 3 and 2 bits preserves, and how many bytes that takes.

    python3 -m compress.fewer_bits --model MODEL.gguf --calibration TEXT.jsonl --text TEXT.raw --work out/fewer \
        --formats w4_g32,w3_g32,w2m_g64,w4_g32_drop30 --drop-layers 14,17
    python3 -m compress.fewer_bits --model MODEL.gguf --work out/fewer --formats w4_g32,w3_g32,w4_row --survey 10,20
    python3 -m compress.fewer_bits --table out/fewer/runs.jsonl --beside w3_g32

A format is w2, w3 or w4, then m (a minimum in addition to the scale) or n (the levels of a normal distribution), then the
group, or _row (one scale per output). _drop30 keeps 70 % of the weights and stores a mask of one bit per weight. --drop-layers
first removes these layers; the runs are then named after them. Nothing is packed: matrices get the values of their codes.

Every format uses the Hessians of the float model, so a run takes one solution and one pass over the text. With --survey, a
format is only solved in the named layers, with the Hessians of an earlier run, and its loss is printed: this takes a minute
instead of ten. Only matrices are quantised; tables and norms are unchanged.
"""
import argparse
import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import torch

from compress.folder import matrices_of, open_folder
from compress.grids import stored

#: Levels of 4 and 8 codes with the least squared error for a normal distribution (Max 1960, table I).
NORMAL = {2: (-1.510, -0.4528, 0.4528, 1.510), 3: (-2.152, -1.344, -0.7560, -0.2451, 0.2451, 0.7560, 1.344, 2.152)}
#: Shares of the peak that the outermost code may represent, by bits; the last entry is for a whole row.
CLIPS = {4: (1.0, 0.94, 0.88, 0.82, 0.76), 3: (1.0, 0.92, 0.84, 0.76, 0.68, 0.6), 2: (1.0, 0.88, 0.76, 0.64, 0.52, 0.42, 0.34)}
ROW_CLIPS = (1.0, 0.85, 0.7, 0.6, 0.5, 0.42, 0.35, 0.28)
#: Shares of the range by which its two ends move inwards.
CUTS = ((0, 0), (0.05, 0.05), (0.1, 0.1), (0.15, 0.15), (0.1, 0), (0, 0.1))
#: Number of columns whose dropped weights are chosen together, and that are solved together if there is one scale per row.
MASK_COLUMNS = 128
ROW_BLOCK = 64
#: Share of the mean of H's diagonal that is added to it, as in `halfbyte quantize`.
DAMP = 0.01


@dataclass(frozen=True)
class Format:
    """A storage format of weights. group: 0 for a whole row. kind: '', 'm' or 'n'."""

    bits: int
    kind: str
    group: int
    dropped: float

    @property
    def levels(self):
        """The values of the codes, in units of the scale."""
        if self.kind == 'n':
            return torch.tensor(NORMAL[self.bits])
        first = 0 if self.kind == 'm' else -(2 ** (self.bits - 1))
        return torch.arange(first, first + 2 ** self.bits).float()

    def bits_of(self, inputs):
        """Bits per weight of a row, with its scales in f16 and its mask."""
        scales = math.ceil(inputs / (self.group or inputs)) * (32 if self.kind == 'm' else 16)
        return self.bits * (1 - self.dropped) + (1 if self.dropped else 0) + scales / inputs


def format_of(name):
    """Parses the name of a format. Raises ValueError for any other name."""
    found = re.fullmatch(r'w([234])([mn]?)_(?:g(\d+)|row)(?:_drop(\d+))?', name)
    if found is None or (found[2] == 'n' and found[1] == '4'):
        raise ValueError(f'{name} is not a format; use one like w3_g32, w2m_g64, w3n_g32, w4_row or w4_g32_drop30')
    return Format(int(found[1]), found[2], int(found[3] or 0), int(found[4] or 0) / 100)


def nearest(x, levels, is_uniform):
    """The levels nearest to x."""
    if is_uniform:
        return x.round().clamp_(float(levels[0]), float(levels[-1]))
    return levels[torch.bucketize(x, (levels[1:] + levels[:-1]) / 2)]


def inverse(scale):
    """1 / scale, or 0 where the scale is 0."""
    return torch.where(scale != 0, 1 / scale, torch.zeros_like(scale))


def starts_of(group, kept, form):
    """The initial bases and scales [rows, 1], one pair per clip."""
    levels = form.levels
    if form.kind == 'm':
        low, high = group.amin(1, keepdim=True), group.amax(1, keepdim=True)
        return [(low + below * (high - low), (1 - below - above) * (high - low) / levels[-1]) for below, above in CUTS]
    peak = group.gather(1, (group * kept).abs().argmax(1, keepdim=True))
    clips = CLIPS[form.bits] if form.group else ROW_CLIPS
    return [(torch.zeros_like(peak), peak * clip / levels[0]) for clip in clips]


def grid_of(group, kept, form):
    """The scale and base [rows, 1] of groups [rows, size]: the best pair for the codes of each clip, then the best clip."""
    best, least = None, None
    for base, scale in starts_of(group, kept, form):
        code = nearest((group - base) * inverse(scale), form.levels, form.kind != 'n')
        count = kept.sum(1, keepdim=True).clamp(min=1)
        middle = [(each * kept).sum(1, keepdim=True) / count if form.kind == 'm' else torch.zeros_like(base)
                  for each in (code, group)]
        own = (code - middle[0]) * kept
        spread = own.square().sum(1, keepdim=True)
        slope = torch.where(spread > 0, (own * (group - middle[1])).sum(1, keepdim=True) / spread, scale)
        found = torch.stack([stored(slope), stored(middle[1] - slope * middle[0])])
        error = ((code * found[0] + found[1] - group) * kept).square().sum(1, keepdim=True)
        best = found if best is None else torch.where(error < least, found, best)
        least = error if least is None else torch.minimum(error, least)
    return best


def solve_group(group, kept, corner, grid, form):
    """The values of a group [rows, size] and its errors. corner: the rows and columns of the factor that belong to it."""
    (scale, base), levels, is_uniform = (each.flatten() for each in grid), form.levels, form.kind != 'n'
    per_scale, has_base, all_kept = inverse(scale), form.kind == 'm', form.dropped == 0
    left, keep = group.t().contiguous(), kept.t().contiguous()
    values, errors = torch.empty_like(left), torch.empty_like(left)
    for j, column in enumerate(left):
        x = (column - base if has_base else column) * per_scale
        value = nearest(x, levels, is_uniform) * scale
        if has_base:
            value += base
        values[j] = value if all_kept else value * keep[j]
        torch.sub(column, values[j], out=errors[j]).div_(corner[j, j])
        left[j + 1:].addr_(corner[j, j + 1:], errors[j], alpha=-1)
    return values.t(), errors.t()


def kept_of(weights, factor, dropped):
    """1 for kept weights: those whose removal costs most after the others have compensated for it (SparseGPT)."""
    if dropped == 0:
        return torch.ones_like(weights)
    cost = weights.square() / factor.diagonal().square()
    return (cost > cost.flatten().kthvalue(max(1, round(dropped * cost.numel()))).values).to(weights.dtype)


def solve(matrix, factor, form):
    """GPTQ: the values of the codes of a matrix [outputs, inputs], input by input, and the loss.

    factor: the upper Cholesky factor of the inverse of the inputs' Hessian.
    """
    left, inputs = matrix.clone(), matrix.shape[1]
    values, loss = torch.empty_like(left), 0.0
    size = form.group or ROW_BLOCK
    fixed = None if form.group else grid_of(left, torch.ones_like(left), form)
    for start in range(0, inputs, size):
        end = min(start + size, inputs)
        if start % MASK_COLUMNS == 0:
            ahead = slice(start, min(start + max(MASK_COLUMNS, size), inputs))
            kept = kept_of(left[:, ahead], factor[ahead, ahead], form.dropped)
        own = kept[:, start - ahead.start:end - ahead.start]
        group = left[:, start:end]
        grid = grid_of(group, own, form) if fixed is None else fixed
        values[:, start:end], errors = solve_group(group, own, factor[start:end, start:end], grid, form)
        left[:, end:] -= errors @ factor[start:end, end:]
        loss += float(errors.square().sum())
    return values, loss


def factor_of(hessian):
    """The upper Cholesky factor of the inverse, in f32."""
    whole = hessian.double()
    diagonal = whole.diagonal()
    mean = diagonal[diagonal > 0].mean()
    diagonal += torch.where(diagonal > 0, DAMP * mean, mean)
    inverse = torch.cholesky_inverse(torch.linalg.cholesky(whole))
    return torch.linalg.cholesky(inverse, upper=True).float()


@torch.no_grad()
def factors_of(model, windows):
    """The factor of the inputs of every matrix, by name. Matrices that read the same inputs share one."""
    sums, shared, last = {}, {}, (None, None)

    def watch(name):
        def hook(_, given):
            nonlocal last
            if last[0] is not given[0]:
                last = (given[0], name)
                rows = given[0].reshape(-1, given[0].shape[-1])
                sums[name] = sums.get(name, 0) + rows.t() @ rows
            shared[name] = last[1]
        return hook

    hooks = [layer.register_forward_pre_hook(watch(name)) for name, layer in matrices_of(model).items()]
    for at, ids in enumerate(windows):
        model.model(input_ids=ids[None], use_cache=False)
        print(f'inputs: window {at + 1} of {len(windows)}', flush=True)
    for hook in hooks:
        hook.remove()
    factors = {name: factor_of(sums.pop(name)) for name in list(sums)}
    return {name: factors[shared[name]] for name in shared}


@torch.no_grad()
def losses_of(model, windows):
    """The summed loss of each window's second half, in nats, as `halfbyte perplexity` scores it."""
    found = []
    for ids in windows:
        first = len(ids) // 2
        state = model.model(input_ids=ids[None], use_cache=False).last_hidden_state[0, first:-1]
        found.append(float(torch.nn.functional.cross_entropy(model.lm_head(state), ids[first + 1:], reduction='sum')))
    return found


def windows_of(text, tokenizer, count, length):
    """Ids [count, length] of a text. Each window begins with BOS if the tokenizer puts one before a text."""
    ids = tokenizer(text)['input_ids']
    count = min(count, len(ids) // length)
    if count < 1:
        raise ValueError(f'the text has {len(ids)} tokens and one window takes {length}; give more text or a shorter window')
    windows = torch.tensor(ids[:count * length]).reshape(count, length)
    if ids[0] == tokenizer.bos_token_id:
        windows[:, 0] = ids[0]
    return windows


def calibration_of(path, tokenizer, count, length):
    """Windows of JSON lines with a text, one after another."""
    texts, letters = [], 0
    with open(path, encoding='utf-8') as lines:
        for line in lines:
            texts.append(json.loads(line)['text'])
            letters += len(texts[-1])
            # A token rarely has more than eight letters.
            if letters > 8 * count * length:
                break
    return windows_of('\n\n'.join(texts), tokenizer, count, length)


def drop_layers(model, dropped):
    """Removes layers. Raises ValueError for one that the model lacks."""
    layers = model.model.layers
    wrong = [at for at in dropped if not 0 <= at < len(layers)]
    if wrong:
        raise ValueError(f'the model has layers 0 to {len(layers) - 1}, and {wrong[0]} is not one of them')
    model.model.layers = torch.nn.ModuleList(layer for at, layer in enumerate(layers) if at not in dropped)
    model.config.num_hidden_layers = len(model.model.layers)


class Runs:
    """The lines of a file, one per format; formats in the file are not run again."""

    def __init__(self, path):
        self.path = path
        self.lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def has(self, name):
        """Whether the format was run."""
        return any(line['name'] == name for line in self.lines)

    def add(self, **line):
        """Writes a line."""
        self.lines.append(line)
        with open(self.path, 'a', encoding='utf-8') as file:
            file.write(json.dumps(line) + '\n')


def difference(losses, others, tokens):
    """The mean of paired differences in nats per token, and its standard error over windows."""
    each = (torch.tensor(losses) - torch.tensor(others)) / tokens
    return float(each.mean()), float(each.std() / math.sqrt(len(each)))


def table(lines, beside=None):
    """Rows by bits, as Markdown: losses relative to the original, and to a format if one is given."""
    by_name = {line['name']: line for line in lines}
    original = by_name['original']
    rows = []
    for line in sorted(lines, key=lambda one: -one.get('bits', 99)):
        tokens, losses = line['tokens'], line['losses']
        cells = [f'`{line["name"]}`', *([f'{line["bits"]:.2f}', f'{line["bytes"] / 1e6:.1f}'] if 'bits' in line else ['', ''])]
        cells.append(f'{math.exp(sum(losses) / (tokens * len(losses))):.3f}')
        for other in [original, *([by_name[beside]] if beside else [])]:
            mean, error = difference(losses, other['losses'], tokens)
            cells.append('' if line is other else f'{mean:+.4f} ± {error:.4f}')
        rows.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(rows)


def code_all(matrices, weights, factors, form):
    """Replaces every matrix by the values of its codes; matrices with the same factor are solved together. Returns their
    bits, and the loss."""
    together = {}
    for name in matrices:
        together.setdefault(factors[name].data_ptr(), []).append(name)
    bits, loss = 0.0, 0.0
    for names in together.values():
        values, own = solve(torch.cat([weights[name] for name in names]), factors[names[0]], form)
        for name, part in zip(names, values.split([len(weights[name]) for name in names])):
            matrices[name].weight.data = part
        loss += own
        bits += form.bits_of(values.shape[1]) * values.numel()
    return bits, loss


def survey(args, model):
    """Rows of formats, as Markdown: bits per weight, and the loss of the products in some layers relative to the first
    format."""
    layers = tuple(f'model.layers.{at}.' for at in args.survey.split(','))
    matrices = {name: layer for name, layer in matrices_of(model).items() if name.startswith(layers)}
    if not matrices:
        raise ValueError(f'the model has no layer of {args.survey}; give numbers like 10,20')
    factors = torch.load(args.work / 'factors.pt', mmap=True)
    weights = {name: layer.weight.data for name, layer in matrices.items()}
    count, first = sum(each.numel() for each in weights.values()), None
    for name in args.formats.split(','):
        bits, loss = code_all(matrices, weights, factors, format_of(name))
        first = first or loss
        print(f'| `{name}` | {bits / count:.2f} | {loss / first:.2f} |', flush=True)


def run_all(args, model, calibration, text):
    """Runs every format that has not run yet."""
    runs, tokens = Runs(args.work / 'runs.jsonl'), text.shape[1] - text.shape[1] // 2 - 1
    if not runs.has('original'):
        runs.add(name='original', tokens=tokens, losses=losses_of(model, text))
    whole = sum(layer.weight.numel() for layer in matrices_of(model).values())
    dropped = [int(at) for at in args.drop_layers.split(',') if at]
    suffix = f' without {args.drop_layers}' if dropped else ''
    drop_layers(model, dropped)
    names = [name for name in args.formats.split(',') if not runs.has(name + suffix)]
    place = args.work / f'factors{args.drop_layers}.pt'
    if names and not place.exists():
        torch.save(factors_of(model, calibration), place)
    factors = torch.load(place, mmap=True) if names else {}
    weights = {name: layer.weight.data for name, layer in matrices_of(model).items()}
    for name in names:
        form = format_of(name)
        bits, loss = code_all(matrices_of(model), weights, factors, form)
        runs.add(name=name + suffix, bits=bits / whole, bytes=round(bits / 8), tokens=tokens, loss=loss,
                 losses=losses_of(model, text))
        print(f'{name}{suffix}: done', flush=True)
    return runs.lines


def arguments(given=None):
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, help='a folder of transformers, or a GGUF file that it reads')
    parser.add_argument('--calibration', type=Path, help='JSON lines with a text')
    parser.add_argument('--text', type=Path, help='the text to score')
    parser.add_argument('--formats', default='w4_g32,w3_g32')
    parser.add_argument('--drop-layers', default='', help='layers to drop first, like 14,17')
    parser.add_argument('--windows', type=int, default=32, help='windows of 512 tokens, for the Hessians')
    parser.add_argument('--chunks', type=int, default=20, help='windows of 256 tokens to score')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--work', type=Path, default=Path('out/fewer'), help='folder for runs.jsonl and the factors')
    parser.add_argument('--survey', help='layers like 10,20: print the losses of the formats in them and do nothing else')
    parser.add_argument('--table', type=Path, help='print the table of this runs.jsonl and do nothing else')
    parser.add_argument('--beside', help='for --table: another format to compare with')
    return parser.parse_args(given)


def main(given=None):
    """Runs the formats and prints their table."""
    args = arguments(given)
    if args.table:
        print(table([json.loads(line) for line in args.table.read_text().splitlines()], args.beside))
        return
    for name in args.formats.split(','):
        format_of(name)
    torch.set_num_threads(args.threads)
    args.work.mkdir(parents=True, exist_ok=True)
    tokenizer, model = open_folder(args.model)
    model.eval().requires_grad_(False)
    if args.survey:
        survey(args, model)
        return
    calibration = calibration_of(args.calibration, tokenizer, args.windows, 512)
    text = windows_of(args.text.read_text(encoding='utf-8'), tokenizer, args.chunks, 256)
    print(table(run_all(args, model, calibration, text)))


if __name__ == '__main__':
    main()
