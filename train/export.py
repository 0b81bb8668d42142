"""A checkpoint in, a Hugging Face model folder out: config, tokenizer, chat template, safetensors."""
import argparse
import json
import struct
from pathlib import Path

import numpy as np
import torch

from bpe import BOS, END, PAD, Tokenizer
from model import Config, quantise4, quantise8

TEMPLATE = ("{{ bos_token }}{% for message in messages %}"
            "{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")
DTYPE = {np.dtype(np.float16): 'F16', np.dtype(np.float32): 'F32'}


def write_safetensors(path, tensors, metadata):
    """Writes arrays by name: header length, JSON header padded with spaces to 8 bytes, then the data."""
    header, offset = {'__metadata__': metadata}, 0
    for name, array in tensors.items():
        span = [offset, offset + array.nbytes]
        header[name] = {'dtype': DTYPE[array.dtype], 'shape': list(array.shape), 'data_offsets': span}
        offset += array.nbytes
    text = json.dumps(header, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text)
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).tobytes())


def llama_tensors(state, config):
    """Hugging Face Llama names to float32 arrays, the fused matrices split apart."""
    c, out = config, {'model.embed_tokens.weight': state['embed']}
    for i in range(c.layers):
        sizes = [heads * c.head_dim for heads in (c.heads, c.kv_heads, c.kv_heads)]
        q, k, v = state[f'layers.{i}.qkv'].split(sizes)
        gate, up = state[f'layers.{i}.gate_up'].chunk(2)
        at = f'model.layers.{i}.'
        out.update({
            at + 'input_layernorm.weight': state[f'layers.{i}.norm1'],
            at + 'self_attn.q_proj.weight': q, at + 'self_attn.k_proj.weight': k,
            at + 'self_attn.v_proj.weight': v,
            at + 'self_attn.o_proj.weight': state[f'layers.{i}.out'],
            at + 'post_attention_layernorm.weight': state[f'layers.{i}.norm2'],
            at + 'mlp.gate_proj.weight': gate, at + 'mlp.up_proj.weight': up,
            at + 'mlp.down_proj.weight': state[f'layers.{i}.down'],
        })
    out['model.norm.weight'] = state['final_norm']
    return {name: tensor.numpy() for name, tensor in out.items()}


def snap(state):
    """Every matrix replaced by its quantised value, so that any packer finds the grid QAT trained for."""
    snapped = {name: quantise4(t) for name, t in state.items() if t.ndim == 2 and name != 'embed'}
    return {**state, **snapped, 'embed': quantise8(state['embed'])}


def main():
    """Writes the folder. --snap is for checkpoints from the quantisation-aware phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('out'))
    parser.add_argument('--to', type=Path, default=Path('out/export'))
    parser.add_argument('--snap', action='store_true', help='store the fake-quantised values of the matrices')
    parser.add_argument('--f32', action='store_true', help='store float32 instead of float16')
    args = parser.parse_args()
    saved = torch.load(args.out / 'checkpoint.pt')
    c, state = Config(**saved['config']), saved['model']
    kind = np.float32 if args.f32 else np.float16
    tensors = {k: v.astype(kind) for k, v in llama_tensors(snap(state) if args.snap else state, c).items()}
    args.to.mkdir(parents=True, exist_ok=True)
    write_safetensors(args.to / 'model.safetensors', tensors, {'format': 'pt'})
    tokenizer = Tokenizer.load(args.out / 'tokenizer.json')
    files = {
        'config.json': {
            'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'vocab_size': c.vocab,
            'hidden_size': c.hidden,
            'num_hidden_layers': c.layers, 'num_attention_heads': c.heads, 'num_key_value_heads': c.kv_heads,
            'head_dim': c.head_dim, 'intermediate_size': c.intermediate, 'max_position_embeddings': c.context,
            'rope_theta': c.theta, 'rms_norm_eps': c.eps, 'hidden_act': 'silu', 'tie_word_embeddings': True,
            'attention_bias': False, 'mlp_bias': False,
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
