"""Mixes texts: pieces of JSON lines with a text and of plain text with an article per line, in random order, as JSON lines.

    python3 -m lowbits.mix c4.jsonl wiki.txt --to mixed.jsonl --letters 3000 --seed 1
"""
import argparse
import json
import random
from pathlib import Path


def texts_of(path):
    """The texts of a file: of JSON lines if its name ends with .jsonl, else its lines."""
    lines = [line for line in path.read_text(encoding='utf-8').splitlines() if line.strip()]
    return [json.loads(line)['text'] for line in lines] if path.suffix == '.jsonl' else lines


def pieces_of(text, letters):
    """A text cut after words into pieces of at least so many letters; a shorter rest stays with the piece before it."""
    pieces, start = [], 0
    while len(text) - start >= 2 * letters and (end := text.find(' ', start + letters)) > 0:
        pieces.append(text[start:end])
        start = end + 1
    return [*pieces, text[start:]]


def main(given=None):
    """Writes the mixture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('texts', type=Path, nargs='+')
    parser.add_argument('--to', type=Path, required=True)
    parser.add_argument('--letters', type=int, default=3000, help='letters of a piece, at least')
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args(given)
    pieces = [piece for path in args.texts for text in texts_of(path) for piece in pieces_of(text, args.letters)]
    random.Random(args.seed).shuffle(pieces)
    args.to.write_text(''.join(json.dumps({'text': piece}) + '\n' for piece in pieces), encoding='utf-8')
    print(f'{len(pieces)} pieces, {sum(map(len, pieces))} letters')


if __name__ == '__main__':
    main()
