"""Turns a folder written by stories/export.py into out/start.pt and out/vocabulary.json, to continue training from it."""
import argparse
import json
from pathlib import Path

import torch

from llama import Llama, LlamaConfig
from names import NAMES
from weights import read_safetensors


def vocabulary_of(tokenizer):
    """Pieces and scores of a tokenizer.json: a piece's score is minus the index of the first merge that makes it."""
    ids = tokenizer['model']['vocab']
    ranks = {}
    for rank, pair in enumerate(tokenizer['model']['merges']):
        ranks.setdefault(''.join(pair), rank)
    pieces = sorted(ids, key=ids.get)
    return {'pieces': pieces, 'scores': [-float(ranks.get(piece, len(tokenizer['model']['merges']))) for piece in pieces]}


def model_of(tensors, config):
    """The Llama with these Hugging Face tensors: names.py gives views of its parameters, which are filled in place."""
    model = Llama(LlamaConfig(
        vocab=config['vocab_size'], hidden=config['hidden_size'], layers=config['num_hidden_layers'],
        context=config['max_position_embeddings'], heads=config['num_attention_heads'],
        kv_heads=config['num_key_value_heads'], head_dim=config['head_dim'], intermediate=config['intermediate_size'],
        theta=config['rope_theta'], eps=config['rms_norm_eps']))
    tensors_of, _ = NAMES['llama']
    for name, view in tensors_of(model.state_dict(), model.config).items():
        view.copy_(tensors[name])
    return model


def main():
    """Writes both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--folder', type=Path, default=Path('models/halfbyte-stories'))
    parser.add_argument('--out', type=Path, default=Path('out'))
    args = parser.parse_args()
    config = json.loads((args.folder / 'config.json').read_text())
    model = model_of(read_safetensors(args.folder / 'model.safetensors'), config)
    tokenizer = json.loads((args.folder / 'tokenizer.json').read_text(encoding='utf-8'))
    args.out.mkdir(exist_ok=True)
    torch.save({'family': 'llama', 'config': vars(model.config), 'model': model.state_dict(), 'step': 0},
               args.out / 'start.pt')
    (args.out / 'vocabulary.json').write_text(json.dumps(vocabulary_of(tokenizer), ensure_ascii=False), encoding='utf-8')


if __name__ == '__main__':
    main()
