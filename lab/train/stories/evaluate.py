"""Computes bits per byte of held-out stories: of the teacher, or of a checkpoint in float and as packed."""
import argparse
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F

from stories import spm
from stories.cut_vocabulary import teacher_of
from family import restore
from stories.spm import BOS


def chosen_stories(texts, vocabularies, longest=255):
    """Indices of the stories that fit the teacher's context of 256 with <s>, in each vocabulary."""
    return [i for i, text in enumerate(texts) if all(len(v.encode(text)) <= longest for v in vocabularies)]


def bits_per_byte(model, vocabulary, texts):
    """Cross-entropy of every token of each text after <s>, in bits, divided by the texts' UTF-8 bytes."""
    nats = size = 0
    with torch.no_grad():
        for text in texts:
            ids = torch.tensor([[BOS, *vocabulary.encode(text)]])
            nats += F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:], reduction='sum').item()
            size += len(text.encode())
    return nats / math.log(2) / size


def main():
    """Prints one line per kind of weights; --chosen writes the indices for score.mjs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--from', dest='source', type=Path, help='default: out/checkpoint.pt')
    parser.add_argument('--model', type=Path, default=Path('inputs/stories15M-f16.gguf'))
    parser.add_argument('--held', type=Path, default=Path('inputs/tinystories-held.jsonl'))
    parser.add_argument('--stories', type=int, help='only this many of the stories that fit')
    parser.add_argument('--teacher', action='store_true', help="score the teacher instead of a checkpoint")
    parser.add_argument('--chosen', type=Path, help='write the indices of the stories without scoring')
    parser.add_argument('--threads', type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    texts = [json.loads(line)['text'] for line in args.held.open(encoding='utf-8')]
    whole, teacher = teacher_of(args.model)
    small = spm.load(json.loads((args.out / 'vocabulary.json').read_text(encoding='utf-8')))
    chosen = chosen_stories(texts, [whole, small])[:args.stories]
    print(f'{len(chosen)} of {len(texts)} stories', flush=True)
    if args.chosen:
        args.chosen.write_text(json.dumps(chosen))
        return
    picked = [texts[i] for i in chosen]
    if args.teacher:
        print(f'teacher: {bits_per_byte(teacher, whole, picked):.4f} bits per byte')
        return
    saved = torch.load(args.source or args.out / 'checkpoint.pt')
    model = restore(saved)
    for model.qat in (False, True):
        kind = 'as packed' if model.qat else 'float'
        print(f'step {saved["step"]} {kind}: {bits_per_byte(model, small, picked):.4f} bits per byte', flush=True)


if __name__ == '__main__':
    main()
