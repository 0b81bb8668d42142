"""Trains the tower to see what is in each cell and next to it, with a language model's embedding; writes out/tower.pt."""
import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from checkpoint import save, seconds_until
from sight.body import load_embedding, load_vocabulary
from sight.scenes import COLOURS, EMPTY, SHAPES, SIDE, draw, scene
from sight.tower import Tower

#: Row and column of the cells left, right, above and below.
DIRECTIONS = ((0, -1), (0, 1), (-1, 0), (1, 0))
#: Number of pictures in the pool; each step replaces some of them.
POOL = 4096
#: Norm that rows should have; a word's embedding has a norm of 0.4.
LENGTH = 1.0


def neighbours(cells):
    """Things [cells, 5]: of each cell, then of those left, right, above and below; EMPTY outside the grid."""
    grid = np.full((SIDE + 2, SIDE + 2), EMPTY)
    grid[1:-1, 1:-1] = cells.reshape(SIDE, SIDE)
    moves = [(0, 0), *DIRECTIONS]
    return np.stack([grid[1 + y:1 + y + SIDE, 1 + x:1 + x + SIDE].ravel() for y, x in moves], 1)


def labels(things):
    """Colours and shapes of things; the last class means none."""
    things = torch.from_numpy(things)
    empty = things == EMPTY
    return (torch.where(empty, len(COLOURS), things // len(SHAPES)),
            torch.where(empty, len(SHAPES), things % len(SHAPES)))


class Reader(nn.Module):
    """Classifies rows: a cell's own thing by the embeddings of its words, the cell's neighbours by a matrix."""

    def __init__(self, vocabulary, embed):
        super().__init__()
        words = [[*names, 'nothing'] for names in (COLOURS, SHAPES)]
        ids = [[vocabulary.ids[f'\u2581{word}'] for word in each] for each in words]
        self.register_buffer('words', F.normalize(embed[torch.tensor(ids)].detach(), dim=-1), persistent=False)
        self.beside = nn.Linear(embed.shape[1], 4 * (len(COLOURS) + len(SHAPES) + 2))

    def loss(self, rows, things):
        """Mean cross-entropy, and the shares of cells and neighbours that are right."""
        colours, shapes = labels(things)
        own = torch.einsum('brw,kcw->brkc', rows, self.words) * 20
        near = self.beside(rows).view(*rows.shape[:2], 4, 2, -1) * 3
        logits = torch.cat([own[:, :, None], near], 2)
        wanted = torch.stack([colours, shapes], -1)
        loss = F.cross_entropy(logits.flatten(0, -2), wanted.flatten())
        right = (logits.argmax(-1) == wanted).all(-1).float().mean((0, 1))
        length = (rows.norm(dim=-1) - LENGTH).square().mean()
        return loss + 0.1 * length, right[0].item(), right[1:].mean().item()


class Pool:
    """A pool of images with their contents. Each image is used about POOL / fresh times before it is replaced."""

    def __init__(self, seed, fresh):
        self.rng, self.fresh, self.pictures, self.cells = np.random.default_rng(seed), fresh, [], []

    def batch(self, count):
        """Pictures [count, height, width, 3] in bytes, and their cells [count, cells]."""
        for _ in range(self.fresh):
            cells = scene(self.rng)
            if len(self.cells) < POOL:
                self.cells.append(cells)
                self.pictures.append(draw(self.rng, cells))
            else:
                at = self.rng.integers(POOL)
                self.cells[at], self.pictures[at] = cells, draw(self.rng, cells)
        chosen = [*range(-min(self.fresh, count), 0)] if len(self.cells) < POOL else []
        chosen += list(self.rng.integers(len(self.cells), size=count - len(chosen)))
        return torch.from_numpy(np.stack([self.pictures[i] for i in chosen])), np.stack([self.cells[i] for i in chosen])


def held_out(count, seed=1):
    """Images with things in held-out places, for evaluation; those of the engine's test have a different seed."""
    rng = np.random.default_rng(seed)
    cells = [scene(rng, held=True) for _ in range(count)]
    return torch.from_numpy(np.stack([draw(rng, c) for c in cells])), np.stack(cells)


def main():
    """Trains until --steps or --deadline."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--body', type=Path, default=Path('models/halfbyte-stories'))
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--steps', type=int, default=6000)
    parser.add_argument('--batch', type=int, default=64)
    parser.add_argument('--fresh', type=int, default=12, help='new pictures per step')
    parser.add_argument('--lr', type=float, default=2e-3)
    parser.add_argument('--deadline', help='UTC HH:MM by which the learning rate reaches zero')
    parser.add_argument('--seed', type=int, default=34)
    parser.add_argument('--resume', action='store_true')
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    embed, path = load_embedding(args.body), args.out / 'tower.pt'
    tower = Tower(embed.shape[1])
    reader = Reader(load_vocabulary(args.body), embed)
    optimizer = torch.optim.AdamW([*tower.parameters(), *reader.parameters()], lr=args.lr, weight_decay=0.01)
    step, first = 0, 0.0
    if args.resume:
        state = torch.load(path)
        tower.load_state_dict(state['tower'])
        reader.load_state_dict(state['reader'])
        optimizer.load_state_dict(state['optimizer'])
        step, first = state['step'], state['progress']
    pool, test = Pool(args.seed + step, args.fresh), held_out(200)
    started, left = time.time(), seconds_until(args.deadline)
    progress = first
    while progress < 1:
        by_time = first + (1 - first) * (time.time() - started) / left if args.deadline else 0
        progress = min(1.0, max(step / args.steps, by_time))
        for group in optimizer.param_groups:
            group['lr'] = args.lr * min(1, (step + 1) / 100) * (0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2)
        pictures, cells = pool.batch(args.batch)
        loss, _, _ = reader.loss(tower(pictures), np.stack([neighbours(c) for c in cells]))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(tower.parameters(), 1.0)
        optimizer.step()
        step += 1
        if step % 100 == 0 or progress >= 1:
            with torch.no_grad():
                _, own, near = reader.loss(tower(test[0]), np.stack([neighbours(c) for c in test[1]]))
            print(f'step {step} progress {progress:.3f} loss {loss.item():.4f} held-out cells {own:.4f} '
                  f'neighbours {near:.4f} {time.time() - started:.0f} s', flush=True)
            save(path, tower=tower.state_dict(), reader=reader.state_dict(), optimizer=optimizer.state_dict(), step=step,
                 progress=progress)


if __name__ == '__main__':
    main()
