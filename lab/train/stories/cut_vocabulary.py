"""Reduces the vocabulary of stories15M to the needs of the training text; writes out/start.pt and out/vocabulary.json."""
import argparse
import json
import re
from collections import Counter
from pathlib import Path

import torch

from stories.chat import turn_texts
from stories.gguf import read_gguf
from llama import Llama, LlamaConfig
from stories.spm import FIRST_BYTE, MARK, ROLES, CALL, CALL_END, SPECIALS, Spm
from stories.talk import SOURCES, plain_texts

SPECIAL = re.compile('|'.join(map(re.escape, SPECIALS)))
KEPT_WORDS = Path(__file__).with_name('words.txt')


def choose(teacher, texts, size):
    """The pieces to keep, by use: single characters, and each piece with the merges that lead to it.

    The merges of a kept piece stay within the kept set, so greedy merging by score still finds the piece.
    """
    words = Counter()
    for text in texts:
        words.update(w for w in (MARK + text.replace(' ', MARK)).replace(MARK, ' ' + MARK).split(' ') if w)
    uses, single = Counter(), Counter()
    for word, count in words.items():
        for piece in teacher.pieces_of(word):
            uses[piece] += count
        for c in word:
            single[c] += count
    kept = {c for c, count in single.items() if c in teacher.ids and count >= 3}
    kept |= {chr(c) for c in range(33, 127) if chr(c) in teacher.ids} | {MARK}
    for piece, count in uses.most_common():
        if piece not in teacher.ids:
            continue
        _, path = teacher.merge(piece)
        more = {piece, *path} - kept
        if len(kept) + len(more) > size:
            continue
        kept |= more
        if len(kept) == size:
            break
    return kept


def cut(teacher, kept):
    """The new vocabulary, and for each new id the old ids whose mean embedding it starts from."""
    pieces, scores, sources = list(teacher.pieces[:FIRST_BYTE + 256]), list(teacher.scores[:FIRST_BYTE + 256]), None
    pieces[1:3] = ['<|bos|>', '<|end|>']
    sources = [[i] for i in range(FIRST_BYTE + 256)]
    names = {'<|system|>': 'note', '<|user|>': 'said', '<|assistant|>': 'told', '<|tool|>': 'saw',
             CALL: 'called', CALL_END: 'done'}
    for text in [*ROLES, CALL, CALL_END]:
        pieces.append(text)
        scores.append(0.0)
        sources.append([1, 2, *teacher.encode(names[text])])
    for i, piece in enumerate(teacher.pieces):
        if piece in kept and teacher.ids.get(piece) == i:
            pieces.append(piece)
            scores.append(teacher.scores[i])
            sources.append([i])
    return Spm(pieces, scores, SPECIALS), sources


def halves(matrix, heads):
    """Reorders rows of q or k from adjacent rotary pairs to the halves layout."""
    rows, width = matrix.shape
    return matrix.reshape(heads, rows // heads // 2, 2, width).transpose(0, 2, 1, 3).reshape(rows, width)


def teacher_of(path, context=512, theta=10000.0):
    """The vocabulary and the model of a Llama in GGUF; theta is the base of its rotary positions."""
    meta, tensors = read_gguf(path)
    heads = meta['llama.attention.head_count']
    config = LlamaConfig(
        vocab=len(meta['tokenizer.ggml.tokens']), hidden=meta['llama.embedding_length'],
        layers=meta['llama.block_count'], heads=heads, kv_heads=meta['llama.attention.head_count_kv'],
        head_dim=meta['llama.embedding_length'] // heads, intermediate=meta['llama.feed_forward_length'],
        context=context, theta=theta, eps=meta['llama.attention.layer_norm_rms_epsilon'])
    model = Llama(config)
    t = {name: torch.from_numpy(value) for name, value in tensors.items()}
    state = {'embed': t['token_embd.weight'], 'final_norm': t['output_norm.weight']}
    for i in range(config.layers):
        at = f'blk.{i}.'
        q = torch.from_numpy(halves(tensors[at + 'attn_q.weight'], heads))
        k = torch.from_numpy(halves(tensors[at + 'attn_k.weight'], config.kv_heads))
        state.update({
            f'layers.{i}.qkv': torch.cat([q, k, t[at + 'attn_v.weight']]),
            f'layers.{i}.out': t[at + 'attn_output.weight'],
            f'layers.{i}.gate_up': torch.cat([t[at + 'ffn_gate.weight'], t[at + 'ffn_up.weight']]),
            f'layers.{i}.down': t[at + 'ffn_down.weight'],
            f'layers.{i}.norm1': t[at + 'attn_norm.weight'], f'layers.{i}.norm2': t[at + 'ffn_norm.weight'],
        })
    model.load_state_dict(state)
    return Spm(meta['tokenizer.ggml.tokens'], meta['tokenizer.ggml.scores']), model


def main():
    """Reduces the vocabulary and prints the number of kept pieces."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--model', type=Path, default=Path('inputs/stories15M-f16.gguf'))
    parser.add_argument('--text', type=Path, default=Path('inputs/text'))
    parser.add_argument('--more', type=Path, nargs='*', default=[], help='JSON lines of generated documents')
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--size', type=int, default=6144, help='pieces, bytes and special tokens together')
    parser.add_argument('--theta', type=float, default=22000.0, help='base of the rotary positions, for twice the context')
    args = parser.parse_args()
    args.out.mkdir(exist_ok=True)
    vocabulary, model = teacher_of(args.model, theta=args.theta)
    fixed = FIRST_BYTE + 256 + len(ROLES) + 2
    texts = [t for source in SOURCES for t in plain_texts(source, args.text)]
    for path in args.more:
        for line in path.open(encoding='utf-8'):
            document = json.loads(line)
            texts += [t for _, turn in turn_texts(document['messages'], document.get('tools') or ())
                      for t in SPECIAL.split(turn)]
    texts += [KEPT_WORDS.read_text(encoding='utf-8').replace('\n', ' ')] * 20
    kept = choose(vocabulary, texts, args.size - fixed)
    small, sources = cut(vocabulary, kept)
    lost = [p for p in small.ids if small.pieces_of(p) != [p]]
    assert not lost, f'{len(lost)} pieces cannot be reached, {lost[:5]}'
    state = dict(model.state_dict())
    state['embed'] = torch.stack([state['embed'][ids].mean(0) for ids in sources])
    config = {**vars(model.config), 'vocab': len(small.pieces)}
    torch.save({'family': 'llama', 'config': config, 'model': state, 'step': 0}, args.out / 'start.pt')
    (args.out / 'vocabulary.json').write_text(
        json.dumps({'pieces': small.pieces, 'scores': small.scores}, ensure_ascii=False), encoding='utf-8')
    before = sum(len(vocabulary.encode(t)) for t in texts[:3000])
    after = sum(len(small.encode(t)) for t in texts[:3000])
    print(f'{len(vocabulary.pieces)} -> {len(small.pieces)} pieces, '
          f'{before} -> {after} tokens of the first 3000 texts, {len(small.merges())} merges')


if __name__ == '__main__':
    main()
