// Reads the elements of a constant from its file, as a tensor or directly into memory.
import { readInto } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { type Constant, type Graph, isStored } from '../../onnx/ir/graph.ts'
import type { DType, Tensor } from '../../onnx/ir/tensor.ts'
import { tensorFromBytes } from '../../onnx/proto/tensor-proto.ts'
import { unheldOf, WHY_UNHELD } from '../loops/held.ts'
import type { BlockCodes, Codes } from '../loops/loops.ts'
import { type Coded, codedBy, codedInBlocks } from './coded.ts'

/** The constants that a program reads, by name. */
export type WithConstants = Pick<Graph, 'constants'>

/** The elements of a constant, which are read from its file. */
export async function constantTensor(
  name: string,
  constant: Constant,
  signal?: AbortSignal,
): Promise<Tensor> {
  if (!isStored(constant)) return constant
  const { source, offset, byteLength, dtype, dims } = constant
  const bytes = new Uint8Array(byteLength)
  await readInto(source, bytes, offset, signal)
  return tensorFromBytes(source.name, name, dtype, dims, bytes, true)
}

/** Fills `target` with the bytes of a constant whose elements are held as they are stored. */
export async function readConstant(
  constant: Constant,
  target: Uint8Array,
  signal?: AbortSignal,
): Promise<void> {
  if (isStored(constant)) await readInto(constant.source, target, constant.offset, signal)
  else {
    const { buffer, byteOffset, byteLength } = constant.data
    target.set(new Uint8Array(buffer, byteOffset, byteLength))
  }
}

/** The codes of a constant whose elements are `tensor`. */
export async function codedOf(
  { constants }: WithConstants,
  tensor: Tensor,
  codes: Codes | BlockCodes,
  signal?: AbortSignal,
): Promise<Coded> {
  if (!('block' in codes)) return codedBy(tensor, codes)
  const read = (name: string) => constantTensor(name, constants.get(name)!, signal)
  const zeros = codes.zeros === undefined ? undefined : await read(codes.zeros)
  return codedInBlocks(tensor, codes, await read(codes.scales), zeros)
}

/**
 * Throws `unsupported` for a number that cannot be represented in memory. `what`: the value that contains it.
 */
export function checkHeld(what: string, dtype: DType, data: Tensor['data']): void {
  const value = unheldOf(dtype, data)
  if (value === undefined) return
  throw new HalfbyteError(
    'unsupported',
    `${what} contains the number ${value}, ${WHY_UNHELD}; use smaller numbers, or a model without it`,
    { value: `${value}` },
  )
}
