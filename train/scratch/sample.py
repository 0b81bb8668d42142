"""A checkpoint in, sampled chat answers and held-out losses (float and fake-quantised) out."""
import argparse
import json
import math
from pathlib import Path

import torch

from scratch.bpe import ASSISTANT, BOS, END, USER, Tokenizer
from family import restore
from scratch.train import held_loss


def held_losses(model, path, size, window):
    """Nats per token and bits per byte over all windows of a token file; in float, then as packed."""
    for model.qat in (False, True):
        loss = held_loss(model, path, window, 1 << 30)
        bits = loss / math.log(2) * size['tokens'] / size['text_bytes']
        kind = 'w4' if model.qat else 'float'
        print(f'{path.stem} {kind}: {loss:.4f} nats per token, {bits:.4f} bits per byte', flush=True)


def answer(model, tokenizer, turns, args, generator):
    """The assistant's next turn, sampled with top-p and a repetition penalty; and whether it stopped."""
    ids = [BOS]
    for i, text in enumerate(turns):
        ids += [(USER, ASSISTANT)[i % 2], *tokenizer.encode(text), END]
    ids.append(ASSISTANT)
    start = len(ids)
    while len(ids) - start < args.max_new and len(ids) < model.config.context:
        logits = model(torch.tensor([ids]))[0, -1]
        recent = torch.tensor(sorted(set(ids[-64:])))
        logits[recent] -= logits[recent].abs() * (args.penalty - 1)
        if args.temperature == 0:
            chosen = int(logits.argmax())
        else:
            sorted_p, order = (logits / args.temperature).softmax(-1).sort(descending=True)
            keep = sorted_p.cumsum(0) - sorted_p < args.top_p
            chosen = int(order[torch.multinomial(sorted_p * keep, 1, generator=generator)])
        if chosen == END:
            break
        ids.append(chosen)
    return tokenizer.decode(ids[start:]).strip(), len(ids) - start < args.max_new


def main():
    """Prints losses with --losses, then one conversation per --chat, its user turns separated by '|'."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--chat', action='append', default=[])
    parser.add_argument('--losses', action='store_true')
    parser.add_argument('--window', type=int, default=512, help='tokens that the losses are taken over at a time')
    parser.add_argument('--quantised', action='store_true', help='sample from the fake-quantised weights')
    parser.add_argument('--temperature', type=float, default=0.6)
    parser.add_argument('--top-p', type=float, default=0.9)
    parser.add_argument('--penalty', type=float, default=1.1)
    parser.add_argument('--max-new', type=int, default=220)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    saved = torch.load(args.out / 'checkpoint.pt')
    model, tokenizer = restore(saved), Tokenizer.load(args.out / 'tokenizer.json')
    sizes = json.loads((args.out / 'data.json').read_text())
    with torch.no_grad():
        for name in ('stories', 'dialogues') if args.losses else ():
            held_losses(model, args.out / f'held-{name}.bin', sizes[f'held-{name}'], args.window)
        model.qat = args.quantised
        generator = torch.Generator().manual_seed(args.seed)
        for chat in args.chat:
            turns = []
            for said in chat.split('|'):
                text, stopped = answer(model, tokenizer, [*turns, said], args, generator)
                turns += [said, text]
                print(f'> {said}\n{text}{"" if stopped else " [cut]"}', flush=True)
            print()


if __name__ == '__main__':
    main()
