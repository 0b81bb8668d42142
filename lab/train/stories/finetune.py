"""The fine-tuning loop: trains out/start.pt on token files by out/mixture.json; writes out/checkpoint.pt and a log."""
import argparse
import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from checkpoint import save, seconds_until
from family import restore
from stories.prepare import ASKED, IDS, OWN

#: Tokens of a training window.
LENGTH = 512
#: Weight of a requested word in the loss; the model's other tokens have weight 1.
ASKED_WEIGHT = 3


class Mixture:
    """Windows of whole documents drawn from sources by their shares of tokens; picks up newer files when they appear."""

    def __init__(self, out, seed):
        self.out, self.rng, self.seen_at, self.sources = out, np.random.default_rng(seed), None, {}

    def refresh(self):
        """Reads the shares and the sources again if a file is newer; returns them, or None if nothing is new."""
        shares = json.loads((self.out / 'mixture.json').read_text())
        paths = {name: self.out / f'{name}.json' for name in shares}
        paths = {name: path for name, path in paths.items() if path.exists()}
        stamp = [(self.out / 'mixture.json').stat().st_mtime, *(p.stat().st_mtime for p in paths.values())]
        if stamp == self.seen_at:
            return None
        self.seen_at, self.sources = stamp, {}
        for name, path in paths.items():
            starts = np.array(json.loads(path.read_text())['starts'])
            ids = np.fromfile(self.out / f'{name}.bin', dtype=np.uint16)
            mean = starts[-1] / (len(starts) - 1)
            self.sources[name] = {'starts': starts, 'ids': ids, 'weight': shares[name] / mean, 'order': [],
                                  'share': shares[name]}
        return {name: [s['share'], int(s['starts'][-1])] for name, s in self.sources.items()}

    def document(self):
        """The next document of a source drawn by weight; a source is reshuffled when all its documents have been used."""
        names = list(self.sources)
        weights = np.array([self.sources[n]['weight'] for n in names])
        source = self.sources[names[self.rng.choice(len(names), p=weights / weights.sum())]]
        if len(source['order']) == 0:
            source['order'] = self.rng.permutation(len(source['starts']) - 1).tolist()
        i = source['order'].pop()
        return source['ids'][source['starts'][i]:source['starts'][i + 1]]

    def windows(self, count, length):
        """count rows of length + 1 tokens. A row begins with a document, and its last document is cut off at the end."""
        rows = np.empty((count, length + 1), dtype=np.uint16)
        for row in rows:
            at = 0
            while at < len(row):
                document = self.document()[:len(row) - at]
                row[at:at + len(document)] = document
                at += len(document)
        return rows


def own_loss(model, rows):
    """Mean cross-entropy in nats over the model's own tokens; users' and tools' text is only read."""
    ids = torch.from_numpy((rows & IDS).astype(np.int64))
    own = torch.from_numpy((rows[:, 1:] & OWN) != 0)
    weights = torch.from_numpy(np.where(rows[:, 1:] & ASKED, np.float32(ASKED_WEIGHT), np.float32(1)))[own]
    each = F.cross_entropy(model(ids[:, :-1], own), ids[:, 1:][own], reduction='none')
    return (each * weights).sum() / weights.sum()


def back(model, rows, pool, threads):
    """Sets the gradients of the mean loss of equal shares of the rows, one for each thread; returns that loss.

    Threads that share each matrix product would wait for the slowest at every product; these wait once per step.
    """
    parameters = list(model.parameters())

    def share(part):
        loss = own_loss(model, part)
        return loss.item(), torch.autograd.grad(loss, parameters)
    matrices = model.rounded()
    deltas = pool.map(lambda one: model.delta(*one), matrices)
    model.deltas = {id(p): delta for (p, _), delta in zip(matrices, deltas)}
    losses, gradients = zip(*pool.map(share, np.array_split(rows, threads)))
    model.deltas = {}
    for parameter, *parts in zip(parameters, *gradients):
        parameter.grad = sum(parts) / threads
    return sum(losses) / threads


def main():
    """Trains. The schedule follows the share of tokens or of time until --deadline, whichever is larger."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--start', type=Path, help='default: out/start.pt')
    parser.add_argument('--tokens', type=float, default=10e6, help='tokens to train on')
    parser.add_argument('--batch-tokens', type=int, default=2048)
    parser.add_argument('--lr', type=float, default=1.2e-4)
    parser.add_argument('--qat-from', type=float, default=0.7, help='progress at which QAT begins')
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate reaches zero')
    parser.add_argument('--max-steps', type=int, default=1 << 30, help='stop early (for measuring)')
    parser.add_argument('--threads', type=int, default=2)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--save-minutes', type=float, default=5)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(args.threads, initializer=torch.set_num_threads, initargs=(1,))
    path, step, seen, progress = args.out / 'checkpoint.pt', 0, 0, 0.0
    state = torch.load(path if args.resume else args.start or args.out / 'start.pt')
    model = restore(state)
    gains = [p for p in model.parameters() if p.ndim == 1]
    # most pieces do not occur in a batch: a larger eps and a larger beta2 keep tiny gradients from moving
    # their rows
    optimizer = torch.optim.AdamW(
        [{'params': [model.embed], 'betas': (0.9, 0.999), 'eps': 1e-5}, {'params': model.matrices()}, {'params': gains}],
        lr=args.lr, betas=(0.9, 0.99), eps=1e-8, weight_decay=0)
    if args.resume:
        optimizer.load_state_dict(state['optimizer'])
        step, seen, progress = state['step'], state['seen'], state['progress']
    mixture = Mixture(args.out, args.seed + step)
    started, left_at_start, first = time.time(), seconds_until(args.deadline), progress
    saved_at, logged, total = started, (started, seen, step), 0.0
    print(f'{sum(p.numel() for p in model.parameters())} parameters', json.dumps(vars(args), default=str), flush=True)
    while progress < 1 and step < args.max_steps:
        if step % 25 == 0 or not mixture.sources:
            news = mixture.refresh()
            if news:
                print(f'step {step} shares and tokens', json.dumps(news), flush=True)
        by_time = first + (1 - first) * (time.time() - started) / left_at_start if args.deadline else 0
        progress = min(1.0, max(seen / args.tokens, by_time))
        model.qat = progress >= args.qat_from
        # rises over 30 steps, constant to 20 %, then linear to zero
        factor = min(1, (step + 1) / 30) * min(1, max(0.0, 1 - progress) / 0.8)
        for group in optimizer.param_groups:
            group['lr'] = args.lr * factor
        loss = back(model, mixture.windows(args.batch_tokens // LENGTH, LENGTH), pool, args.threads)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step, seen = step + 1, seen + args.batch_tokens
        total += loss
        if step % 20 == 0:
            now, count = time.time(), step - logged[2]
            print(f'step {step} tokens {seen} progress {progress:.4f} lr {factor:.3f} loss {total / count:.4f} '
                  f'{(seen - logged[1]) / (now - logged[0]):.0f} tok/s '
                  f'{now - started:.0f} s{" qat" if model.qat else ""}', flush=True)
            logged, total = (now, seen, step), 0.0
        if time.time() - saved_at > args.save_minutes * 60 or progress >= 1:
            if not math.isfinite(loss):
                raise SystemExit(f'the loss is {loss} at step {step}; continue from {path} at a lower --lr')
            save(path, model=model.state_dict(), optimizer=optimizer.state_dict(), step=step, seen=seen,
                 progress=progress, family='llama', config=vars(model.config), qat=model.qat)
            saved_at = time.time()
            print(f'saved at step {step}', flush=True)


if __name__ == '__main__':
    main()
