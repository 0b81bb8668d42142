"""Compresses a model of transformers to few bits by training: blocks first, then the whole model.

    python3 -m lowbits --model MODEL.gguf --text TEXT.jsonl --score wiki.test.raw --layers w3z_g64 --table w4z_g64 \
        --epochs 2 --steps 400 --work out/low
    python3 -m lowbits --layers w3z_g32s6,v_proj=w4z_g32s6,29.*=w4z_g64 ...   # exceptions; or a JSON file of them
    python3 -m lowbits ... --resume                                  # continues after the last finished block or checkpoint
    python3 -m lowbits ... --resume --steps 900 --write out/folder   # trains the whole model for longer, then writes it

--pattern 2:4 (or sv32@0.5, sb84@0.5) also prunes the matrices of blocks before they are trained, and keeps the zeros.
Without --epochs, blocks keep GPTQ's codes; --rounded rounds instead. Without --steps, there is no second phase. The matrices of
blocks have the format --layers, the table --table. runs.jsonl in the work folder has the losses of each finished phase, in the
form of compress.fewer_bits, whose --table prints them. Nothing is packed: a folder written by --write has the values in f32.
"""
import argparse
import copy
import json
from pathlib import Path

import torch
from torch.nn.utils import parametrize

from compress.fewer_bits import Runs, losses_of, table, windows_of as text_windows
from compress.folder import open_folder
from compress.text import windows_of
from lowbits.blocks import train_blocks
from lowbits.grid import format_of, is_on_grid
from lowbits.layout import layout_of
from lowbits.memory import reuse_memory
from lowbits.pattern import pattern_of
from lowbits.whole import compress_table, confidence, train_whole

#: Options that may differ between a run and its continuation.
FREE = ('work', 'resume', 'threads', 'chunks', 'score', 'score_every', 'states', 'write', 'model', 'text', 'steps', 'whole_warm',
        'whole_code_rate', 'whole_scale_rate', 'whole_zero_rate')


def arguments(given=None):
    """The command's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a folder of transformers, or a GGUF file that it reads')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text or messages')
    parser.add_argument('--score', type=Path, help='a text for perplexity, not used in training')
    parser.add_argument('--layers', default='w3z_g64', help='the format of the matrices in blocks, and exceptions (lowbits.layout)')
    parser.add_argument('--pattern', help='prune blocks to N:M, or to strips or blocks like sv32@0.5 (the dropped share)')
    parser.add_argument('--table', default='w4z_g64', help='the format of the embedding')
    parser.add_argument('--rounded', action='store_true', help='round instead of solving by GPTQ; for comparison')
    parser.add_argument('--length', type=int, default=512, help='tokens of a window')
    parser.add_argument('--windows', type=int, default=48, help='windows of the first phase')
    parser.add_argument('--batch', type=int, default=2, help='windows of a step in the first phase')
    parser.add_argument('--epochs', type=int, default=0, help='passes over the windows in the first phase')
    parser.add_argument('--code-rate', type=float, default=0.01, help='rate of codes in the first phase, in steps of the grid')
    parser.add_argument('--scale-rate', type=float, default=0.01, help='rate of scales, as a share of their size')
    parser.add_argument('--zero-rate', type=float, default=0.01, help='rate of zero points, in steps of the grid')
    parser.add_argument('--steps', type=int, default=0, help='steps of the second phase')
    parser.add_argument('--whole-windows', type=int, default=2000, help='windows of the second phase')
    parser.add_argument('--whole-batch', type=int, default=2, help='windows of a step in the second phase')
    parser.add_argument('--whole-code-rate', type=float, default=0, help='the same rates in the second phase; 0: codes stay')
    parser.add_argument('--whole-scale-rate', type=float, default=0.005)
    parser.add_argument('--whole-zero-rate', type=float, default=0.005)
    parser.add_argument('--whole-warm', type=int, default=5, help='steps of the second phase in which rates rise')
    parser.add_argument('--states', type=Path, help="folder for the float model's final states, which runs may share; default: in --work")
    parser.add_argument('--score-every', type=int, default=0, help='also score the second phase every so many steps')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--chunks', type=int, default=20, help='windows of 256 tokens to score')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--work', type=Path, default=Path('out/low'), help='folder for checkpoints and runs.jsonl')
    parser.add_argument('--resume', action='store_true', help='continue the run in the work folder')
    parser.add_argument('--write', type=Path, help='write a folder with the values of the codes in f32')
    args = parser.parse_args(given)
    if args.rounded and args.epochs + args.steps:
        parser.error('--rounded is a row for comparison; omit --epochs and --steps')
    return args


def claim(args, windows):
    """Makes the work folder, or checks that it belongs to these options and this text. Raises ValueError otherwise."""
    own = {name: value for name, value in vars(args).items() if name not in FREE}
    key = json.dumps({**own, 'ids': int(windows.sum())})
    place = args.work / 'options.json'
    if place.exists() and not args.resume:
        raise ValueError(f'{args.work} has a run; give --resume to continue it, or another --work')
    if place.exists() and place.read_text() != key:
        raise ValueError(f'{args.work} belongs to other options or another text: {place.read_text()}; now {key}')
    args.work.mkdir(parents=True, exist_ok=True)
    place.write_text(key)


def bits_of(layer, pattern):
    """Bits of a matrix: codes that are kept, scales, zero points, and its mask."""
    values, weights = layer.parametrizations.weight[0], layer.parametrizations.weight.original.numel()
    bits = weights * values.form.bits_per_weight + (16 * len(values.first) if values.form.scale_bits else 0)
    if values.kept is None:
        return bits
    return bits - values.form.bits * (weights - int(values.kept.sum())) + pattern.mask_bits(weights)


def size_of(student, pattern):
    """Bits per weight, and bytes of a pack's weights with vectors in f32."""
    layers = [each for each in student.modules() if is_on_grid(each)]
    vectors = sum(p.numel() for name, p in student.named_parameters() if 'parametrizations' not in name)
    bits = sum(bits_of(each, pattern) for each in layers)
    return bits / sum(each.parametrizations.weight.original.numel() for each in layers), round(bits / 8) + 4 * vectors


