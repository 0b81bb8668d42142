"""Trains a float model on its 4-bit grid; writes a Hugging Face folder that packs to exactly the same codes.

    python3 -m compress.train --model MODEL.gguf --text TEXT.jsonl --format w4m --steps 100 --to out/qat
    halfbyte quantize out/qat model.hbm --method rtn --weights w4m

--loss cakld is BitDistiller: both ends of each group are clipped first, then the model learns from its float version
by confidence-aware KL. --loss ce is plain QAT: straight-through gradients of the next token's cross-entropy.
"""
import argparse
import copy
import random
from pathlib import Path

import torch

from compress.grids import QUANTISERS, clipped
from compress.losses import confidence, held_loss, training_loss
from compress.masks import keep_zeros, load_named
from compress.source import input_squares, open_model, sampled, windows_of
from compress.write import write_folder
from model import quantise4
from weights import read_safetensors


def prepare_student(teacher, kind, squares=None):
    """A copy that is trained on the grid; with squares its matrices are clipped first. Raises ValueError without 4-bit
    matrices."""
    student = copy.deepcopy(teacher)
    student.QUANTISERS = {name: QUANTISERS[kind] if quantise is quantise4 else quantise
                          for name, quantise in teacher.QUANTISERS.items()}
    chosen = [name for name, p in student.named_parameters() if student.QUANTISERS.get(name.split('.')[-1]) is QUANTISERS[kind]]
    if not chosen:
        raise ValueError(f'the model has no matrix that {kind} stores')
    state = student.state_dict()
    for name in chosen if squares is not None else ():
        state[name].copy_(clipped(state[name], squares[name]))
    student.qat = True
    return student


def optimizer_of(parameters, rate):
    """AdamW without decay, which moves no weight whose gradient is zero."""
    return torch.optim.AdamW(parameters, rate, betas=(0.9, 0.95), weight_decay=0)


def descend(optimizer, rate, loss):
    """One step of gradient descent at this rate. Returns the loss as a number."""
    learning = []
    for group in optimizer.param_groups:
        group['lr'] = rate
        learning += group['params']
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(learning, 1.0)
    optimizer.step()
    return float(loss.detach())


def falling(rate, step, steps):
    """The rate of a step: it falls linearly to a tenth."""
    return rate * (1 - 0.9 * step / steps)


def train(student, teacher, windows, steps, batch, rate, gamma):
    """Yields each step's loss, which without gamma is that of the next token."""
    optimizer = optimizer_of(student.parameters(), rate)
    for step in range(steps):
        ids = windows[torch.randint(len(windows), (batch,))]
        yield descend(optimizer, falling(rate, step, steps), training_loss(student, teacher, ids, gamma))


def main():
    """Trains and prints the gain on held-out windows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a Llama as GGUF, or a checkpoint of a family here')
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text, or ids as .pt')
    parser.add_argument('--held', type=Path, help='text to evaluate on; default: the last 16 windows')
    parser.add_argument('--format', choices=sorted(QUANTISERS), default='w4')
    parser.add_argument('--loss', choices=['cakld', 'ce'], default='cakld')
    parser.add_argument('--pruned', type=Path, help='a folder of halfbyte prune --as safetensors: the initial weights')
    parser.add_argument('--pattern', help='with --pruned: sv32, sb84 or N:M, as in pruning; its zeros stay zero')
    parser.add_argument('--generated', type=int, default=0, help='windows that the teacher generates instead of the text')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=2000)
    parser.add_argument('--rate', type=float, default=3e-4)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--to', type=Path, default=Path('out/compressed'))
    args = parser.parse_args()
    if (args.pruned is None) != (args.pattern is None):
        parser.error('give --pruned and --pattern together: the folder, and the pattern that it was pruned to')
    if args.pruned and args.format == 'w4m':
        parser.error('w4m has no code for zero in every group; choose --format w4')
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    vocabulary, family, teacher = open_model(args.model)
    teacher = teacher.eval().to(args.device)
    windows = windows_of(args.text, vocabulary, args.length, args.windows).to(args.device)
    held = (windows_of(args.held, vocabulary, args.length, 16) if args.held else windows[-16:]).to(args.device)
    windows = windows if args.held else windows[:-16]
    if args.generated:
        windows = sampled(teacher, args.generated, args.length, torch.Generator().manual_seed(args.seed))
    some = [windows[i:i + 4] for i in range(0, min(32, len(windows)), 4)]
    gamma = confidence(teacher, some) if args.loss == 'cakld' else None
    begin = copy.deepcopy(teacher)
    if args.pruned:
        load_named(begin, family, read_safetensors(args.pruned / 'model.safetensors'))
    # Clipping moves the ends of the asymmetric grid; a pruned group must keep its zeros.
    squares = input_squares(teacher, some) if gamma is not None and not args.pruned else None
    student = prepare_student(begin, args.format, squares)
    if args.pruned:
        keep_zeros(student, args.pattern)
    before = held_loss(student, held)
    print(f'float {held_loss(teacher, held):.4f}, on the grid {before:.4f}' + ('' if gamma is None else f', gamma {gamma:.3f}'), flush=True)
    for step, loss in enumerate(train(student, teacher, windows, args.steps, args.batch, args.rate, gamma)):
        if (step + 1) % 25 == 0:
            print(f'step {step + 1} of {args.steps}: loss {loss:.4f}', flush=True)
    print(f'after training {held_loss(student, held):.4f} nats per token')
    write_folder(args.to, family, student.cpu(), vocabulary)
    print(args.to)


if __name__ == '__main__':
    main()
