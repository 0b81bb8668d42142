"""Scores folders written by `main.ts --folder` with transformers, as a second evaluation that shares no code with the engine.

    python3 lab/bench/bits/score.py ORIGINAL TEXT FOLDER... [--windows 12] [--context 256] [--threads 1]

The second half of each window is scored, as in `halfbyte perplexity`. Prints a line per folder: perplexity, the loss relative
to the original, the divergence from it (both in nats per token, with standard errors over windows), and how often both models
prefer the same token.
"""
import argparse
import math
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def rows_of(model, windows):
    """The hidden states [windows, rows, width] that predict the second half of each window, and the tokens that follow."""
    first = windows.shape[1] // 2
    states = [model.model(input_ids=ids[None], use_cache=False).last_hidden_state[0, first:-1] for ids in windows]
    return torch.stack(states), windows[:, first + 1:]


def mean_and_error(values):
    """The mean over windows and its standard error, as text."""
    return f'{values.mean():.4f} ± {values.std() / math.sqrt(len(values)):.4f}'


@torch.no_grad()
def main():
    """Scores the folders one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('original', type=Path)
    parser.add_argument('text', type=Path)
    parser.add_argument('folders', type=Path, nargs='+')
    parser.add_argument('--windows', type=int, default=12)
    parser.add_argument('--context', type=int, default=256)
    parser.add_argument('--threads', type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    tokenizer = AutoTokenizer.from_pretrained(args.original)
    ids = tokenizer(args.text.read_text(encoding='utf-8'))['input_ids']
    count = min(args.windows, len(ids) // args.context)
    if count < 2:
        parser.error(f'the text has {len(ids)} tokens, but two windows take {2 * args.context}')
    windows = torch.tensor(ids[:count * args.context]).reshape(count, args.context)
    original = AutoModelForCausalLM.from_pretrained(args.original, dtype=torch.float32)
    states, wanted = rows_of(original, windows)
    truth = [torch.log_softmax(original.lm_head(each), -1) for each in states]
    base = torch.stack([torch.nn.functional.nll_loss(logs, ids) for logs, ids in zip(truth, wanted)])
    print(f'{args.original.name}: perplexity {base.mean().exp():.3f}, {wanted.numel()} tokens')
    del original
    for folder in args.folders:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        losses, divergences, same = [], [], []
        for state, expected, following in zip(rows_of(model, windows)[0], truth, wanted):
            logs = torch.log_softmax(model.lm_head(state), -1)
            losses.append(torch.nn.functional.nll_loss(logs, following))
            divergences.append((expected.exp() * (expected - logs)).sum(-1).mean())
            same.append((expected.argmax(-1) == logs.argmax(-1)).float().mean())
        loss, divergence = torch.stack(losses), torch.stack(divergences)
        print(f'{folder.name}: perplexity {loss.mean().exp():.3f}, loss {mean_and_error(loss - base)}, '
              f'divergence {mean_and_error(divergence)}, same choice {100 * torch.stack(same).mean():.1f} %', flush=True)


if __name__ == '__main__':
    main()
