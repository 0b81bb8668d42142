"""A checkpoint in, a Hugging Face model folder out: config, tokenizer, chat template, safetensors."""
import argparse
import json
from pathlib import Path

import numpy as np
import torch

from scratch.bpe import BOS, END, PAD, Tokenizer
from family import restore
from names import NAMES
from weights import snap, write_safetensors

TEMPLATE = ("{{ bos_token }}{% for message in messages %}"
            "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")


def main():
    """Writes the folder. --snap is for checkpoints from the quantisation-aware phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--to', type=Path, default=Path('out/export'))
    parser.add_argument('--snap', action='store_true', help='store the fake-quantised values of the matrices')
    parser.add_argument('--f32', action='store_true', help='store float32 instead of float16')
    args = parser.parse_args()
    saved = torch.load(args.out / 'checkpoint.pt')
    model = restore(saved)
    c, kind = model.config, np.float32 if args.f32 else np.float16
    tensors_of, config_of = NAMES[saved['family']]
    named = tensors_of(snap(model) if args.snap else model.state_dict(), c)
    tensors = {name: tensor.numpy().astype(kind) for name, tensor in named.items()}
    args.to.mkdir(parents=True, exist_ok=True)
    write_safetensors(args.to / 'model.safetensors', tensors, {'format': 'pt'})
    tokenizer = Tokenizer.load(args.out / 'tokenizer.json')
    files = {
        'config.json': {
            **config_of(c), 'vocab_size': c.vocab, 'hidden_size': c.hidden, 'num_hidden_layers': c.layers,
            'tie_word_embeddings': True,
            'bos_token_id': BOS, 'eos_token_id': END, 'pad_token_id': PAD,
            'torch_dtype': 'float32' if args.f32 else 'float16',
        },
        'generation_config.json': {
            'bos_token_id': BOS, 'eos_token_id': END, 'pad_token_id': PAD, 'do_sample': True,
            'temperature': 0.6,
            'top_p': 0.9, 'top_k': 40, 'repetition_penalty': 1.1, 'max_new_tokens': 256,
        },
        'tokenizer.json': tokenizer.to_json(),
        'tokenizer_config.json': {
            'tokenizer_class': 'PreTrainedTokenizerFast', 'model_max_length': c.context,
            'bos_token': '<|bos|>',
            'eos_token': '<|end|>', 'pad_token': '<|pad|>', 'add_bos_token': True,
            'clean_up_tokenization_spaces': False,
            'additional_special_tokens': ['<|user|>', '<|assistant|>', '<|system|>'],
            'chat_template': TEMPLATE,
        },
    }
    for name, content in files.items():
        text = json.dumps(content, ensure_ascii=False, indent=None if name == 'tokenizer.json' else 1)
        (args.to / name).write_text(text, encoding='utf-8')
    print(args.to, 'step', saved['step'], sum(t.size for t in tensors.values()), 'parameters')


if __name__ == '__main__':
    main()
