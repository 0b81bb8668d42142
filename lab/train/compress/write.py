"""Writes a trained student as a Hugging Face folder whose matrices have the values of their codes."""
import json

from names import NAMES
from weights import snap, write_safetensors


def write_folder(to, family, model, vocabulary):
    """config.json, model.safetensors in f32, and tokenizer.json when there is a vocabulary."""
    tensors_of, config_of = NAMES[family]
    c = model.config
    state = snap(model) if model.qat else model.state_dict()
    to.mkdir(parents=True, exist_ok=True)
    write_safetensors(to / 'model.safetensors', tensors_of(state, c))
    if vocabulary is not None:
        bos, end = vocabulary.pieces[1:3]
        (to / 'tokenizer.json').write_text(json.dumps(vocabulary.to_json(), ensure_ascii=False), encoding='utf-8')
        settings = {'tokenizer_class': 'PreTrainedTokenizerFast', 'bos_token': bos, 'eos_token': end, 'add_bos_token': True}
        (to / 'tokenizer_config.json').write_text(json.dumps(settings), encoding='utf-8')
    config = {**config_of(c), 'vocab_size': c.vocab, 'hidden_size': c.hidden, 'num_hidden_layers': c.layers,
              'tie_word_embeddings': True, 'bos_token_id': 1, 'eos_token_id': 2, 'torch_dtype': 'float32'}
    (to / 'config.json').write_text(json.dumps(config, indent=1) + '\n', encoding='utf-8')
