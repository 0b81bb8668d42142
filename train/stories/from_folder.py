"""A folder that stories/export.py wrote in; out/start.pt and out/vocabulary.json out, so that training can go on from it."""
import argparse
import json
import struct
from pathlib import Path

import numpy as np
import torch

from llama import Llama, LlamaConfig
from names import NAMES


def read_bf16(path):
    """The f32 tensors of a bfloat16 safetensors file by name. Raises ValueError for another type."""
    data = Path(path).read_bytes()
    length, = struct.unpack_from('<Q', data)
    header = json.loads(data[8:8 + length])
    header.pop('__metadata__', None)
    tensors = {}
    for name, info in header.items():
        if info['dtype'] != 'BF16':
            raise ValueError(f'{name} in {path} is {info["dtype"]}; BF16 is read')
        start, end = (8 + length + offset for offset in info['data_offsets'])
        bits = np.frombuffer(data[start:end], np.uint16).astype(np.uint32) << 16
        tensors[name] = torch.from_numpy(bits.view(np.float32).reshape(info['shape']).copy())
    return tensors


def vocabulary_of(tokenizer):
    """Pieces and scores of a tokenizer.json: a piece's score is minus the place of the first merge that makes it."""
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
    model = model_of(read_bf16(args.folder / 'model.safetensors'), config)
    tokenizer = json.loads((args.folder / 'tokenizer.json').read_text(encoding='utf-8'))
    args.out.mkdir(exist_ok=True)
    torch.save({'family': 'llama', 'config': vars(model.config), 'model': model.state_dict(), 'step': 0},
               args.out / 'start.pt')
    (args.out / 'vocabulary.json').write_text(json.dumps(vocabulary_of(tokenizer), ensure_ascii=False), encoding='utf-8')


if __name__ == '__main__':
    main()
