"""Word counts in, a byte-level BPE tokenizer out: training, encoding, decoding and tokenizer.json."""
import json
from collections import Counter, defaultdict

import regex

SPECIALS = ['<|pad|>', '<|bos|>', '<|end|>', '<|user|>', '<|assistant|>', '<|system|>']
PAD, BOS, END, USER, ASSISTANT, SYSTEM = range(6)
# GPT-2's pattern: what the ByteLevel pre-tokenizer of the tokenizers library applies by itself
WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """GPT-2's printable stand-ins: a list of 256 one-character strings, indexed by byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = [''] * 256, 0
    for byte in range(256):
        if byte in printable:
            table[byte] = chr(byte)
        else:
            table[byte], extra = chr(256 + extra), extra + 1
    return table


ALPHABET = byte_alphabet()
BYTE_OF = {char: byte for byte, char in enumerate(ALPHABET)}


def merge_pair(symbols, pair):
    """Joins every occurrence of pair in a tuple of symbols, left to right."""
    out, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == pair[0] and symbols[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return tuple(out)


def train_merges(word_counts, merge_count):
    """The merge_count most frequent pairs, greedily; ties go to the pair that sorts first, so runs repeat."""
    counted = sorted(word_counts.items())
    words = [[tuple(ALPHABET[b] for b in word.encode()), count] for word, count in counted]
    pairs, where = Counter(), defaultdict(set)
    for index, (symbols, count) in enumerate(words):
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += count
            where[pair].add(index)
    merges = []
    while len(merges) < merge_count and pairs:
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < 2:
            break
        merges.append(best)
        for index in where.pop(best):
            symbols, count = words[index]
            merged = merge_pair(symbols, best)
            for pair in zip(symbols, symbols[1:]):
                pairs[pair] -= count
            for pair in zip(merged, merged[1:]):
                pairs[pair] += count
                where[pair].add(index)
            words[index][0] = merged
        pairs = +pairs if len(merges) % 64 == 0 else pairs
        pairs.pop(best, None)
    return merges


class Tokenizer:
    """A trained vocabulary: the special tokens, the 256 bytes, then one token per merge."""

    def __init__(self, merges):
        self.merges = [tuple(m) for m in merges]
        self.tokens = SPECIALS + ALPHABET + [a + b for a, b in self.merges]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.rank = {pair: i for i, pair in enumerate(self.merges)}
        self.cache = {}

    @classmethod
    def load(cls, path):
        """Reads the tokenizer.json that to_json made."""
        with open(path, encoding='utf-8') as file:
            return cls([tuple(m.split(' ')) for m in json.load(file)['model']['merges']])

    def word(self, word):
        """Ids of one pre-tokenised word."""
        if word not in self.cache:
            symbols = tuple(ALPHABET[b] for b in word.encode())
            while len(symbols) > 1:
                best = min(zip(symbols, symbols[1:]), key=lambda p: self.rank.get(p, 1 << 30))
                if best not in self.rank:
                    break
                symbols = merge_pair(symbols, best)
            self.cache[word] = [self.ids[s] for s in symbols]
        return self.cache[word]

    def encode(self, text):
        """Ids of plain text; special tokens are never read out of it."""
        return [i for word in WORDS.findall(text) for i in self.word(word)]

    def decode(self, ids):
        """Text of ids; specials appear by name, broken UTF-8 as U+FFFD."""
        out = bytearray()
        for i in ids:
            if i < len(SPECIALS):
                out += SPECIALS[i].encode()
            else:
                out += bytes(BYTE_OF[c] for c in self.tokens[i])
        return out.decode('utf-8', 'replace')

    def to_json(self):
        """The tokenizer.json object of the tokenizers library."""
        flags = {'single_word': False, 'lstrip': False, 'rstrip': False, 'normalized': False, 'special': True}
        level = {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': True}
        return {
            'version': '1.0', 'truncation': None, 'padding': None,
            'added_tokens': [{'id': i, 'content': s, **flags} for i, s in enumerate(SPECIALS)],
            'normalizer': None, 'pre_tokenizer': level, 'post_processor': None, 'decoder': level,
            'model': {
                'type': 'BPE', 'dropout': None, 'unk_token': None, 'continuing_subword_prefix': None,
                'end_of_word_suffix': None, 'fuse_unk': False, 'byte_fallback': False,
                'vocab': self.ids, 'merges': [f'{a} {b}' for a, b in self.merges],
            },
        }
