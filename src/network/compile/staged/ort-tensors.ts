// Converts tensors to onnxruntime-web's and back.
import type { Tensor as OrtTensor, TensorConstructor } from 'onnxruntime-web'
import { floatToHalf, halfTable } from '../../../core/base/half.ts'
import type { Node } from '../../onnx/ir/graph.ts'
import { unclaimed } from '../../onnx/ir/operator.ts'
import type { DType, Elements, Tensor } from '../../onnx/ir/tensor.ts'
import { stringTensor, textsOf } from '../../onnx/ir/values.ts'

/** bf16 and 4-bit values cannot be passed to onnxruntime-web. */
const NAMES: ReadonlyMap<DType, OrtTensor.Type> = new Map<DType, OrtTensor.Type>([
  ['f32', 'float32'],
  ['f64', 'float64'],
  ['f16', 'float16'],
  ['i8', 'int8'],
  ['u8', 'uint8'],
  ['i16', 'int16'],
  ['u16', 'uint16'],
  ['i32', 'int32'],
  ['u32', 'uint32'],
  ['i64', 'int64'],
  ['u64', 'uint64'],
  ['bool', 'bool'],
  ['string', 'string'],
])
const DTYPES: ReadonlyMap<string, DType> = new Map([...NAMES].map(([dtype, name]) => [name, dtype]))

/** Throws `unsupported` for a dtype that it does not accept. `reader`: the node that reads the value. */
export function checkPassed(dtype: DType, name: string, reader: Node): void {
  if (!NAMES.has(dtype))
    throw unclaimed(reader, `it reads ${name}, and ${dtype} values cannot be passed to onnxruntime-web`)
}

/**
 * The dtype of an output. Throws `unsupported` for sequences and anything else that is not a tensor
 * here.
 */
export function dtypeFrom(type: string, name: string, maker: Node): DType {
  const dtype = DTYPES.get(type)
  if (dtype === undefined)
    throw unclaimed(maker, `it produces ${name} of type ${type}, which Halfbyte cannot read`)
  return dtype
}

export function toOrt(make: TensorConstructor, tensor: Tensor): OrtTensor {
  const { dtype, dims, data } = tensor
  if (dtype === 'string') return new make('string', textsOf(tensor), dims)
  const given = dtype === 'f16' ? Uint16Array.from(data as Float32Array, floatToHalf) : data
  return new make(NAMES.get(dtype)!, given as Float32Array, dims)
}

/** The inputs of a session's run, by name. */
export const toOrtFeeds = (
  make: TensorConstructor,
  tensors: Iterable<readonly [string, Tensor]>,
): Record<string, OrtTensor> =>
  Object.fromEntries(Array.from(tensors, ([name, tensor]) => [name, toOrt(make, tensor)]))

export function fromOrt({ type, dims, data }: OrtTensor, name: string, maker: Node): Tensor {
  const dtype = dtypeFrom(type, name, maker)
  if (dtype === 'string') return stringTensor(dims, data as string[])
  if (dtype !== 'f16') return { dtype, dims, data: data as Elements }
  // Newer browsers have a typed array for this dtype.
  const { buffer, byteOffset, length } = data as Uint16Array
  const table = halfTable()
  return {
    dtype,
    dims,
    data: Float32Array.from(new Uint16Array(buffer, byteOffset, length), (at) => table[at]!),
  }
}
