// Makes random recurrent models: the same weights as GGUF and in the layouts of Hugging Face and mamba_ssm.
import type { MetaValue } from '../../../src/core/formats/tensors.ts'
import { byteLevelSpec } from '../../../src/core/text/testing/tiny.ts'
import { hubFolder, newFile, tokenizerMetadata } from './model-files.ts'
import { type GgufValue, ggufBytes } from './writers/gguf-writer.ts'
import { drawTensor, type RandomTensor, randomNormal } from './writers/random-tensor.ts'
import type { StoredTensor } from './writers/safetensors-writer.ts'

export type RecurrentFamily = 'mamba' | 'mamba2' | 'granitehybrid'

const sizesOf = ({ queries }: Pick<RandomRecurrent, 'queries'>) => ({
  hidden: 16 * queries,
  layers: 3,
  inner: 32 * queries,
  state: 16,
  taps: 4,
  rank: 4,
  // For Mamba-2: a head has 16 channels.
  heads: 2 * queries,
  attention: { layer: 1, kvHeads: 2, dim: 16 },
  wide: 24 * queries,
})
const EPSILON = 1e-5
/** Far from 1, so that a forgotten multiplier changes the result. */
const GRANITE = { embedding: 3, residual: 0.4, attention: 0.2, logits: 2 } as const

/** A tensor with its GGUF name and its Hugging Face name. GGUF stores some in another form. */
interface Tensor extends RandomTensor {
  readonly gguf: string
  readonly name: string
  readonly inGguf?: RandomTensor
}

export interface RandomRecurrent {
  readonly family: RecurrentFamily
  readonly groups: number
  /** A hybrid's query heads, of 16 values each. All widths follow from their number. */
  readonly queries: number
  readonly vocab: number
  readonly tensors: readonly Tensor[]
}

