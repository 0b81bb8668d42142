// Weights in blocks, evaluated. In: packed integers, scales and zero points of blocks. Out: products with
// them, rows of them.
import { intOf } from '../ir/attributes.ts'
import { axisOf } from '../ir/broadcast.ts'
import { type Evaluation, given, unclaimed, unfit } from '../ir/operator.ts'
import { countOf, isFloat, reader, stridesOf, type Tensor, writer, zeros } from '../ir/tensor.ts'
import { biased } from '../operators/contrib/activations.ts'
import { formOf, gatheredDims, perElement } from '../operators/contrib/blocks.ts'
import { product } from '../operators/products.ts'

/** The integer at an index of a row of bytes; the first one has the low bits. */
const unpacked = (data: Tensor['data'], row: number, at: number, bits: number): number => {
  const perByte = 8 / bits
  return (Number(data[row + Math.floor(at / perByte)]) >> (bits * (at % perByte))) & (2 ** bits - 1)
}

/** A times the transpose of B. */
export function evaluateProduct(context: Evaluation): Tensor {
  const { node, inputs } = context
  const a = given(context, 0)
  if (inputs[4] !== undefined) throw unclaimed(node, 'its groups are in another order')
  const { n, k } = formOf(node)
  const weights = zeros('f32', [k, n])
  const weight = weightsOf(context)
  for (let row = 0; row < n; row++)
    for (let at = 0; at < k; at++) weights.data[at * n + row] = weight(row, at)
  return biased(node, product(context, a, weights), inputs[5])
}

/**
 * Blocks have 2^(bits - 1) for a zero point unless they state another, packed like the weights or as floats.
 */
function weightsOf(context: Evaluation): (row: number, at: number) => number {
  const { node, inputs } = context
  const { n, k, bits, block } = formOf(node)
  const [data, scales, zeros] = [given(context, 1), given(context, 2), inputs[3]]
  const blocks = Math.ceil(k / block)
  const bytes = (block * bits) / 8
  const zeroBytes = Math.ceil((blocks * bits) / 8)
  const dueZeros = zeros && (isFloat(zeros.dtype) ? n * blocks : n * zeroBytes)
  if (data.data.length !== n * blocks * bytes || scales.data.length !== n * blocks)
    throw unfit(
      node,
      `${data.data.length} bytes and ${scales.data.length} scales are no ${n} rows of ${blocks}`,
    )
  if (zeros !== undefined && zeros.data.length !== dueZeros)
    throw unfit(node, `it has ${zeros.data.length} zero points where ${dueZeros} are due`)
  const scale = reader(scales)
  const zero = (row: number, at: number): number => {
    if (zeros === undefined) return 2 ** (bits - 1)
    if (isFloat(zeros.dtype)) return Number(zeros.data[row * blocks + at])
    return unpacked(zeros.data, row * zeroBytes, at, bits)
  }
  return (row, at) => {
    const own = Math.floor(at / block)
    const value = unpacked(data.data, (row * blocks + own) * bytes, at % block, bits)
    return (value - zero(row, own)) * scale(row * blocks + own)
  }
}

export function evaluateGather(context: Evaluation): Tensor {
  const { node, inputs } = context
  const [data, indices, scales, zeros_] = [given(context, 0), given(context, 1), given(context, 2), inputs[3]]
  const packed = perElement(node, data.dtype)
  const rank = data.dims.length
  const axis = axisOf(node, intOf(node, 'gather_axis', 0), rank)
  const along = axisOf(node, intOf(node, 'quantize_axis', 1), rank)
  const block = intOf(node, 'block_size', 128)
  if (block < 16 || (packed > 1 && (along !== rank - 1 || axis === rank - 1)))
    throw unfit(node, `it gathers along axis ${axis} what has blocks of ${block} along axis ${along}`)
  const dims = data.dims.with(-1, data.dims.at(-1)! * packed)
  const blocked = dims.with(along, Math.ceil(dims[along]! / block))
  const zeroDims = packed === 1 ? blocked : blocked.with(-1, Math.ceil(blocked.at(-1)! / packed))
  if (`${scales.dims}` !== `${blocked}` || (zeros_ !== undefined && `${zeros_.dims}` !== `${zeroDims}`))
    throw unfit(node, `scales of shape [${scales.dims}] are not the blocks [${blocked}] of [${dims}]`)
  const [scale, choose] = [reader(scales), reader(indices)]
  const integer = (tensor: Tensor, own: readonly number[], at: number): number => {
    if (packed === 1) return Number(tensor.data[at])
    const width = own.at(-1)!
    return unpacked(tensor.data, Math.floor(at / width) * Math.ceil(width / packed), at % width, 8 / packed)
  }
  // Bytes are centred; integers of four bits have a sign of their own.
  const middle = data.dtype === 'u8' ? 2 ** (intOf(node, 'bits', 4) - 1) : 0
  const strides = stridesOf(dims)
  const blockStrides = stridesOf(blocked)
  const made = zeros(scales.dtype, gatheredDims(dims, indices.dims, axis))
  const write = writer(made)
  const [inner, size] = [countOf(dims.slice(axis + 1)), dims[axis]!]
  for (let next = 0; next < made.data.length; next++) {
    const line = Math.floor(next / inner)
    const asked = choose(line % indices.data.length)
    const index = asked < 0 ? asked + size : asked
    if (index < 0 || index >= size) throw unfit(node, `index ${asked} is outside of axis ${axis} of ${size}`)
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
