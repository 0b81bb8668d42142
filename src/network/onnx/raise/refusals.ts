// Error messages for unsupported values: what was found, and the nearest supported form.
import type { Dim } from '../ir/dims.ts'
import type { Graph, Node } from '../ir/graph.ts'
import type { Meaning } from './meaning.ts'

/** Operators, and the forms that are supported instead. The first match is named. */
const NEAREST: readonly (readonly [RegExp, string])[] = [
  [
    /^(\w*Relu|Elu|Celu|Selu|Mish|Erf|Hard\w+|Softsign|Clip)$/,
    'SiLU, GELU and ReLU are supported, alone or in a gate',
  ],
  [/MoE|TopK|Scatter|NonZero/, 'experts are supported only in GGUF and safetensors'],
  [/Conv/, "only Mamba's convolutions are supported, in a step of one token"],
  [
    /^(If|Loop|Scan)$/,
    'an If is supported on a constant, on use_cache_branch of a merged decoder, or between two pairs of rotation tables',
  ],
  [
    /^(Slice|Split|Gather\w*)$/,
    'rows can be sliced along their last axis, heads into runs or pairs of their numbers, and tables can be indexed by ids and positions',
  ],
  [
    /^(Reshape|Transpose|Squeeze|Unsqueeze|Flatten)$/,
    'rows [batch, tokens, width] can become heads [batch, tokens, heads, numbers], whose heads and tokens are then swapped',
  ],
  [/^(Expand|Tile)$/, 'the copies of a head must be adjacent'],
  [
    /MatMul|Gemm/,
    'rows can be multiplied by constant matrices, queries by keys, and attention weights by values',
  ],
  [/Norm/, 'norms must be over the last axis, of rows or of each head'],
  [
    /^(Mul|Div|Add|Sub|Neg|Concat)$/,
    'rows can be added, and multiplied by a number, a gate or the weight of a norm; heads can be rotated by halves or adjacent pairs',
  ],
  [/Attention/, "tokens must attend to each other and to the previous step's state"],
]

/** `seen`: a value that is not control. `isKnown`: whether other forms of the operator are supported. */
export function whyUnread(
  { op }: Node,
  seen: {
    readonly name: string
    readonly meaning: Meaning | undefined
    readonly dims: readonly Dim[] | undefined
  },
  isKnown: boolean,
): string {
  const { name, meaning, dims } = seen
  const shape = dims === undefined ? '' : ` of shape ${shown(dims)}`
  const how = isKnown ? 'this form is not supported' : 'this operator is not supported'
  const nearest = NEAREST.find(([pattern]) => pattern.test(op))?.[1]
  return `it reads ${name}${shape} (${meaning?.is ?? 'not part of a step'}), and ${how}${nearest ? `: ${nearest}` : ''}`
}

/** The message for a graph without decoder layers. */
export function whyNoDecoder({ inputs, outputs }: Graph, dims: readonly Dim[] | undefined): string {
  const names = inputs.slice(0, MAX_NAMES).map(({ name }) => name)
  const more = inputs.length > MAX_NAMES ? ' and others' : ''
  return (
    `nothing between the inputs ${names.join(', ')}${more} and the output ${outputs[0]} of shape ` +
    `${dims === undefined ? 'unknown' : shown(dims)} attends or keeps a state; text decoders do, and produce logits ` +
    '[batch, tokens, vocabulary] from input_ids'
  )
}

const MAX_NAMES = 4

const shown = (dims: readonly Dim[]): string => `[${dims.join(', ')}]`
