"""Fine-tunes a model trained on its grid in float, on a text, until its weights have left the grid; writes a checkpoint and a
folder.

    python3 -m compress.finetune --model models/halfbyte-stories --text TEXT.jsonl --to out/float

A model trained with QAT loses nothing when it is rounded, so it cannot show how much a method recovers. A few hundred steps of
AdamW in float move every weight by more than a step of its grid.
"""
import argparse
import math
import time
from pathlib import Path

import torch

from checkpoint import save
from compress.losses import next_token
from compress.source import open_model, windows_of
from compress.write import write_folder


def finetune(model, windows, steps, batch, rate):
    """AdamW on the next token; the rate rises over 20 steps and falls to zero along a cosine. Yields each step's loss."""
    optimizer = torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.95), weight_decay=0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group['lr'] = rate * min(1, (step + 1) / 20) * (1 + math.cos(math.pi * step / steps)) / 2
        ids = windows[torch.randint(len(windows), (batch,))]
        loss = next_token(model(ids[:, :-1]), ids)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss.detach())


def main():
    """Trains, and writes `model.pt` next to the folder's files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--model', type=Path, required=True, help='a folder of stories/export.py, a GGUF file or a checkpoint')
    parser.add_argument('--tokenizer', type=Path, help="the folder with a checkpoint's tokenizer.json")
    parser.add_argument('--text', type=Path, required=True, help='JSON lines with a text')
    parser.add_argument('--steps', type=int, default=200)
    parser.add_argument('--batch', type=int, default=8)
    parser.add_argument('--length', type=int, default=256)
    parser.add_argument('--windows', type=int, default=4000)
    parser.add_argument('--rate', type=float, default=3e-4)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--to', type=Path, default=Path('out/float'))
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    vocabulary, family, model = open_model(args.model, tokenizer=args.tokenizer)
    windows = windows_of(args.text, vocabulary, args.length, args.windows)
    started, total = time.time(), 0.0
    for step, loss in enumerate(finetune(model, windows, args.steps, args.batch, args.rate)):
        total += loss
        if (step + 1) % 20 == 0:
            print(f'step {step + 1} of {args.steps}: loss {total / 20:.4f}, {time.time() - started:.0f} s', flush=True)
            total = 0.0
    write_folder(args.to, family, model, vocabulary)
    save(args.to / 'model.pt', model=model.state_dict(), family=family, config=vars(model.config))
    print(args.to)


if __name__ == '__main__':
    main()
