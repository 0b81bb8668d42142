// Tensor scales. In: the tensors of a GGUF model. Out: the same, with NVFP4 matrices multiplied by their
// scales.
//
// Scales in E4M3 reach from 2^-9 to 448, so a matrix in NVFP4 can have a third scale: `X.scale` in F32 has
// one number for `X.weight`, or one for each expert in it. `X.input_scale` is for kernels that compute in
// NVFP4.
import { filledSource } from '../../base/bytes.ts'
import { dequantize } from '../dequantize.ts'
import { BLOCKS, elementCount } from '../dtypes.ts'
import { malformed, shown } from '../malformed.ts'
import { storedRows } from '../stored-rows.ts'
import type { TensorIndex, TensorInfo } from '../tensors.ts'

/** Throws `format` when a matrix has another number of scales than one, or than experts. */
export function scaleTensors(tensors: TensorIndex): TensorIndex {
  const all = new Map(tensors)
  for (const [name, tensor] of tensors) {
    if (tensor.dtype !== 'NVFP4' || !name.endsWith('.weight')) continue
    const scale = tensors.get(name.replace(/weight$/, 'scale'))
    if (scale !== undefined) {
      all.delete(scale.name)
      all.set(name, scaled(tensor, scale))
    }
    all.delete(name.replace(/weight$/, 'input_scale'))
  }
  return all
}

/** F32 that is computed when it is read, whole blocks at a time. */
function scaled(tensor: TensorInfo, scale: TensorInfo): TensorInfo {
  const { name, shape, source: file } = tensor
  const count = elementCount(shape) as number
  const factors = elementCount(scale.shape) as number
  const experts = shape.length === 3 ? (shape[0] as number) : 1
  if (scale.dtype !== 'F32' || (factors !== 1 && factors !== experts)) {
    throw malformed(
      file.name,
      `the scales of ${shown(name)} [${shape}] are ${scale.dtype} [${scale.shape}] where it takes F32 [1] or [${experts}]`,
    )
  }
  let scales: Float32Array | undefined
  const { elements, bytes } = BLOCKS.NVFP4
  const source = filledSource(file.name, 4 * count, async (target, offset, signal) => {
    const [first, length] = [offset / 4, target.byteLength / 4]
    const [from, size] = [(first / elements) * bytes, (length / elements) * bytes]
    const rows = storedRows('NVFP4', await file.read(tensor.offset + from, size, signal), tensor.coding)
    scales ??= storedRows('F32', await scale.source.read(scale.offset, scale.byteLength, signal)).f32
    const out = new Float32Array(length)
    dequantize(rows, 0, length, out, 0)
    for (let i = 0; i < length; i++) out[i]! *= scales[Math.floor(((first + i) * factors) / count)]!
    target.set(new Uint8Array(out.buffer))
  })
  return {
    ...tensor,
    dtype: 'F32',
    coding: undefined,
    like: 'NVFP4',
    source,
    offset: 0,
    byteLength: 4 * count,
  }
}