/** `groups`: Mamba-2's groups of heads that share B and C. */
export function randomRecurrent(
  family: RecurrentFamily,
  seed: number,
  groups = 1,
  queries = 4,
): RandomRecurrent {
  const sizes = sizesOf({ queries })
  const { hidden, layers, inner, state, taps, rank, heads, wide } = sizes
  const vocab = byteLevelSpec().tokens.length
  const normal = randomNormal(seed)
  const tensors: Tensor[] = []
  const draw = (shape: readonly number[], deviation: number, mean = 0) =>
    drawTensor(shape, () => mean + deviation * normal())
  const put = (gguf: string, name: string, tensor: RandomTensor, inGguf?: RandomTensor) =>
    tensors.push({ gguf, name, ...tensor, ...(inGguf && { inGguf }) })
  const matrix = (gguf: string, name: string, n: number, k: number) =>
    put(`${gguf}.weight`, `${name}.weight`, draw([n, k], 1 / Math.sqrt(k)))
  const norm = (gguf: string, name: string) => put(`${gguf}.weight`, `${name}.weight`, draw([hidden], 0.2, 1))
  const isHybrid = family === 'granitehybrid'
  const root = isHybrid ? 'model' : 'backbone'
  put(
    'token_embd.weight',
    `${root}.${isHybrid ? 'embed_tokens' : 'embeddings'}.weight`,
    draw([vocab, hidden], 0.3),
  )
  for (let layer = 0; layer < layers; layer++) {
    const to = `blk.${layer}`
    const at = `${root}.layers.${layer}`
    norm(`${to}.attn_norm`, isHybrid ? `${at}.input_layernorm` : `${at}.norm`)
    if (isHybrid && layer === sizes.attention.layer) attention(to, `${at}.self_attn`)
    else recurrent(to, `${at}.${isHybrid ? 'mamba' : 'mixer'}`)
    if (isHybrid) mlp(to, at)
  }
  norm('output_norm', isHybrid ? 'model.norm' : 'backbone.norm_f')
  return { family, groups, queries, vocab, tensors }

  function recurrent(to: string, at: string): void {
    const isMamba = family === 'mamba'
    const between = 2 * groups * state
    const channels = isMamba ? inner : inner + between
    matrix(`${to}.ssm_in`, `${at}.in_proj`, isMamba ? 2 * inner : inner + channels + heads, hidden)
    const kernel = draw([channels, 1, taps], 0.5)
    put(`${to}.ssm_conv1d.weight`, `${at}.conv1d.weight`, kernel, { ...kernel, shape: [channels, taps] })
    put(`${to}.ssm_conv1d.bias`, `${at}.conv1d.bias`, draw([channels], 0.3))
    const steps = isMamba ? inner : heads
    if (isMamba) {
      matrix(`${to}.ssm_x`, `${at}.x_proj`, rank + 2 * state, inner)
      matrix(`${to}.ssm_dt`, `${at}.dt_proj`, inner, rank)
    }
    put(`${to}.ssm_dt.bias`, isMamba ? `${at}.dt_proj.bias` : `${at}.dt_bias`, draw([steps], 1, -2))
    const decay = draw(isMamba ? [inner, state] : [heads], 0.7, 0.5)
    const column = (tensor: RandomTensor): RandomTensor => ({
      ...tensor,
      shape: isMamba ? tensor.shape : [heads, 1],
    })
    put(
      `${to}.ssm_a`,
      `${at}.A_log`,
      decay,
      column({ ...decay, values: decay.values.map((a) => -Math.exp(a)) }),
    )
    const skip = draw([steps], 0.5, 1)
    put(`${to}.ssm_d`, `${at}.D`, skip, isMamba ? skip : column(skip))
    if (!isMamba) {
      const gate = draw([inner], 0.2, 1)
      put(`${to}.ssm_norm.weight`, `${at}.norm.weight`, gate, { ...gate, shape: [groups, inner / groups] })
    }
    matrix(`${to}.ssm_out`, `${at}.out_proj`, hidden, inner)
  }

  function attention(to: string, at: string): void {
    const { kvHeads, dim } = sizes.attention
    matrix(`${to}.attn_q`, `${at}.q_proj`, queries * dim, hidden)
    matrix(`${to}.attn_k`, `${at}.k_proj`, kvHeads * dim, hidden)
    matrix(`${to}.attn_v`, `${at}.v_proj`, kvHeads * dim, hidden)
    matrix(`${to}.attn_output`, `${at}.o_proj`, hidden, queries * dim)
  }

  /** Gate and up are one tensor in Hugging Face's files and two in GGUF. */
  function mlp(to: string, at: string): void {
    norm(`${to}.ffn_norm`, `${at}.post_attention_layernorm`)
    const both = draw([2 * wide, hidden], 1 / Math.sqrt(hidden))
    const half = (index: number): RandomTensor => ({
      shape: [wide, hidden],
      values: both.values.slice(index * wide * hidden, (index + 1) * wide * hidden),
    })
    put(`${to}.ffn_gate.weight`, `${at}.shared_mlp.input_linear.weight`, both, half(0))
    put(`${to}.ffn_up.weight`, '', both, half(1))
    matrix(`${to}.ffn_down`, `${at}.shared_mlp.output_linear`, hidden, wide)
  }
}

/** In F32. */
export async function recurrentGguf(model: RandomRecurrent): Promise<File> {
  const tensors = model.tensors.map(({ gguf, inGguf, ...own }) => {
    const { shape, values } = inGguf ?? own
    return { name: gguf, dtype: 'F32' as const, shape, data: () => [new Uint8Array(values.slice().buffer)] }
  })
  return newFile('random.gguf', await ggufBytes({ metadata: metadata(model), tensors }))
}

