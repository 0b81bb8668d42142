// Handlers of embeddings and rows: they look up rows of a table by id, or select the rows whose logits are
// needed.

import type { Value } from '../../../../core/graph/ir.ts'
import { hasInput, type Node } from '../../ir/graph.ts'
import { floatOf, intOf, unclaimed, unfit } from '../../ir/operator.ts'
import { isFloat } from '../../ir/tensor.ts'
import { noteHeads } from '../findings.ts'
import type { Matrix } from '../meaning.ts'
import { firstRow, proveNumbers, provePositions } from '../prove.ts'
import type { Handler, Translator } from '../translator.ts'
import type { CodeMatrix } from '../weights/code-matrix.ts'
import { leave } from './fused.ts'
import { layer } from './norms.ts'

/** Inputs: ids, segments, three tables, gamma, beta, mask, positions. Outputs: norm, mask, sum. */
export const embedLayerNorm: Handler = async (t, node) => {
  if (t.meanings.read(node, 0)?.is !== 'ids') return false
  if (hasInput(node, 1) || hasInput(node, 4)) throw unclaimed(node, 'it adds segment embeddings')
  if (hasInput(node, 8)) await provePositions(t, node, node.inputs[8]!, t.weights.constant(node, 3).dims[0])
  const tokens = embedTokens(t, node, 2)
  const sum = t.b.add(
    node.outputs[2] || `${node.name}.sum`,
    tokens,
    embedPositions(t, t.weights.float(node, 3, true, POSITIONS)),
  )
  t.meanings.setRows(node, 2, sum)
  t.meanings.setRows(node, 0, layer(t, node, sum, 5, 6))
  return true
}

const MASK = 3
const PAST = 4
/** Attributes that are supported, or that make no difference in a step. */
const ATTRIBUTES: ReadonlySet<string> = new Set([
  'num_heads',
  'unidirectional',
  'scale',
  'mask_filter_value',
  'do_rotary',
  'qkv_hidden_sizes',
])

/** Inputs: rows, matrix and bias for queries, keys and values, mask, past. */
export const attention: Handler = async (t, node) => {
  if (!t.meanings.isRows(node, 0)) return false
  await checkForm(t, node)
  const input = t.meanings.rows(node, 0)
  const heads = intOf(node, 'num_heads', 0)
  const { weight, n } = t.weights.float(node, 1, false)
  const width = n / 3
  const headDim = width / heads
  if (!Number.isInteger(headDim))
    throw unfit(node, `rows of ${n} do not split into queries, keys and values of ${heads} heads`)
  const bias = hasInput(node, 2) ? t.weights.vector(node, 2, n, 'bias') : undefined
  const product = t.b.linear(`${node.name}.qkv`, input, weight, bias)
  const index = t.findings.layers++
  noteHeads(t.findings, node, { heads, kvHeads: heads, headDim })
  const scale = floatOf(node, 'scale', 0)
  const attended = t.b.attend(
    `layers.${index}.attn`,
    t.b.columns(product, { q: width, k: width, v: width }),
    { layer: index, heads, kvHeads: heads, headDim, window: 0 },
    { table: 0, dims: 0, pairing: 'halves' },
    { scale: scale === 0 ? undefined : scale },
  )
  t.meanings.setRows(node, 0, attended)
  leave(t, node, [PAST])
  return true
}

async function checkForm(t: Translator, node: Node): Promise<void> {
  if (intOf(node, 'unidirectional', 0) !== 1) throw unclaimed(node, 'its rows see later positions')
  if (intOf(node, 'do_rotary', 0) !== 0) throw unclaimed(node, 'it rotates queries and keys')
  if (node.attributes.has('qkv_hidden_sizes'))
    throw unclaimed(node, 'its queries, keys and values differ in width')
  for (const name of node.attributes.keys())
    if (!ATTRIBUTES.has(name)) throw unclaimed(node, `its ${name} is unknown`)
  if (hasInput(node, MASK)) {
    if (t.meanings.read(node, MASK)?.is !== 'control') throw unclaimed(node, 'its mask depends on tokens')
    await proveNumbers(t, node, node.inputs[MASK]!, 'ones, which do not mask anything')
  }
  const hasPast = t.meanings.read(node, PAST)?.is === 'state'
  if (hasPast !== t.states.exist || hasPast !== hasInput(node, PAST))
    throw unclaimed(node, 'its past is not a state')
  if (hasInput(node, 5)) throw unclaimed(node, 'it adds a bias to its scores')
}

/** The token embedding is `embed.weight`, as in every pack. */
const TOKENS = 'embed.weight'
const POSITIONS = 'positions.weight'

