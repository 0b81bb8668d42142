// The inputs and outputs of an encoder's ONNX graph: finds them by name, and turns texts into inputs. For
// other graphs, the error names the entry that runs them.
import { ABI } from '../../core/abi/constants.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { isCount, type JsonObject } from '../../core/base/values.ts'
import { type DType, type Tensor, tensorOf } from '../../network/onnx/ir/tensor.ts'
import type { NetworkInfo, NetworkValue } from '../../network/service/network-protocol.ts'

/** What an output contains: the hidden states of a text, its vector, or the logits of a head. */
type OutputKind = 'states' | 'vector' | 'logits'

export interface GraphForm {
  readonly output: string
  readonly kind: OutputKind
  /** Number of tokens per run, if the graph has a fixed size; shorter texts are padded. */
  readonly fixedTokens: number | undefined
  /** The inputs for a text. `words` contain ids and token types (abi.h). */
  inputs(words: readonly number[]): ReadonlyMap<string, Tensor>
}

/** Outputs by exporters' names. If the graph pools, its vector has already passed through all modules. */
const OUTPUTS: ReadonlyMap<string, OutputKind> = new Map([
  ['sentence_embedding', 'vector'],
  ['last_hidden_state', 'states'],
  ['token_embeddings', 'states'],
  ['hidden_states', 'states'],
  ['pooler_output', 'vector'],
  ['logits', 'logits'],
])

const KINDS_BY_RANK: readonly (OutputKind | undefined)[] = [undefined, undefined, 'vector', 'states']

/** Keys and values of earlier tokens, which are empty for an encoder. */
const isPast = ({ name }: NetworkValue): boolean => /^past_key_values\b|^past_(key|value)/.test(name)

/** The value of each token for each input. */
const TOKEN_INPUTS: ReadonlyMap<string, (text: TextIds) => readonly number[]> = new Map([
  ['input_ids', ({ ids }) => ids],
  ['attention_mask', ({ mask }) => mask],
  ['token_type_ids', ({ kinds }) => kinds],
  ['position_ids', ({ positions }) => positions],
])

interface TextIds {
  readonly ids: readonly number[]
  readonly kinds: readonly number[]
  readonly mask: readonly number[]
  readonly positions: readonly number[]
}

/** Families whose positions start after the padding id. */
const AFTER_PADDING: readonly unknown[] = ['roberta', 'xlm-roberta', 'xlm-roberta-xl', 'camembert', 'mpnet']

/** The positions and the padding id in the configuration next to a graph. */
export function positionsOf(config: JsonObject): {
  /** The first position of a text. */
  readonly first: number
  readonly padding: number
  /** Undefined if the configuration does not say. */
  readonly most: number | undefined
} {
  const { model_type, pad_token_id, max_position_embeddings } = config
  const padding = isCount(pad_token_id) ? pad_token_id : 0
  const first = AFTER_PADDING.includes(model_type) ? padding + 1 : 0
  const most = isCount(max_position_embeddings) ? max_position_embeddings - first : undefined
  return { first, padding, most: most !== undefined && most > 0 ? most : undefined }
}

/**
 * Throws `unsupported` for a graph that is not an encoder's, with the entry that runs it. `mustPool`: the
 * caller pools the states, which is impossible if the graph already pools them.
 */
