// Evaluators of fused operators: attention, rotations, and products and table rows with codes in blocks.
import type { Evaluators } from '../evaluate.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Evaluate, type Evaluation, flagOf, given, intOf, stringOf, unfit } from '../ir/operator.ts'
import { countOf, isFloat, reader, stridesOf, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { formOf, gatheredDims, LEVELS, levelForm, perElement } from '../operators/contrib/products.ts'
import { within } from '../operators/indexed.ts'
import { product } from '../operators/products.ts'
import { flexGraph } from '../passes/flex-attention.ts'
import { biased } from './activations.ts'
import { evaluateAttention, headsOf } from './attention.ts'
import { evaluateContribRotary, evaluateGroups, evaluateMulti } from './contrib-attention.ts'
import { evaluateCausalConvolution } from './convolution.ts'
import { evaluateLinearAttention } from './linear-attention.ts'
import { rotated, rowOf, written } from './rotations.ts'

/** The integer at an index of a row of packed bytes; the first one is in the low bits. */
const unpacked = (data: Tensor['data'], row: number, at: number, bits: number): number => {
  const perByte = 8 / bits
  return (Number(data[row + Math.floor(at / perByte)]) >> (bits * (at % perByte))) & (2 ** bits - 1)
}

/** A times the transpose of B. */
function evaluateProduct(context: Evaluation): Tensor {
  const { node, inputs } = context
  const a = given(context, 0)
  const { n, k } = formOf(node)
  const weights = zeros('f32', [k, n])
  const weight = weightsOf(context)
  for (let row = 0; row < n; row++)
    for (let at = 0; at < k; at++) weights.data[at * n + row] = weight(row, at)
  return biased(node, product(context, a, weights), inputs[5])
}

function evaluateLevels(context: Evaluation): Tensor {
  const { n, k, block, kind } = levelForm(context.node)
  const codes = given(context, 1).data
  const scale = reader(given(context, 2))
  const weights = zeros('f32', [k, n])
  for (let at = 0; at < n * k; at++) {
    const byte = Number(codes[at >> 1])
    const level = LEVELS[kind][at % 2 === 0 ? byte >> 4 : byte & 15]!
    weights.data[(at % k) * n + Math.floor(at / k)] = level * scale(Math.floor(at / block))
  }
  return product(context, given(context, 0), weights)
}

/** A block's zero point is 2^(bits - 1) unless another is given, packed like the weights or as a float. */
function weightsOf(context: Evaluation): (row: number, at: number) => number {
  const { node, inputs } = context
  const { n, k, bits, block } = formOf(node)
  const data = given(context, 1)
  const scales = given(context, 2)
  const zeros = inputs[3]
  const blocks = Math.ceil(k / block)
  const bytes = (block * bits) / 8
  const zeroBytes = Math.ceil((blocks * bits) / 8)
  const dueZeros = zeros && (isFloat(zeros.dtype) ? n * blocks : n * zeroBytes)
  if (data.data.length !== n * blocks * bytes || scales.data.length !== n * blocks)
    throw unfit(
      node,
      `${data.data.length} bytes and ${scales.data.length} scales do not make ${n} rows of ${blocks} blocks`,
    )
  if (zeros !== undefined && zeros.data.length !== dueZeros)
    throw unfit(node, `it has ${zeros.data.length} zero points instead of ${dueZeros}`)
  const scale = reader(scales)
  const zero = (row: number, at: number): number => {
    if (zeros === undefined) return 2 ** (bits - 1)
    if (isFloat(zeros.dtype)) return Number(zeros.data[row * blocks + at])
    return unpacked(zeros.data, row * zeroBytes, at, bits)
  }
  const order = inputs[4] && reader(inputs[4])
  return (row, at) => {
    const own = Math.floor(at / block)
    const group = order?.(at) ?? own
    const value = unpacked(data.data, (row * blocks + own) * bytes, at % block, bits)
    return (value - zero(row, group)) * scale(row * blocks + group)
  }
}

function evaluateGather(context: Evaluation): Tensor {
  const { node, inputs } = context
  const data = given(context, 0)
  const indices = given(context, 1)
  const scales = given(context, 2)
  const zeros_ = inputs[3]
  const packed = perElement(node, data.dtype)
  const rank = data.dims.length
  const axis = axisOf(node, intOf(node, 'gather_axis', 0), rank)
  const along = axisOf(node, intOf(node, 'quantize_axis', 1), rank)
  const block = intOf(node, 'block_size', 128)
  if (block < 16 || (packed > 1 && (along !== rank - 1 || axis === rank - 1)))
    throw unfit(node, `it gathers along axis ${axis}, but has blocks of ${block} along axis ${along}`)
  const dims = data.dims.with(-1, data.dims.at(-1)! * packed)
  const blocked = dims.with(along, Math.ceil(dims[along]! / block))
  const zeroDims = packed === 1 ? blocked : blocked.with(-1, Math.ceil(blocked.at(-1)! / packed))
  if (`${scales.dims}` !== `${blocked}` || (zeros_ !== undefined && `${zeros_.dims}` !== `${zeroDims}`))
    throw unfit(node, `scales of shape [${scales.dims}] do not match the blocks [${blocked}] of [${dims}]`)
  const scale = reader(scales)
  const choose = reader(indices)
  const integer = (tensor: Tensor, own: readonly number[], at: number): number => {
    if (packed === 1) return Number(tensor.data[at])
    const width = own.at(-1)!
    return unpacked(tensor.data, Math.floor(at / width) * Math.ceil(width / packed), at % width, 8 / packed)
  }
  // Bytes are centred on a zero point; 4-bit integers are signed.
  const middle = data.dtype === 'u8' ? 2 ** (intOf(node, 'bits', 4) - 1) : 0
  const strides = stridesOf(dims)
  const blockStrides = stridesOf(blocked)
  const made = zeros(scales.dtype, gatheredDims(dims, indices.dims, axis))
  const write = writer(made)
  const inner = countOf(dims.slice(axis + 1))
  const size = dims[axis]!
  for (let next = 0; next < made.data.length; next++) {
    const line = Math.floor(next / inner)
    const asked = choose(line % indices.data.length)
    const index = asked < 0 ? asked + size : asked
    if (index < 0 || index >= size)
      throw unfit(node, `index ${asked} is outside axis ${axis}, which has ${size} elements`)
    const at = (Math.floor(line / indices.data.length) * size + index) * inner + (next % inner)
    const place = dims.reduce((sum, own, each) => {
      const coordinate = Math.floor(at / strides[each]!) % own
      return sum + (each === along ? Math.floor(coordinate / block) : coordinate) * blockStrides[each]!
    }, 0)
    const zero = zeros_ === undefined ? middle : integer(zeros_, blocked, place)
    write(next, (integer(data, dims, at) - zero) * scale(place))
  }
  return made
}

function evaluateRotary(context: Evaluation): Tensor {
  const { node, inputs } = context
  const x = given(context, 0)
  const cosines = given(context, 1)
  const sines = given(context, 2)
  const positions = inputs[3]
  const heads = headsOf(node, x, intOf(node, 'num_heads', undefined))
  const width = intOf(node, 'rotary_embedding_dim', 0) || heads.size
  const pairs = Math.floor(width / 2)
  const tables = positions === undefined ? [heads.batch, heads.rows, pairs] : [cosines.dims[0]!, pairs]
  if (`${cosines.dims}` !== `${tables}` || `${sines.dims}` !== `${tables}` || width > heads.size)
    throw unfit(node, `tables of shape [${cosines.dims}] and [${sines.dims}] are not [${tables}]`)
  if (positions !== undefined && `${positions.dims}` !== `${[heads.batch, heads.rows]}`)
    throw unfit(
      node,
      `positions of shape [${positions.dims}] are not of ${heads.batch} x ${heads.rows} tokens`,
    )
  const row = positions && rowOf(node, positions, cosines.dims[0]!)
  const at = rotated(
    {
      cosines,
      sines,
      pairs,
      isInterleaved: flagOf(node, 'interleaved'),
      place: (b, r, pair) => (row ? row(b, r) : b * heads.rows + r) * pairs + pair,
    },
    heads.at,
  )
  return written(heads, x, at)
}

/** Writes a step's rows into a cache of fixed length. */
function evaluateTensorScatter(context: Evaluation): Tensor[] {
  const { node, inputs } = context
  const cache = given(context, 0)
  const update = given(context, 1)
  const axis = axisOf(node, intOf(node, 'axis', -2), cache.dims.length)
  const most = cache.dims[axis]!
  const size = update.dims[axis] ?? 0
  if (`${cache.dims.with(axis, size)}` !== `${update.dims}` || update.dtype !== cache.dtype || axis === 0)
    throw unfit(node, `it writes [${update.dims}] along axis ${axis} of [${cache.dims}]`)
  const mode = stringOf(node, 'mode', 'linear')
  if (mode !== 'linear' && mode !== 'circular') throw unfit(node, `its mode is ${mode}, which does not exist`)
  const inner = countOf(cache.dims.slice(axis + 1))
  const perBatch = countOf(cache.dims.slice(1, axis))
  const made = { ...cache, data: cache.data.slice() }
  for (let row = 0; row < countOf(cache.dims.slice(0, axis)); row++) {
    const start = inputs[2] === undefined ? 0 : Number(inputs[2].data[Math.floor(row / perBatch)])
    for (let at = 0; at < size; at++) {
      const to = mode === 'circular' ? (start + at) % most : start + at
      const from = (row * size + at) * inner
      made.data.set(
        update.data.subarray(from, from + inner) as never,
        (row * most + within(node, to, most)) * inner,
      )
    }
  }
  return [made]
}

export const FUSED: Evaluators = new Map<string, Evaluate>([
  ['Attention', evaluateAttention],
  [
    'ai.onnx.preview:FlexAttention',
    (context) => {
      const inputs = context.inputs.map((_, at) => given(context, at))
      const dims = inputs.map((input) => input.dims)
      return context.run(flexGraph(context.node, inputs[0]!.dtype, dims), inputs)
    },
  ],
  ['RotaryEmbedding', (context) => [evaluateRotary(context)]],
  ['com.microsoft:RotaryEmbedding', (context) => [evaluateContribRotary(context)]],
  ['com.microsoft:MatMulNBits', (context) => [evaluateProduct(context)]],
  ['com.microsoft:MatMulBnb4', (context) => [evaluateLevels(context)]],
  ['com.microsoft:GatherBlockQuantized', (context) => [evaluateGather(context)]],
  ['com.microsoft:GroupQueryAttention', evaluateGroups],
  ['com.microsoft:MultiHeadAttention', evaluateMulti],
  ['TensorScatter', evaluateTensorScatter],
  ['CausalConvWithState', evaluateCausalConvolution],
  ['com.microsoft:CausalConvWithState', evaluateCausalConvolution],
  ['LinearAttention', evaluateLinearAttention],
])