function metadata({ family, groups, queries, vocab }: RandomRecurrent): Record<string, GgufValue> {
  const { hidden, layers, inner, state, taps, rank, heads, attention, wide } = sizesOf({ queries })
  const isHybrid = family === 'granitehybrid'
  const key = (values: Record<string, GgufValue>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [`${family}.${name}`, value]))
  const perLayer = Array.from({ length: layers }, (_, layer) =>
    layer === attention.layer ? attention.kvHeads : 0,
  )
  return {
    'general.architecture': ['string', family],
    'general.name': ['string', 'random'],
    ...key({
      vocab_size: ['u32', vocab],
      block_count: ['u32', layers],
      context_length: ['u32', 1 << 20],
      embedding_length: ['u32', hidden],
      feed_forward_length: ['u32', isHybrid ? wide : 0],
      'attention.head_count': ['u32', isHybrid ? queries : 0],
      'attention.layer_norm_rms_epsilon': ['f32', EPSILON],
      'ssm.conv_kernel': ['u32', taps],
      'ssm.inner_size': ['u32', inner],
      'ssm.state_size': ['u32', state],
      'ssm.time_step_rank': ['u32', family === 'mamba' ? rank : heads],
      ...(family !== 'mamba' && { 'ssm.group_count': ['u32', groups] as const }),
      ...(isHybrid && {
        'attention.head_count_kv': ['u32[]', perLayer] as const,
        'rope.dimension_count': ['u32', attention.dim] as const,
        'rope.scaling.finetuned': ['bool', false] as const,
        embedding_scale: ['f32', GRANITE.embedding] as const,
        residual_scale: ['f32', GRANITE.residual] as const,
        'attention.scale': ['f32', GRANITE.attention] as const,
        logit_scale: ['f32', GRANITE.logits] as const,
      }),
    }),
    ...tokenizerMetadata(),
  }
}

/** model.safetensors and its JSON files. `naming`: whose configuration and tensor names to use. */
export function recurrentSafetensors(model: RandomRecurrent, naming: 'hf' | 'mamba_ssm' = 'hf'): File[] {
  const tensors: Record<string, StoredTensor> = {}
  for (const { name, shape, values } of model.tensors) {
    if (name === '') continue
    const stored = naming === 'hf' ? name : name.replace('embeddings', 'embedding')
    tensors[stored] = { dtype: 'F32', shape, data: new Uint8Array(values.slice().buffer) }
  }
  return hubFolder(naming === 'hf' ? hfConfig(model) : mambaSsmConfig(model), tensors)
}

function hfConfig({ family, groups, queries, vocab }: RandomRecurrent): Record<string, MetaValue> {
  const { hidden, layers, inner, state, taps, rank, heads, attention, wide } = sizesOf({ queries })
  const common = {
    hidden_size: hidden,
    num_hidden_layers: layers,
    vocab_size: vocab,
    tie_word_embeddings: true,
  }
  if (family === 'granitehybrid') {
    return {
      ...common,
      architectures: ['GraniteMoeHybridForCausalLM'],
      rms_norm_eps: EPSILON,
      num_attention_heads: queries,
      num_key_value_heads: attention.kvHeads,
      shared_intermediate_size: wide,
      max_position_embeddings: 4096,
      num_local_experts: 0,
      mamba_d_state: state,
      mamba_d_conv: taps,
      mamba_expand: 2,
      mamba_n_heads: heads,
      mamba_n_groups: groups,
      position_embedding_type: 'nope',
      layer_types: Array.from({ length: layers }, (_, layer) =>
        layer === attention.layer ? 'attention' : 'mamba',
      ),
      embedding_multiplier: GRANITE.embedding,
      residual_multiplier: GRANITE.residual,
      attention_multiplier: GRANITE.attention,
      logits_scaling: GRANITE.logits,
    }
  }
  const sizes = { ...common, intermediate_size: inner, state_size: state, conv_kernel: taps }
  const own = { ...sizes, layer_norm_epsilon: EPSILON }
  return family === 'mamba'
    ? { ...own, architectures: ['MambaForCausalLM'], time_step_rank: rank }
    : {
        ...own,
        architectures: ['Mamba2ForCausalLM'],
        num_heads: heads,
        head_dim: inner / heads,
        n_groups: groups,
      }
}

function mambaSsmConfig({ family, groups, queries, vocab }: RandomRecurrent): Record<string, MetaValue> {
  const { hidden, layers, inner, state, rank, heads } = sizesOf({ queries })
  const layer: Record<string, MetaValue> =
    family === 'mamba'
      ? { dt_rank: rank }
      : { layer: 'Mamba2', d_state: state, headdim: inner / heads, ngroups: groups }
  const vocabulary = { vocab_size: vocab, pad_vocab_size_multiple: 1 }
  return {
    d_model: hidden,
    n_layer: layers,
    ...vocabulary,
    ssm_cfg: layer,
    rms_norm: true,
    tie_embeddings: true,
  }
}