export function graphForm(
  file: string,
  { inputs, outputs }: Pick<NetworkInfo, 'inputs' | 'outputs'>,
  config: JsonObject,
  mustPool: boolean,
): GraphForm {
  refuseInputs(file, inputs)
  const [output, kind] = outputOf(file, { inputs, outputs }, mustPool)
  const ids = inputs.find(({ name }) => name === 'input_ids')
  const [batch, tokens] = ids?.dims ?? []
  const fixedTokens = typeof tokens === 'number' ? tokens : undefined
  if (typeof batch === 'number' && batch !== 1)
    throw refused(file, `reads ${batch} texts at a time`, 'export it with a dynamic batch axis')
  if (fixedTokens !== undefined && !inputs.some(({ name }) => name === 'attention_mask'))
    throw refused(
      file,
      `reads ${fixedTokens} tokens and has no attention_mask`,
      'export it with a dynamic token axis',
    )
  const { first, padding } = positionsOf(config)
  return {
    output,
    kind,
    fixedTokens,
    inputs(words) {
      const length = fixedTokens ?? words.length
      const row = (value: (at: number) => number, beyond: number): number[] =>
        Array.from({ length }, (_, at) => (at < words.length ? value(at) : beyond))
      const text: TextIds = {
        ids: row((at) => words[at]! % 2 ** ABI.ID_BITS, padding),
        kinds: row((at) => words[at]! >>> ABI.ID_BITS, 0),
        mask: row(() => 1, 0),
        positions: row((at) => first + at, first),
      }
      return new Map(inputs.map((input) => [input.name, tensorFor(input, text)]))
    },
  }
}

function tensorFor(input: NetworkValue, text: TextIds): Tensor {
  const { name, dtype = 'i64', dims = [] } = input
  const values = TOKEN_INPUTS.get(name)?.(text)
  if (values !== undefined) return tensorOf(dtype, [1, values.length], values)
  return emptyPast(dtype, dims)
}

/** An empty tensor of earlier keys or values, for one text. Sizes that the graph fixes are kept. */
const emptyPast = (dtype: DType, dims: readonly (number | string)[]): Tensor =>
  tensorOf(
    dtype,
    dims.map((size, axis) => (typeof size === 'number' ? size : axis === 0 ? 1 : 0)),
    [],
  )

function refuseInputs(file: string, inputs: readonly NetworkValue[]): void {
  const other = inputs.find((input) => !TOKEN_INPUTS.has(input.name) && !isPast(input))
  const hasIds = inputs.some(({ name }) => name === 'input_ids')
  if (other === undefined && hasIds) return
  const what = other?.name.startsWith('decoder_')
    ? `is half of an encoder-decoder model: its input ${other.name} belongs to the reply`
    : other !== undefined && hasIds
      ? `has the input ${other.name}, which cannot be derived from text`
      : `reads ${inputs.map(({ name }) => name).join(', ') || 'nothing'} instead of input_ids`
  throw refused(
    file,
    what,
    'choose an export for feature-extraction, or run the graph with Network.load of halfbyte/network',
  )
}

function outputOf(
  file: string,
  { inputs, outputs }: Pick<NetworkInfo, 'inputs' | 'outputs'>,
  mustPool: boolean,
): readonly [name: string, kind: OutputKind] {
  const known = [...OUTPUTS].filter(([name]) => outputs.some((output) => output.name === name))
  const [found] = mustPool ? [...known].sort(([, a], [, b]) => order(a) - order(b)) : known
  if (found?.[1] === 'logits' && inputs.some(isPast))
    throw refused(
      file,
      'is a decoder that generates text: its outputs are logits and the keys of each layer',
      'load it with Engine.load, or choose an export for feature-extraction',
    )
  if (found !== undefined) return found
  const [only] = outputs
  const kind = outputs.length === 1 ? KINDS_BY_RANK[only?.dims?.length ?? 0] : undefined
  if (only !== undefined && kind !== undefined) return [only.name, kind]
  throw refused(
    file,
    `outputs ${outputs.map(({ name }) => name).join(', ') || 'nothing'} instead of one of ${[...OUTPUTS.keys()].join(', ')}`,
    'choose an export for feature-extraction, or run the graph with Network.load of halfbyte/network',
  )
}

/** If the caller pools, hidden states come first. */
const order = (kind: OutputKind): number => (kind === 'states' ? 0 : 1)

export const refused = (file: string, what: string, next: string): HalfbyteError =>
  new HalfbyteError('unsupported', `${file}: the graph ${what}; ${next}`, { file })
