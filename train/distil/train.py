"""out/start.pt (the teacher) and token files in; out/mamba.pt and a log out: mixers aligned, then the whole distilled."""
import argparse
import json
import math
import time
from pathlib import Path

import torch

from checkpoint import save, seconds_until
from distil.losses import align_loss, distil_loss, ids_of
from distil.start import SHARED, start
from family import restore
from stories.finetune import LENGTH, Mixture


def groups_of(model, args):
    """AdamW's groups: mixers' matrices, their vectors (twice the rate), what came from the Llama, the embedding."""
    own = [(name, p) for name, p in model.layers.named_parameters() if name.split('.')[-1] not in SHARED]
    shared = [p for name, p in model.layers.named_parameters() if name.split('.')[-1] in SHARED]
    return [
        {'params': [p for _, p in own if p.ndim == 2], 'rate': 1.0},
        {'params': [p for _, p in own if p.ndim == 1], 'rate': 2.0},
        {'params': [*shared, model.final_norm], 'rate': args.shared_rate},
        # As in stories/finetune.py: a batch lacks most pieces.
        {'params': [model.embed], 'rate': args.shared_rate, 'betas': (0.9, 0.999), 'eps': 1e-5},
    ]


def rate_at(progress, steps_in_stage, args):
    """The rate of the mixers: each stage rises over 20 steps; the first falls to a third, the second to zero."""
    rise = min(1, (steps_in_stage + 1) / 20)
    if progress < args.align:
        return args.align_lr * rise * (1 - progress / args.align * 2 / 3)
    return args.lr * rise * min(1, (1 - progress) / (1 - args.align) / 0.8)


def main():
    """Trains; progress is the larger of the shares of tokens and of time to --deadline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--teacher', type=Path, help='other than out/start.pt; may change when a run goes on')
    parser.add_argument('--tokens', type=float, default=10e6, help='tokens to train on')
    parser.add_argument('--batch-tokens', type=int, default=1024)
    parser.add_argument('--align', type=float, default=0.2, help='progress at which distillation begins')
    parser.add_argument('--align-lr', type=float, default=2e-3)
    parser.add_argument('--lr', type=float, default=1e-3, help="of the mixers' matrices while distilling")
    parser.add_argument('--shared-rate', type=float, default=0.2, help='of what came from the Llama, as a share of --lr')
    parser.add_argument('--qat-from', type=float, default=0.8, help='progress at which QAT begins')
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate has come to zero')
    parser.add_argument('--max-steps', type=int, default=1 << 30, help='stop early (for measuring)')
    parser.add_argument('--threads', type=int, default=1)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--save-minutes', type=float, default=5)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    path, step, seen, progress, stage, stage_start = args.out / 'mamba.pt', 0, 0, 0.0, None, 0
    teacher = restore(torch.load(args.teacher or args.out / 'start.pt')).requires_grad_(False)
    state = torch.load(path) if args.resume else None
    mixture = Mixture(args.out, args.seed + (state['step'] if state else 0))
    mixture.refresh()
    model = restore(state) if state else start(teacher, ids_of(mixture.windows(4, LENGTH))[0])
    optimizer = torch.optim.AdamW(groups_of(model, args), lr=0.0, betas=(0.9, 0.98), eps=1e-8, weight_decay=0)
    if state:
        optimizer.load_state_dict(state['optimizer'])
        step, seen, progress, stage, stage_start = (state[k] for k in ('step', 'seen', 'progress', 'stage', 'stage_start'))
    started, left_at_start, first = time.time(), seconds_until(args.deadline), progress
    saved_at, logged, total = started, (started, seen, step), 0.0
    print(f'{sum(p.numel() for p in model.parameters())} parameters', json.dumps(vars(args), default=str), flush=True)
    while progress < 1 and step < args.max_steps:
        by_time = first + (1 - first) * (time.time() - started) / left_at_start if args.deadline else 0
        progress = min(1.0, max(seen / args.tokens, by_time))
        before, stage = stage, 'align' if progress < args.align else 'distil'
        if stage != before:
            stage_start = step
        model.qat = progress >= args.qat_from
        for group in optimizer.param_groups:
            group['lr'] = rate_at(progress, step - stage_start, args) * group['rate']
        loss_of = align_loss if stage == 'align' else distil_loss
        loss = loss_of(teacher, model, mixture.windows(args.batch_tokens // LENGTH, LENGTH))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step, seen = step + 1, seen + args.batch_tokens
        total += loss.item()
        if step % 20 == 0:
            now, count = time.time(), step - logged[2]
            print(f'step {step} tokens {seen} progress {progress:.4f} {stage} loss {total / count:.4f} '
                  f'{(seen - logged[1]) / (now - logged[0]):.0f} tok/s {now - started:.0f} s'
                  f'{" qat" if model.qat else ""}', flush=True)
            logged, total = (now, seen, step), 0.0
        if time.time() - saved_at > args.save_minutes * 60 or progress >= 1 or step == args.max_steps:
            if not math.isfinite(loss.item()):
                raise SystemExit(f'the loss is {loss.item()} at step {step}; go on from {path} at a lower --lr')
            save(path, model=model.state_dict(), optimizer=optimizer.state_dict(), step=step, seen=seen,
                 progress=progress, stage=stage, stage_start=stage_start, family='granitehybrid',
                 config=vars(model.config), qat=model.qat)
            saved_at = time.time()
            print(f'saved at step {step}', flush=True)


if __name__ == '__main__':
    main()
