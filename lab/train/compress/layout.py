"""Maps a model's parameters to the tensors of its pack."""
import re
from typing import NamedTuple


class Layout(NamedTuple):
    """The names in a pack, by parameter."""
    #: A matrix, and the tensors that its rows consist of, in order.
    matrices: dict
    #: A norm's gain, and its tensor.
    gains: dict
    #: Tables of the vocabulary, which a pack stores in 8 bits.
    tables: list

    def prefixed(self, beginning):
        """The layout of a module that contains the model, with the prefix of its parameters' names."""
        return Layout({beginning + name: parts for name, parts in self.matrices.items()},
                      {beginning + name: part for name, part in self.gains.items()}, [beginning + name for name in self.tables])


#: The matrices of a layer in the models of this folder.
MLP = {'gate_up': ['mlp_gate', 'mlp_up'], 'down': ['mlp_down']}
MATRICES = {'llama': {'qkv': ['attn_q', 'attn_k', 'attn_v'], 'out': ['attn_output'], **MLP},
            'granitehybrid': {'in_proj': ['ssm_in_z', 'ssm_in_x', 'ssm_in_dt'], 'out': ['ssm_output'], **MLP}}
GAINS = {'llama': {'norm1': 'attn_norm', 'norm2': 'mlp_norm'},
         'granitehybrid': {'norm1': 'ssm_norm', 'norm2': 'mlp_norm', 'gate_norm': 'ssm_gate_norm'}}

#: The same in transformers.
MODULES = {'self_attn.q_proj': 'attn_q', 'self_attn.k_proj': 'attn_k', 'self_attn.v_proj': 'attn_v', 'self_attn.o_proj': 'attn_output',
           'mlp.gate_proj': 'mlp_gate', 'mlp.up_proj': 'mlp_up', 'mlp.down_proj': 'mlp_down'}
NORMS = {'input_layernorm': 'attn_norm', 'post_attention_layernorm': 'mlp_norm'}
#: Model types that have these two norms in a layer, with gains as a pack stores them. Other gains are frozen.
PLAIN_NORMS = ('llama', 'mistral', 'qwen2', 'qwen3', 'smollm3')


def own_layout(family, layers):
    """The layout of a model of this folder, by its family and its number of layers."""
    def named(table, of):
        return {f'layers.{i}.{ours}': of(f'layers.{i}.', theirs) for i in range(layers) for ours, theirs in table[family].items()}
    gains = named(GAINS, lambda at, name: f'{at}{name}.weight')
    return Layout(named(MATRICES, lambda at, names: [f'{at}{name}.weight' for name in names]), {**gains, 'final_norm': 'norm.weight'}, ['embed'])


def transformers_layout(model, matrices):
    """The layout of a model of transformers whose 4-bit matrices have these module names.

    Raises ValueError for a matrix without a known name in packs.
    """
    layout = Layout({}, {}, [])
    for name in matrices:
        at = re.search(r'layers\.(\d+)\.(.+)$', name)
        if at is None or at[2] not in MODULES:
            raise ValueError(f'{name} has no known name in packs; the layers {", ".join(MODULES)} can be trained')
        layout.matrices[f'{name}.weight'] = [f'layers.{at[1]}.{MODULES[at[2]]}.weight']
    plain = model.config.model_type in PLAIN_NORMS
    for name, parameter in model.named_parameters():
        at = re.search(r'layers\.(\d+)\.(\w+)\.weight$', name)
        if plain and at is not None and at[2] in NORMS:
            layout.gains[name] = f'layers.{at[1]}.{NORMS[at[2]]}.weight'
        elif plain and name.endswith('model.norm.weight'):
            layout.gains[name] = 'norm.weight'
        elif parameter.shape[0] == model.config.vocab_size and parameter.ndim == 2:
            layout.tables.append(name)
    return layout
