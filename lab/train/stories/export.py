"""Exports a checkpoint of the story model as a Hugging Face folder: config, tokenizer, chat template, safetensors."""
import argparse
import json
from pathlib import Path

import torch

from stories import spm
from stories.chat import TEMPLATE
from family import restore
from stories.finetune import LENGTH
from model import quantise4
from names import NAMES
from stories.spm import BOS, END, ROLES, UNKNOWN
from weights import FOUR_BIT, packed4, snap, write_safetensors

SAMPLING = {'do_sample': True, 'temperature': 0.5, 'top_p': 0.9, 'top_k': 40, 'repetition_penalty': 1.0,
            'max_new_tokens': 400}


#: Positions stated in the configuration. A Mamba has no positions and therefore no limit.
POSITIONS = {'llama': LENGTH, 'granitehybrid': 1 << 20}


def write_folder(to, model, vocabulary, snapped, kind, family='llama'):
    """Writes the folder; snapped stores the fake-quantised values, kind is f32 or bf16. Halfbyte packs a table in 8 bits unless
    the file has 4, so a snapped 4-bit table is stored as codes."""
    c, positions = model.config, POSITIONS[family]
    tensors_of, config_of = NAMES[family]
    named = tensors_of(snap(model) if snapped else model.state_dict(), c)
    to.mkdir(parents=True, exist_ok=True)
    coded = [n for n in named if snapped and 'embed' in n and model.QUANTISERS['embed'] is quantise4]
    tensors = {n: t.bfloat16() if kind == 'bf16' else t.float() for n, t in named.items() if n not in coded}
    for name in coded:
        tensors.update(packed4(name, named[name].numpy()))
    write_safetensors(to / 'model.safetensors', tensors)
    ids = {'bos_token_id': BOS, 'eos_token_id': END, 'pad_token_id': UNKNOWN}
    files = {
        'config.json': {
            **config_of(c), 'max_position_embeddings': positions, 'vocab_size': c.vocab, 'hidden_size': c.hidden, 'num_hidden_layers': c.layers,
            'tie_word_embeddings': True, **ids, 'torch_dtype': 'bfloat16' if kind == 'bf16' else 'float32',
            **({'quantization_config': FOUR_BIT} if coded else {})},
        'generation_config.json': {**ids, **SAMPLING},
        'tokenizer.json': vocabulary.to_json(),
        'tokenizer_config.json': {
            'tokenizer_class': 'PreTrainedTokenizerFast', 'model_max_length': positions, 'bos_token': '<|bos|>',
            'eos_token': '<|end|>', 'pad_token': '<unk>', 'unk_token': '<unk>', 'add_bos_token': True,
            'clean_up_tokenization_spaces': False, 'additional_special_tokens': [*ROLES, spm.CALL, spm.CALL_END],
            'chat_template': TEMPLATE},
    }
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, indent=None if name == 'tokenizer.json' else 1,
                          separators=(',', ':') if name == 'tokenizer.json' else None)
        (to / name).write_text(text + ('' if name == 'tokenizer.json' else '\n'), encoding='utf-8')


def main():
    """Writes the folder of a checkpoint, or of the model before training (out/start.pt)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--from', dest='source', type=Path, help='default: out/checkpoint.pt')
    parser.add_argument('--to', type=Path, default=Path('out/export'))
    parser.add_argument('--snap', action='store_true', help='store the fake-quantised values of the matrices')
    parser.add_argument('--kind', choices=['f32', 'bf16'], default='f32')
    args = parser.parse_args()
    saved = torch.load(args.source or args.out / 'checkpoint.pt')
    vocabulary = spm.load(json.loads((args.out / 'vocabulary.json').read_text(encoding='utf-8')))
    write_folder(args.to, restore(saved), vocabulary, args.snap, args.kind, saved['family'])
    print(args.to, 'step', saved['step'], 'progress', saved.get('progress'))


if __name__ == '__main__':
    main()
