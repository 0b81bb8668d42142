// Builds the graph of one step of a sentence encoder: each row attends to all rows of its text.
import { graphBuilder, matrix, vector } from '../graph/builder.ts'
import { EVERY_POSITION, type Value } from '../graph/ir.ts'
import type { Graph } from '../graph/nodes.ts'
import type { ModelConfig } from './config/config.ts'

/** Every layer writes its keys and values over those of the layer before, which nothing reads any more. */
const ONE_LAYER = 0

/** The differences between families of encoders. */
interface EncoderTraits {
  /** Biases of matrices; norms have them always. */
  readonly bias: boolean
  readonly mlp: 'gated' | 'plain'
  /** `learned`: position embeddings are added to those of tokens. `rope`: `config.rope` rotates heads. */
  readonly positions: 'rope' | 'learned'
}

const BERT: EncoderTraits = { bias: true, mlp: 'plain', positions: 'learned' }
/** nomic-bert: transformers' NomicBertModel. */
export const NOMIC: EncoderTraits = { bias: false, mlp: 'gated', positions: 'rope' }

/**
 * The graph of BERT: embeddings of tokens and positions, layer norms after each block, biases everywhere. Its
 * output is the hidden states of the wanted rows, after the last norm. `kinds`: how many kinds of tokens have
 * an embedding of their own; without it, `positions.weight` contains that of the first kind.
 */
export function encoder(config: ModelConfig, kinds?: number, traits = BERT): Graph {
  const { hiddenSize, vocabSize, contextLength, heads, headDim, intermediateSize, normEpsilon } = config
  const { activation = 'gelu_exact' } = config
  const b = graphBuilder()
  const norm = (name: string, input: Value): Value =>
    b.layernorm(
      name,
      input,
      vector({ [`${name}.weight`]: hiddenSize }),
      vector({ [`${name}.bias`]: hiddenSize }),
      normEpsilon,
    )
  const linear = (name: string, input: Value, n: number): Value =>
    b.linear(
      `${name}_product`,
      input,
      matrix(input.shape[1], { [`${name}.weight`]: n }),
      traits.bias ? vector({ [`${name}.bias`]: n }) : undefined,
    )
  /** What the activation reads: a gate and its factor by one product, or the only input. */
  const wide = (at: string, input: Value): readonly Value[] => {
    if (traits.mlp === 'plain') return [linear(`${at}.mlp_up`, input, intermediateSize)]
    const gateUp = ['gate', 'up'].map((part) => [`${at}.mlp_${part}.weight`, intermediateSize] as const)
    const weight = matrix(hiddenSize, Object.fromEntries(gateUp))
    return b.parts(b.linear(`${at}.mlp_gate_up`, input, weight), weight)
  }
  const words = b.embed('embed', matrix(hiddenSize, { 'embed.weight': vocabSize }))
  const positions = matrix(hiddenSize, { 'positions.weight': contextLength })
  const placed =
    traits.positions === 'rope' ? words : b.add('embedded', words, b.embedPositions('positions', positions))
  const typed =
    kinds === undefined
      ? placed
      : b.add('typed', placed, b.embedKinds('kinds', matrix(hiddenSize, { 'kinds.weight': kinds })))
  let x = norm('embed_norm', typed)
  const shape = { layer: ONE_LAYER, heads, kvHeads: heads, headDim, window: 0, after: EVERY_POSITION }
  const rope = { table: 0, dims: config.rope.dims, pairing: config.rope.pairing }
  for (let layer = 0; layer < config.layers; layer++) {
    const at = `layers.${layer}`
    const parts = (kind: 'weight' | 'bias') =>
      Object.fromEntries(['q', 'k', 'v'].map((part) => [`${at}.attn_${part}.${kind}`, heads * headDim]))
    const weight = matrix(hiddenSize, parts('weight'))
    const qkv = b.linear(`${at}.attn_qkv`, x, weight, traits.bias ? vector(parts('bias')) : undefined)
    const attended = b.attend(`${at}.attn`, b.parts(qkv, weight), shape, rope)
    const mixed = b.add(`${at}.attn_sum`, x, linear(`${at}.attn_output`, attended, hiddenSize))
    x = norm(`${at}.attn_post_norm`, mixed)
    const up = b.swiglu(`${at}.mlp_act`, wide(at, x), activation)
    const sum = b.add(`${at}.mlp_sum`, x, linear(`${at}.mlp_down`, up, hiddenSize))
    // The last norm gathers the rows that are wanted.
    x = norm(`${at}.mlp_post_norm`, layer === config.layers - 1 ? b.takeRows('wanted', sum) : sum)
  }
  return b.finish(x)
}
