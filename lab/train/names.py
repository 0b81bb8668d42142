"""Converts a family's parameters to Hugging Face tensors and config.json."""
from mamba2 import WIDTH


def llama_tensors(state, config):
    """Splits the fused matrices."""
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
    return out


def llama_config(c):
    """The keys specific to the family."""
    return {
        'architectures': ['LlamaForCausalLM'], 'model_type': 'llama', 'num_attention_heads': c.heads,
        'num_key_value_heads': c.kv_heads, 'head_dim': c.head_dim, 'intermediate_size': c.intermediate,
        'max_position_embeddings': c.context, 'rope_theta': c.theta, 'rms_norm_eps': c.eps, 'hidden_act': 'silu',
        'attention_bias': False, 'mlp_bias': False,
    }


def granitehybrid_tensors(state, config):
    """Granite's names for Mamba-2 and the fused MLP."""
    out = {'model.embed_tokens.weight': state['embed']}
    own = {'norm1': 'input_layernorm.weight', 'in_proj': 'mamba.in_proj.weight', 'conv_bias': 'mamba.conv1d.bias',
           'dt_bias': 'mamba.dt_bias', 'a_log': 'mamba.A_log', 'd': 'mamba.D', 'gate_norm': 'mamba.norm.weight',
           'out': 'mamba.out_proj.weight', 'norm2': 'post_attention_layernorm.weight',
           'gate_up': 'shared_mlp.input_linear.weight', 'down': 'shared_mlp.output_linear.weight'}
    for i in range(config.layers):
        layer, at = f'layers.{i}.', f'model.layers.{i}.'
        out.update({at + theirs: state[layer + ours] for ours, theirs in own.items()})
        out[at + 'mamba.conv1d.weight'] = state[layer + 'conv'][:, None]
    out['model.norm.weight'] = state['final_norm']
    return out


def granitehybrid_config(c):
    """The keys specific to the family. Attention sizes are required, although no layer has attention."""
    return {
        'architectures': ['GraniteMoeHybridForCausalLM'], 'model_type': 'granitemoehybrid',
        'layer_types': ['mamba'] * c.layers, 'num_local_experts': 0, 'num_experts_per_tok': 0,
        'shared_intermediate_size': c.intermediate, 'intermediate_size': c.intermediate,
        'num_attention_heads': c.heads, 'num_key_value_heads': c.heads, 'position_embedding_type': 'nope',
        'mamba_n_heads': c.heads, 'mamba_d_head': c.inner // c.heads, 'mamba_n_groups': c.groups,
        'mamba_d_state': c.states, 'mamba_d_conv': WIDTH, 'mamba_expand': c.inner // c.hidden, 'mamba_conv_bias': True,
        'mamba_proj_bias': False, 'embedding_multiplier': 1.0, 'residual_multiplier': 1.0, 'attention_multiplier': 1.0,
        'logits_scaling': 1.0, 'max_position_embeddings': c.context, 'rms_norm_eps': c.eps, 'hidden_act': 'silu',
        'attention_bias': False,
    }


NAMES = {'llama': (llama_tensors, llama_config), 'granitehybrid': (granitehybrid_tensors, granitehybrid_config)}
