// Falcon: parallel blocks. The 7B model has a single KV head; later ones have a norm for each block.
import type { ModelConfig } from '../../config/config.ts'
import { type Fields, unbuiltVariant } from '../../config/fields.ts'
import { defaults, family, modules } from '../../family.ts'
import { GPT } from './gpt2.ts'
import { groupedQkv, stackedQkv } from './merged-qkv.ts'

const AT = 'transformer.h.N'

function hfFalcon(fields: Fields, { heads, hiddenSize, contextLength, rope }: ModelConfig) {
  const isNew = fields.fact('new_decoder_architecture', false)
  if (fields.fact('alibi', false)) {
    // transformers rounds slope times position to bf16, so its results depend on where a text starts.
    throw unbuiltVariant(fields.file, 'ALiBi', 'rotary positions')
  }
  const isParallel = isNew || fields.fact('parallel_attn', true)
  const norms = fields.number('num_ln_in_parallel_attn', isNew ? 2 : 1)
  const headDim = hiddenSize / heads
  const isShared = !isNew && fields.fact('multi_query', true)
  return {
    headDim,
    kvHeads: isShared ? 1 : isNew ? fields.number('num_kv_heads', heads) : heads,
    contextLength,
    intermediateSize: fields.number('ffn_hidden_size', 4 * hiddenSize),
    rope: { ...rope, dims: headDim },
    parallelResidual: isParallel,
    sharedNorm: isParallel && norms !== 2,
  }
}

export const falcon = family(
  { ...GPT, qkvBias: false, bias: false, normBias: true, activation: 'gelu_exact' },
  {
    gguf: {
      architecture: 'falcon',
      pairing: 'halves',
      config: (_, __, kinds) => ({ parallelResidual: true, sharedNorm: !kinds.has('attn_norm_2.weight') }),
      names: {
        ...stackedQkv('blk.N.attn_qkv'),
        ...modules({
          'layers.N.mlp_norm': 'blk.N.attn_norm',
        }),
        'layers.N.attn_norm.weight': 'blk.N.attn_norm_2.weight|blk.N.attn_norm.weight',
        'layers.N.attn_norm.bias': 'blk.N.attn_norm_2.bias|blk.N.attn_norm.bias',
      },
    },
    hf: {
      classes: {
        FalconForCausalLM: defaults(65_024, 4544, 0, 32, 71, 2048, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
        }),
      },
      keys: { rms_norm_eps: 'layer_norm_epsilon', hidden_act: 'activation' },
      biases: { qkv: 'bias', output: 'bias', mlp: 'bias' },
      config: hfFalcon,
      names: {
        ...groupedQkv(`${AT}.self_attention.query_key_value`),
        'embed.weight': 'transformer.word_embeddings.weight',
        ...modules({
          norm: 'transformer.ln_f',
          'layers.N.attn_output': `${AT}.self_attention.dense`,
          'layers.N.mlp_up': `${AT}.mlp.dense_h_to_4h`,
          'layers.N.mlp_down': `${AT}.mlp.dense_4h_to_h`,
        }),
        'layers.N.attn_norm.weight': `${AT}.ln_attn.weight|${AT}.input_layernorm.weight`,
        'layers.N.attn_norm.bias': `${AT}.ln_attn.bias|${AT}.input_layernorm.bias`,
        'layers.N.mlp_norm.weight': `${AT}.ln_mlp.weight|${AT}.post_attention_layernorm.weight`,
        'layers.N.mlp_norm.bias': `${AT}.ln_mlp.bias|${AT}.post_attention_layernorm.bias`,
      },
    },
  },
)
