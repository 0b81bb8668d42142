// BLOOM and MPT: GPT-2 with ALiBi in place of positions. BLOOM normalises its embeddings; MPT has no biases.
import { ALIBI, alibiValue } from '../../blocks/alibi.ts'
import type { ModelConfig } from '../../config/config.ts'
import { unbuiltVariant } from '../../config/fields.ts'
import { defaults, family, modules, type Names } from '../../family.ts'
import { GPT } from './gpt2.ts'
import { groupedQkv, stackedQkv } from './merged-qkv.ts'

const TABLE: Names = { [ALIBI]: (config) => ({ tensor: '', constant: alibiValue(config) }) }

/** Sizes that are the same in all models of the class, whatever the file states. */
const ownHeads = ({ heads, hiddenSize }: ModelConfig) => ({
  kvHeads: heads,
  headDim: hiddenSize / heads,
  intermediateSize: 4 * hiddenSize,
})

const BLOOM = 'transformer.h.N'

export const bloom = family(
  { ...GPT, positions: 'alibi', embeddingNorm: true },
  {
    gguf: {
      architecture: 'bloom',
      pairing: 'halves',
      config: () => ({ alibi: 8 }),
      names: { ...TABLE, ...stackedQkv('blk.N.attn_qkv') },
    },
    hf: {
      classes: {
        BloomForCausalLM: defaults(250_880, 64, 0, 2, 8, 2048, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
        }),
      },
      keys: {
        num_hidden_layers: 'n_layer',
        num_attention_heads: 'n_head',
        rms_norm_eps: 'layer_norm_epsilon',
        max_position_embeddings: 'seq_length',
      },
      biases: {},
      config(fields, common) {
        if (fields.fact('apply_residual_connection_post_layernorm', false))
          throw unbuiltVariant(
            fields.file,
            'residual sums that add normalised rows',
            'residual sums that add the rows before the norm',
          )
        return { ...ownHeads(common), alibi: 8 }
      },
      names: {
        ...TABLE,
        ...groupedQkv(`${BLOOM}.self_attention.query_key_value`),
        'embed.weight': 'transformer.word_embeddings.weight',
        ...modules({
          embed_norm: 'transformer.word_embeddings_layernorm',
          norm: 'transformer.ln_f',
          'layers.N.attn_norm': `${BLOOM}.input_layernorm`,
          'layers.N.attn_output': `${BLOOM}.self_attention.dense`,
          'layers.N.mlp_norm': `${BLOOM}.post_attention_layernorm`,
          'layers.N.mlp_up': `${BLOOM}.mlp.dense_h_to_4h`,
          'layers.N.mlp_down': `${BLOOM}.mlp.dense_4h_to_h`,
        }),
      },
    },
  },
)

const MPT = 'transformer.blocks.N'

export const mpt = family(
  { ...GPT, qkvBias: false, bias: false, positions: 'alibi', activation: 'gelu_exact' },
  {
    gguf: {
      architecture: 'mpt',
      pairing: 'halves',
      config(fields) {
        const alibi = fields.number('attention.max_alibi_bias', 0)
        if (alibi === 0) throw unbuiltVariant(fields.file, 'no ALiBi', 'it')
        return { alibi }
      },
      names: { ...TABLE, ...stackedQkv('blk.N.attn_qkv') },
    },
    hf: {
      classes: {
        MptForCausalLM: defaults(50_368, 2048, 0, 24, 16, 2048, {
          rms_norm_eps: 1e-5,
          tie_word_embeddings: true,
        }),
      },
      keys: {
        hidden_size: 'd_model',
        num_hidden_layers: 'n_layers',
        num_attention_heads: 'n_heads',
        rms_norm_eps: 'layer_norm_epsilon',
        max_position_embeddings: 'max_seq_len',
      },
      biases: {},
      config(fields, common) {
        const refuse = (found: string, supported: string) => unbuiltVariant(fields.file, found, supported)
        const own = fields.record('attn_config')
        if (own?.fact('alibi', true) === false) throw refuse('no ALiBi', 'ALiBi')
        if (own?.fact('qk_ln', false) === true) throw refuse('norms of queries and keys', 'none')
        if (fields.has('logit_scale')) throw refuse('a scale of its logits', 'none')
        const limit = own?.number('clip_qkv', 0) ?? 0
        const scale = own?.number('softmax_scale', 0) ?? 0
        return {
          ...ownHeads(common),
          alibi: own?.number('alibi_bias_max', 8) ?? 8,
          ...(limit > 0 && { qkvLimit: limit }),
          ...(scale !== 0 && { attentionScale: scale }),
        }
      },
      names: {
        ...TABLE,
        ...stackedQkv(`${MPT}.attn.Wqkv`),
        'embed.weight': 'transformer.wte.weight',
        'norm.weight': 'transformer.norm_f.weight',
        'layers.N.attn_norm.weight': `${MPT}.norm_1.weight`,
        'layers.N.attn_output.weight': `${MPT}.attn.out_proj.weight`,
        'layers.N.mlp_norm.weight': `${MPT}.norm_2.weight`,
        'layers.N.mlp_up.weight': `${MPT}.ffn.up_proj.weight`,
        'layers.N.mlp_down.weight': `${MPT}.ffn.down_proj.weight`,
      },
    },
  },
)
