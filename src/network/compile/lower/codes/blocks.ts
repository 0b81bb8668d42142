// Handlers of matrices and tables whose rows have one scale per block of codes.
import { axisOf } from '../../../onnx/ir/broadcast.ts'
import type { Node } from '../../../onnx/ir/graph.ts'
import { intOf, unclaimed, unfit } from '../../../onnx/ir/operator.ts'
import { formOf, perElement } from '../../../onnx/operators/contrib/products.ts'
import { dimsOf, type Ref, SIGNED_MIDDLE } from '../../loops/loops.ts'
import { add, apply, arg, mul, number } from '../../loops/tree.ts'
import { sliced, transposed } from '../../loops/view.ts'
import type { Handler, SomeHandlers } from '../handler.ts'
import { gatherAlong } from '../indices.ts'
import { reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { operand } from '../lowering/operands.ts'
import { productOf } from '../products.ts'

/** A times the transpose of a matrix whose rows have one scale per block of codes. */
const matMulNBits: Handler = (lowering, node) => {
  const [left = '', right = '', scales = '', zeros = '', order = '', bias = ''] = node.inputs
  const { n, k, bits, block } = formOf(node)
  if (bits !== 4 && bits !== 8) throw unclaimed(node, `${bits}-bit weights are not compiled`)
  if (k % block !== 0) throw unclaimed(node, `its rows of ${k} are not a multiple of the block size ${block}`)
  if (order !== '') throw unclaimed(node, 'reordered blocks are not compiled')
  const constants = [right, scales, ...(zeros === '' ? [] : [zeros])]
  if (constants.some((name) => !lowering.graph.constants.has(name)))
    throw unclaimed(node, 'its codes, scales or zero points are not constants')
  if (zeros !== '' && lowering.values.dtype(node, zeros) !== 'u8')
    throw unclaimed(node, 'zero points that are not codes are not compiled')
  const codes = { bits, block, k, scales, ...(zeros !== '' && { zeros }) } as const
  const rows = lowering.values.decoded(node, right, codes, [n, k])
  const b = { ...rows, view: transposed(rows.view, [1, 0]) }
  const made = productOf(lowering, node, lowering.values.ref(node, left), b)
  const args = [made]
  const whole = bias === '' ? undefined : add(arg(0), operand(lowering, node, bias, args))
  const [name = ''] = node.outputs
  lowering.values.name(name, whole === undefined ? made : map(lowering, node, args, whole, name))
}

/**
 * Gathers rows of words that have one scale per block. Each number in a word is shifted to the top, then
 * down.
 */
const gatherBlocks: Handler = (lowering, node) => {
  const [data = '', chosen = '', scales = '', zeros = ''] = node.inputs
  const dtype = lowering.values.dtype(node, data)
  const bits = 32 / (dtype === 'u8' ? 4 * perElement(node, dtype) : 8)
  const each = 32 / bits
  const dims = lowering.values.dims(node, data)
  const axis = (name: string, usual: number) => axisOf(node, intOf(node, name, usual), dims.length)
  if (dims.length !== 2 || axis('gather_axis', 0) !== 0 || axis('quantize_axis', 1) !== 1)
    throw unclaimed(node, 'it does not gather rows of blocks')
  const k = dims[1]! * perElement(node, dtype)
  const block = intOf(node, 'block_size', 128)
  const blocks = k / block
  if (block < 16 || !Number.isInteger(blocks))
    throw unclaimed(node, `its rows of ${k} are not a multiple of the block size ${block}`)
  const indices = lowering.values.ref(node, chosen)
  const rows = (table: Ref, ...tail: number[]): Ref => {
    const made = gatherAlong(lowering, node, { data: table, axis: 0, indices, name: node.name })
    return reshape(lowering, node, made, [...dimsOf(indices), blocks, ...tail, 1])
  }
  const words = rows(lowering.values.packed(node, data, 'words', [dims[0]!, k / each]), block / each)
  const toTop = lowering.once(`top ${bits}`, () =>
    lowering.values.table('i32', [each], (at) => 2 ** (32 - bits * (at + 1))),
  )
  const args = [words, toTop, rows(lowering.values.ref(node, scales), 1)]
  const moved = apply('i.mul', arg(0, 'i32'), arg(1, 'i32'))
  const code = apply('i.shr', moved, number(32 - bits, 'i32'))
  const middle = dtype === 'i4' ? SIGNED_MIDDLE : dtype === 'u8' && zeros === '' ? 2 ** (bits - 1) : 0
  let whole = apply('i.sub', code, number(middle, 'i32'))
  if (zeros !== '')
    whole = apply('i.sub', whole, arg(args.push(rows(zerosOf(lowering, node, blocks), 1)) - 1, 'i32'))
  const made = map(lowering, node, args, mul(apply('to f32', whole), arg(2)))
  const [name = ''] = node.outputs
  lowering.values.name(name, reshape(lowering, node, made, lowering.values.dims(node, name)))
}

/** Zero points [n, blocks]; two may share a byte. Each row begins at a byte boundary. */
function zerosOf(lowering: Lowering, node: Node, blocks: number): Ref {
  const name = node.inputs[3]!
  const dtype = lowering.values.dtype(node, name)
  const perByte = perElement(node, dtype)
  if (dtype === 'u8' && perByte === 1) return lowering.values.ref(node, name)
  const [n = 0, own = 0] = lowering.values.dims(node, name)
  const count = perByte * own
  if (count < blocks) throw unfit(node, `it has ${count} zero points for ${blocks} blocks`)
  const all = lowering.values.packed(node, name, 'nibbles', [n, count])
  return { ...all, view: sliced(all.view, 1, 0, blocks) }
}

export const BLOCK_HANDLERS = {
  'com.microsoft:MatMulNBits': matMulNBits,
  'com.microsoft:GatherBlockQuantized': gatherBlocks,
} satisfies SomeHandlers
