// Messages for values that no step computes: the value that was found, and the nearest supported form.
import type { Dim } from '../ir/dims.ts'
import type { Graph, Node } from '../ir/graph.ts'
import type { Meaning } from './meaning.ts'

/** Operators, and the forms that are supported instead. The first that fits is named. */
const NEAREST: readonly (readonly [RegExp, string])[] = [
  [
    /^(\w*Relu|Elu|Celu|Selu|Mish|Erf|Hard\w+|Softsign|Clip)$/,
    'activations are SiLU, GELU and ReLU, alone or of a gate',
  ],
  [/MoE|TopK|Scatter|NonZero/, 'experts are read from GGUF and safetensors'],
  [/Conv/, 'convolutions are those of Mamba, in a step of one token'],
  [
    /^(If|Loop|Scan)$/,
    'an If is read on a constant, on use_cache_branch of a merged decoder, or between two pairs of tables of rotations',
  ],
  [
    /^(Slice|Split|Gather\w*)$/,
    'rows are cut along their last axis, heads into runs or pairs of their numbers, and tables are read by ids and positions',
  ],
  [
    /^(Reshape|Transpose|Squeeze|Unsqueeze|Flatten)$/,
    'rows [batch, tokens, width] become heads [batch, tokens, heads, numbers], which change places with tokens',
  ],
  [/^(Expand|Tile)$/, 'the copies of a head follow each other'],
  [/MatMul|Gemm/, 'rows are multiplied by constant matrices, queries by keys, and shares by values'],
  [/Norm/, 'norms are over the last axis, of rows or of each head'],
  [
    /^(Mul|Div|Add|Sub|Neg|Concat)$/,
    'rows are added, and multiplied by a number, a gate or the weight of a norm; heads are rotated by halves or neighbours',
  ],
  [/Attention/, 'attention is that of tokens to themselves and to the state of the step before'],
]

/** `seen`: a value that is not control. `isKnown`: other forms of the operator are read. */
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
  const how = isKnown ? 'no step has it in this form' : 'no step has such an operator'
  const nearest = NEAREST.find(([pattern]) => pattern.test(op))?.[1]
  return `it reads ${name}${shape} (${meaning?.is ?? 'no part of a step'}), and ${how}${nearest ? `: ${nearest}` : ''}`
}

/** Of a graph without any layer of a decoder. */
export function whyNoDecoder({ inputs, outputs }: Graph, dims: readonly Dim[] | undefined): string {
  const names = inputs.slice(0, MOST_NAMES).map(({ name }) => name)
  const more = inputs.length > MOST_NAMES ? ' and others' : ''
  return (
    `nothing between the inputs ${names.join(', ')}${more} and the output ${outputs[0]} of shape ` +
    `${dims === undefined ? 'unknown' : shown(dims)} attends or keeps a state, as decoders of text do, which make logits ` +
    '[batch, tokens, vocabulary] of input_ids'
  )
}

const MOST_NAMES = 4

const shown = (dims: readonly Dim[]): string => `[${dims.join(', ')}]`