export const gather: Handler = async (t, node) => {
  const data = t.meanings.read(node, 0)
  const indices = t.meanings.read(node, 1)
  const axis = intOf(node, 'axis', 0)
  if (data?.is === 'constant' && axis === 0 && indices?.is === 'ids') {
    const { dtype, dims } = t.weights.typeOf(node, 0)
    const name = node.inputs[0]!
    if (!isFloat(dtype) && !t.graph.constants.has(name)) return false
    if (!isFloat(dtype)) t.meanings.set(node, 0, { is: 'codes', name })
    else if (dims.length === 2 && dims[1] === 1) t.meanings.set(node, 0, { is: 'scales', name })
    else t.meanings.setRows(node, 0, embedTokens(t, node, 0))
    return true
  }
  if (data?.is === 'matrix' && axis === 0 && indices?.is === 'ids') {
    t.meanings.setRows(node, 0, t.b.embed('embed', t.weights.stored(node, data, true, TOKENS).weight))
    return true
  }
  const isPositions = indices?.is === 'control' && t.types.dims(node)?.length === 3
  if (data?.is === 'constant' && axis === 0 && isPositions && t.weights.typeOf(node, 0).dims.length === 2) {
    const { dtype, dims } = t.weights.typeOf(node, 0)
    const from = await firstRow(t, node, node.inputs[1]!, dims[0]!)
    if (isFloat(dtype))
      t.meanings.setRows(node, 0, embedPositions(t, t.weights.float(node, 0, true, nameOf(from)), from))
    else t.meanings.set(node, 0, { is: 'codes', name: node.inputs[0]!, from })
    return true
  }
  if (t.meanings.isRows(node, 0) && indices?.is === 'constant') {
    takeLast(t, node, axis)
    return true
  }
  return false
}

/** Rows of the float table in an input of the node. */
function embedTokens(t: Translator, node: Node, index: number): Value {
  return t.b.embed('embed', t.weights.float(node, index, true, TOKENS).weight)
}

/**
 * Rows of a table of codes [tokens or positions, k], with one scale for the whole table or one per row.
 * `from`: the row of position 0. Default: the rows are chosen by token id.
 */
export function embedCodes(
  t: Translator,
  parts: Omit<CodeMatrix, 'isTransposed' | 'block'>,
  from?: number,
): Value {
  const name = from === undefined ? TOKENS : nameOf(from)
  const table = t.weights.codes({ ...parts, isTransposed: true, block: 0 }, name)
  return from === undefined ? t.b.embed('embed', table.weight) : embedPositions(t, table, from)
}

/** A step keeps only the rows that are needed, so taking the last row needs no node. */
function takeLast(t: Translator, node: Node, axis: number): void {
  const numbers = t.weights.numbers(node, 1)
  if (!t.tail.has(node) || axis === 0 || numbers.length !== 1 || numbers[0] !== -1)
    throw unclaimed(
      node,
      `it takes the rows [${numbers.slice(0, 4)}] along axis ${axis}, not the last one before the logits`,
    )
  t.meanings.setRows(node, 0, t.meanings.rows(node, 0))
}

/** Rows of a table of codes. An unsigned byte without a zero point represents the byte minus the midpoint. */
export const gatherBlocks: Handler = (t, node) => {
  if (t.meanings.read(node, 1)?.is !== 'ids') return false
  const codes = t.weights.constant(node, 0)
  const scales = t.weights.constant(node, 2)
  const bits = intOf(node, 'bits', 4)
  const block = intOf(node, 'block_size', 128)
  const isPacked = codes.dtype === 'u8' && bits === 4
  const [n = 0, width = 0] = codes.dims
  const k = isPacked ? width * 2 : width
  const last = intOf(node, 'quantize_axis', 1)
  if (codes.dims.length !== 2 || intOf(node, 'gather_axis', 0) !== 0 || (last !== 1 && last !== -1))
    throw unclaimed(node, `it gathers from [${codes.dims}] with blocks along axis ${last}`)
  if (!['u8', 'u4', 'i4'].includes(codes.dtype)) throw unclaimed(node, `its codes are ${codes.dtype}`)
  const zeros = hasInput(node, 3) ? t.weights.constant(node, 3) : undefined
  if (codes.dtype === 'i4' && zeros !== undefined)
    throw unclaimed(node, 'its codes are signed and have zero points')
  const zero = codes.dtype === 'u4' ? 0 : undefined
  const table = t.weights.blocks({ n, k, bits, block, codes, scales, zeros, zero }, node.inputs[0]!, TOKENS)
  t.meanings.setRows(node, 0, t.b.embed('embed', table.weight))
  return true
}

/** Rows of positions keep the table's name, with a suffix if they are only part of the table. */
const nameOf = (from: number): string => (from === 0 ? POSITIONS : `whole ${POSITIONS}`)

/** Learned position embeddings, which are added to token embeddings. Row `from` is position 0. */
function embedPositions(t: Translator, { weight, n }: Matrix, from = 0): Value {
  const count = n - from
  t.findings.hasPositions = true
  t.findings.tablePositions = Math.min(t.findings.tablePositions ?? count, count)
  const rows = from === 0 ? weight : t.weights.rowsOf(weight, [[from, count]], POSITIONS)
  return t.b.embedPositions('positions', rows)
}
