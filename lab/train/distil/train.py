"""Distils out/start.pt (the teacher) with token files into out/mamba.pt: aligns the mixers, then distils the whole model."""
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
from weights import snap


def is_own(name):
    """Whether a parameter belongs to a mixer; the others come from the teacher."""
    return name.startswith('layers.') and name.split('.')[-1] not in SHARED


def optimizer_of(model):
    """A new optimizer for each stage, because gradients differ in size: for the mixers' matrices, and for their vectors at
    twice the rate."""
    own = [p for name, p in model.named_parameters() if is_own(name)]
    groups = [{'params': [p for p in own if (p.ndim == 2) == wide], 'rate': rate} for wide, rate in ((True, 1), (False, 2))]
    return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), eps=1e-8, weight_decay=0)


def begin(teacher, ids, mixers):
    """The initial model of a run. The teacher's parameters are rounded as in the pack; a checkpoint's mixers replace new
    ones."""
    model = start(teacher, ids)
    model.load_state_dict({name: value for name, value in snap(model).items() if not is_own(name)}, strict=False)
    if mixers:
        model.load_state_dict({n: p for n, p in torch.load(mixers)['model'].items() if is_own(n)}, strict=False)
    return model


def only_mixers(model):
    """Freezes the teacher's parameters, which are already rounded: QAT rounds only the mixers."""
    model.QUANTISERS = {name: model.QUANTISERS[name] for name in ('in_proj', 'out')}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(is_own(name))
    return model


def stage_at(progress, args):
    """With --align 1 there is no second stage."""
    return 'align' if progress < args.align or args.align >= 1 else 'distil'


def rate_at(progress, steps_in_stage, args):
    """The rate of the mixers: each stage rises over 20 steps; the first falls to a tenth, the second to zero."""
    rise = min(1, (steps_in_stage + 1) / 20)
    if stage_at(progress, args) == 'align':
        return args.align_lr * rise * (1 - progress / args.align * 0.9)
    return args.lr * rise * min(1, (1 - progress) / (1 - args.align) / 0.8)


def main():
    """Trains; progress is the larger of the shares of tokens and of time to --deadline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--teacher', type=Path, help='default: out/start.pt; may change when a run is resumed')
    parser.add_argument('--mixers', type=Path, help='start from the mixers of this checkpoint')
    parser.add_argument('--tokens', type=float, default=10e6, help='tokens to train on')
    parser.add_argument('--batch-tokens', type=int, default=1024)
    parser.add_argument('--align', type=float, default=0.2, help='progress at which distillation begins')
    parser.add_argument('--align-lr', type=float, default=2e-3)
    parser.add_argument('--lr', type=float, default=2e-4, help="rate of the mixers' matrices while distilling")
    parser.add_argument('--qat-from', type=float, default=0.8, help='progress at which QAT begins')
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate reaches zero')
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
    model = only_mixers(restore(state) if state else begin(teacher, ids_of(mixture.windows(4, LENGTH))[0], args.mixers))
    optimizer = optimizer_of(model)
    if state:
        optimizer.load_state_dict(state['optimizer'])
        step, seen, progress, stage, stage_start = (state[k] for k in ('step', 'seen', 'progress', 'stage', 'stage_start'))
    started, left_at_start, first = time.time(), seconds_until(args.deadline), progress
    saved_at, logged, total = started, (started, seen, step), 0.0
    print(f'{sum(p.numel() for p in model.parameters())} parameters', json.dumps(vars(args), default=str), flush=True)
    while progress < 1 and step < args.max_steps:
        by_time = first + (1 - first) * (time.time() - started) / left_at_start if args.deadline else 0
        progress = min(1.0, max(seen / args.tokens, by_time))
        before, stage = stage, stage_at(progress, args)
        if stage != before:
            stage_start = step
            optimizer = optimizer_of(model)
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
                raise SystemExit(f'the loss is {loss.item()} at step {step}; continue from {path} at a lower --lr')
            save(path, model=model.state_dict(), optimizer=optimizer.state_dict(), step=step, seen=seen,
                 progress=progress, stage=stage, stage_start=stage_start, family='granitehybrid',
                 config=vars(model.config), qat=model.qat)
            saved_at = time.time()
            print(f'saved at step {step}', flush=True)


if __name__ == '__main__':
    main()
