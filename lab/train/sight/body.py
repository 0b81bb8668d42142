"""The vocabulary of Halfbyte Stories with its packed embedding, or a part of it with a small Llama."""
import json
from itertools import product

from llama import Llama, LlamaConfig
from model import quantise8
from sight.questions import DIRECTIONS, NUMBERS
from sight.scenes import COLOURS, SHAPES
from stories import spm
from stories.cut_vocabulary import choose, cut
from stories.from_folder import vocabulary_of
from weights import read_safetensors

#: More than the number of pieces in the texts.
MAX_PIECES = 4096


def load_embedding(folder):
    """The embeddings of tokens [vocabulary, hidden], which are frozen."""
    return quantise8(read_safetensors(folder / 'model.safetensors')['model.embed_tokens.weight'])


def load_vocabulary(folder):
    """Encodes the model's texts."""
    return spm.load(vocabulary_of(json.loads((folder / 'tokenizer.json').read_text(encoding='utf-8'))))


def texts():
    """Every question and every answer."""
    names = [' '.join(pair) for pair in product(COLOURS, SHAPES)]
    yield from (f'What is {way} the {name}?' for way, name in product(DIRECTIONS, names))
    yield from (f'Is there a {name}?' for name in names)
    yield from (f'A {name}.' for name in names)
    for shape in SHAPES:
        yield from (f'What colour is the {shape}?', f'How many {shape}s are there?', f'A {shape}.')
    for colour in COLOURS:
        yield from (f'What shape is the {colour} one?', f'{colour.capitalize()}.')
    yield from (f'{word}.' for word in (*NUMBERS, 'Nothing', 'Yes', 'No'))


def small_vocabulary(whole):
    """The pieces of these texts, of their first words without a space, and all ASCII characters."""
    kept = choose(whole, texts(), MAX_PIECES)
    for word in ('What', 'How', 'Is'):
        symbols, made = whole.merge(word)
        kept |= {*symbols, *made}
    return cut(whole, kept)[0]


def small_llama(vocabulary, kind=Llama):
    """A Llama with random weights."""
    return kind(LlamaConfig(vocab=-(-len(vocabulary.pieces) // 32) * 32, hidden=128, layers=4, heads=4, kv_heads=4, head_dim=32,
                             intermediate=256))