def score(args, tokenizer, model, runs, name):
    """Adds a row of losses, unless it is there or there is no text."""
    if args.score is None or runs.has(name):
        return
    text = text_windows(args.score.read_text(encoding='utf-8'), tokenizer, args.chunks, 256)
    size = {} if name == 'original' else dict(zip(('bits', 'bytes'), size_of(model, pattern_of(args.pattern))))
    with parametrize.cached():
        runs.add(name=name, tokens=text.shape[1] - text.shape[1] // 2 - 1, losses=losses_of(model, text), **size)
    print(table(runs.lines), flush=True)


def write(student, tokenizer, place):
    """A folder of transformers with the values of the codes."""
    plain = copy.deepcopy(student)
    head = plain.lm_head
    for each in [each for each in plain.modules() if is_on_grid(each)]:
        parametrize.remove_parametrizations(each, 'weight', leave_parametrized=True)
    del head.parametrizations
    head.weight = plain.model.embed_tokens.weight
    plain.save_pretrained(place)
    tokenizer.save_pretrained(place)


def main(given=None):
    """Runs the phases that have not finished, and scores each."""
    args = arguments(given)
    reuse_memory()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    layout, form = layout_of(args.layers), format_of(args.table)
    name = ' '.join([args.layers, *([args.pattern] if pattern_of(args.pattern) else []), args.table])
    tokenizer, student = open_folder(args.model)
    windows = windows_of(args.text, tokenizer, args.length - 1, max(args.windows, args.whole_windows))
    claim(args, windows)
    student.eval().requires_grad_(False)
    teacher, runs = copy.deepcopy(student), Runs(args.work / 'runs.jsonl')
    score(args, tokenizer, teacher, runs, 'original')
    some = windows[:args.windows]
    compress_table(student, teacher, some, form, args)
    train_blocks(student, teacher, some, layout, args)
    score(args, tokenizer, student, runs, f'{name} blocks')
    if args.steps:
        gamma = confidence(teacher, some[:4])
        train_whole(student, teacher, windows, gamma, args,
                    lambda done: score(args, tokenizer, student, runs, f'{name} whole {done}'))
    if args.write:
        write(student, tokenizer, args.write)
        print(args.write)


if __name__ == '__main__':
    main()
