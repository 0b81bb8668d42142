// Records: the arguments of a step's function or engine kernel, as words in linear memory.
import { ENCODINGS, roundUp } from '../../../core/abi/encodings.ts'
import { SINGLE_OP_BYTES, writeSingleOp } from '../../../core/abi/records.ts'
import {
  type KernelCall,
  PANEL,
  PRODUCT_WORDS,
  type ProductCall,
  productWord,
  RECORD,
  recordWords,
  STEP_CODES,
  STREAM_WORDS,
  type StreamPlace,
  selectedWord,
  sizesWord,
  streamWord,
  TILE_ROWS,
} from '../emit/kernel.ts'
import { codedRowBytes, dimsOf, elementBytes, type KernelLoop, type Ref } from '../loops/loops.ts'
import type { Step } from '../program/step.ts'

/** Addresses of a step's inputs and outputs. */
export interface Room {
  /** Address of the steps' scratch memory. */
  readonly scratch: number
  addressOf(place: Pick<StreamPlace, 'at'>): number
  /** Address of a product's constant matrix in panels of eight columns. */
  packed(product: Pick<ProductCall, 'matrix' | 'codes'>): number
  /** Address of a constant matrix in the engine kernels' layout. */
  matrix(matrix: Ref, encoding: string): number
}

export const recordBytes = (step: Step): number =>
  'kernel' in step ? SINGLE_OP_BYTES : 4 * recordWords(step.call.kernel)

export function writeRecord(memory: ArrayBufferLike, step: Step, record: number, room: Room): void {
  const words = new Int32Array(memory, record, recordBytes(step) / 4).fill(0)
  if ('kernel' in step) writeOp(words, step.kernel, room)
  else writeCall(words, step.call, room)
}

function writeOp(words: Int32Array, loop: KernelLoop, room: Room): void {
  const [ref] = loop.args
  const x = room.addressOf({ at: { value: ref.value, offset: ref.view.offset } })
  const out = room.addressOf({ at: { value: loop.out, offset: 0 } })
  const m = dimsOf(ref)[0]!
  if (loop.loop === 'quantize') {
    const k = dimsOf(ref)[1]!
    const fields = { x, x_stride: 4 * ref.view.strides[0]!, n: k, q: out, q_stride: codedRowBytes(k) }
    writeSingleOp(words, 'quantize', m, fields)
    return
  }
  const [k, n] = dimsOf(loop.matrix) as [number, number]
  writeSingleOp(words, ENCODINGS[loop.encoding].linear, m, {
    w: room.matrix(loop.matrix, loop.encoding),
    n,
    k,
    x,
    x_stride: codedRowBytes(k),
    y: out,
    y_stride: 4 * roundUp(n, 32),
  })
}

/** The size of an element of a stream. */
const sizeAt = ({ at }: Pick<StreamPlace, 'at'>): number => ('value' in at ? elementBytes(at.value) : 4)

const bytesFrom = (steps: readonly number[], size = 4): number[] => steps.map((step) => size * step)

function writeCall(words: Int32Array, call: KernelCall, room: Room): void {
  const { kernel, outer, inner, streams, sizes, product, selected } = call
  words[RECORD.inner] = inner
  words.set(outer, RECORD.outer)
  for (const [index, stream] of streams.entries()) {
    const word = streamWord(kernel, index)
    words[word + STREAM_WORDS.base] = room.addressOf(stream)
    words[word + STREAM_WORDS.inner] = sizeAt(stream) * stream.inner
    words[word + STREAM_WORDS.index] = 4 * (stream.index?.step ?? 0)
    words[word + STREAM_WORDS.size] = stream.index?.size ?? 0
    words.set(bytesFrom(stream.steps, sizeAt(stream)), word + STREAM_WORDS.steps)
  }
  new Float32Array(words.buffer, words.byteOffset, words.length).set(sizes, sizesWord(kernel))
  if (selected !== undefined) words[selectedWord(kernel)] = selected
  if (product === undefined) return
  const word = productWord(kernel)
  const isPacked = kernel.product?.b === 'packed'
  const at = (name: keyof typeof PRODUCT_WORDS): number => word + PRODUCT_WORDS[name]
  words[at('m')] = product.m
  const each = product.codes === undefined ? 1 : STEP_CODES
  words[at('k')] = product.k / each
  words[at('unitRows')] = product.rows
  words[at('a')] = room.addressOf(product.a)
  words[at('aRow')] = sizeAt(product.a) * product.a.row
  words[at('aK')] = 4 * product.a.k
  words[at('b')] = isPacked ? room.packed(product) : room.addressOf(product.b)
  words[at('bK')] = 4 * product.b.k
  words[at('bColumn')] = 4 * product.b.column
  words[at('tile')] = room.scratch
  words[at('panel')] = room.scratch + 4 * PANEL * TILE_ROWS
  if (product.windows !== undefined) {
    words[at('rows')] = room.addressOf(product.windows.rows)
    words[at('gaps')] = room.addressOf(product.windows.gaps)
    words[at('run')] = product.windows.run / each
  }
  words.set(bytesFrom(product.a.steps, sizeAt(product.a)), at('aSteps'))
  words.set(bytesFrom(isPacked ? packedSteps(product) : product.b.steps), at('aSteps') + kernel.outer)
}

/** Strides from one packed matrix of a batch to the next. */
function packedSteps({ k, n, b, matrix, codes }: NonNullable<KernelCall['product']>): number[] {
  let step = Math.ceil(n / PANEL) * PANEL * (codes === undefined ? k : k / STEP_CODES + 1)
  const steps: number[] = []
  for (let axis = b.steps.length - 1; axis >= 0; axis--) {
    steps[axis] = b.steps[axis] === 0 ? 0 : step
    if (b.steps[axis] !== 0) step *= matrix.view.dims[axis]!
  }
  return steps
}
