"""out/train.bin, final.bin in, out/checkpoint.pt and a log out: the training loop, resumable and with a deadline."""
import argparse
import json
import math
import time
from pathlib import Path

import numpy as np
import torch

from checkpoint import save, seconds_until
from family import FAMILIES, build


def muon_direction(gradient):
    """The nearest semi-orthogonal matrix to a gradient, by five Newton-Schulz steps (Muon)."""
    tall = gradient.shape[0] > gradient.shape[1]
    x = gradient.T if tall else gradient
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x.T if tall else x


class Muon(torch.optim.Optimizer):
    """Momentum with orthogonalised updates for the matrices inside the layers."""

    def __init__(self, parameters, lr, momentum=0.95, decay=0.02):
        super().__init__(parameters, {'lr': lr, 'momentum': momentum, 'decay': decay})

    @torch.no_grad()
    def step(self):
        """One update; the step's size does not depend on the matrix's shape."""
        for group in self.param_groups:
            for p in group['params']:
                state = self.state[p]
                if not state:
                    state['velocity'] = torch.zeros_like(p)
                state['velocity'].lerp_(p.grad, 1 - group['momentum'])
                mixed = p.grad.lerp(state['velocity'], group['momentum'])
                # fused matrices are orthogonalised in square-ish blocks, as their unfused parts would be
                parts = mixed.split(p.shape[0] // 2) if p.shape[0] > 3 * p.shape[1] else [mixed]
                stretch = max(1, parts[0].shape[0] / parts[0].shape[1]) ** 0.5
                update = torch.cat([muon_direction(m) for m in parts]).mul_(stretch)
                p.mul_(1 - group['lr'] * group['decay']).add_(update, alpha=-group['lr'])


def make_optimizers(model, args):
    """Muon for the layers' matrices (unless --adamw), AdamW for the rest; lr is set per step."""
    matrices = model.matrices()
    others = {id(p) for p in (model.embed, *matrices)}
    gains = [p for p in model.parameters() if id(p) not in others]
    groups = [{'params': [model.embed], 'peak': args.lr, 'weight_decay': 0.01},
              {'params': gains, 'peak': args.lr, 'weight_decay': 0.0}]
    if args.adamw:
        groups.append({'params': matrices, 'peak': args.lr, 'weight_decay': 0.1})
    optimizers = [torch.optim.AdamW(groups, lr=args.lr, betas=(0.9, 0.95), eps=1e-9)]
    if not args.adamw:
        optimizers.append(Muon([{'params': matrices, 'peak': args.muon_lr}], lr=args.muon_lr))
    return optimizers


def held_loss(model, path, length, limit=64):
    """Mean nats per token over the first limit windows of a token file."""
    ids = np.fromfile(path, dtype=np.uint16).astype(np.int64)
    count = min(limit, (len(ids) - 1) // length)
    total = 0.0
    with torch.no_grad():
        for i in range(count):
            total += model.loss(torch.from_numpy(ids[i * length:(i + 1) * length + 1])[None]).item()
    return total / count


def main():
    """Trains; the schedule follows progress: the larger of the shares of tokens and of time to --deadline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--tokens', type=float, default=17e6, help='tokens to train on')
    parser.add_argument('--batch-tokens', type=int, default=4096)
    parser.add_argument('--lr', type=float, default=3e-3)
    parser.add_argument('--muon-lr', type=float, default=0.02)
    parser.add_argument('--adamw', action='store_true', help='AdamW for every parameter')
    parser.add_argument('--long-from', type=float, default=0.75, help='progress at which windows grow to 512')
    parser.add_argument('--final-from', type=float, default=0.7, help='progress at which final.bin takes over')
    parser.add_argument('--qat-from', type=float, default=0.82, help='progress at which QAT begins')
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate has come to zero')
    parser.add_argument('--max-steps', type=int, default=1 << 30, help='stop early (for measuring)')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--family', choices=FAMILIES, default='llama')
    parser.add_argument('--layers', type=int, help="other than the family's own number")
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--save-minutes', type=float, default=5)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    model = build(args.family, {} if args.layers is None else {'layers': args.layers})
    optimizers = make_optimizers(model, args)
    path, step, seen, progress = args.out / 'checkpoint.pt', 0, 0, 0.0
    if args.resume:
        state = torch.load(path)
        model.load_state_dict(state['model'])
        for optimizer, saved in zip(optimizers, state['optimizers']):
            optimizer.load_state_dict(saved)
        step, seen, progress = state['step'], state['seen'], state['progress']
    data = np.memmap(args.out / 'train.bin', dtype=np.uint16, mode='r')
    final = np.memmap(args.out / 'final.bin', dtype=np.uint16, mode='r')
    final_seen = state.get('final_seen', 0) if args.resume else 0
    started, left_at_start, seen_at_start, first = time.time(), seconds_until(args.deadline), seen, progress
    saved_at, logged = started, (started, seen, step, 0.0)
    size = sum(p.numel() for p in model.parameters())
    print(f'{size} parameters, {len(data)} tokens', json.dumps(vars(args), default=str), flush=True)
    log_loss = 0.0
    while progress < 1 and step < args.max_steps:
        by_time = first + (1 - first) * (time.time() - started) / left_at_start if args.deadline else 0
        progress = min(1.0, max(seen / args.tokens, by_time))
        length = 512 if progress >= args.long_from else 256
        model.qat = progress >= args.qat_from
        # up in the first 2 %, flat, then straight down to zero from 30 % on
        factor = min(1, (step + 1) / 80) * min(1, max(0.0, 1 - progress) / 0.7)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group['lr'] = group['peak'] * factor
        span = args.batch_tokens
        source, at = (data, seen) if progress < args.final_from else (final, final_seen)
        at %= len(source) - span - 1
        final_seen += span if source is final else 0
        ids = torch.from_numpy(source[at:at + span + 1].astype(np.int64))
        ids = ids.as_strided((span // length, length + 1), (length, 1))
        loss = model.loss(ids)
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
        step, seen, log_loss = step + 1, seen + span, log_loss + loss.item()
        if step % 20 == 0:
            now = time.time()
            print(f'step {step} tokens {seen} progress {progress:.4f} lr {factor:.3f} '
                  f'loss {log_loss / (step - logged[2]):.4f} '
                  f'{(seen - logged[1]) / (now - logged[0]):.0f} tok/s {now - started:.0f} s', flush=True)
            logged, log_loss = (now, seen, step, 0.0), 0.0
        if time.time() - saved_at > args.save_minutes * 60 or progress >= 1:
            save(path, model=model.state_dict(), optimizers=[o.state_dict() for o in optimizers],
                 step=step, seen=seen, final_seen=final_seen, progress=progress, family=args.family,
                 config=vars(model.config), qat=model.qat)
            saved_at = time.time()
            losses = {n: round(held_loss(model, args.out / f'held-{n}.bin', length), 4)
                      for n in ('stories', 'dialogues')}
            print(f'saved at step {step}, held-out loss', json.dumps(losses), flush=True)


if __name__ == '__main__':
    main()
