// Scaled models. In: a prepared model, scales of inputs. Out: the same function, with matrices multiplied and
// what makes their inputs divided by the scales.
import { weightOf } from '../../arch/tensors/names.ts'
import { bufferSource, filledSource } from '../../base/bytes.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { readMatrix, readVector } from './read-matrix.ts'
import type { Surveyed } from './survey.ts'

/** Factors of a matrix's columns, and divisors of its rows. */
interface Factors {
  columns?: readonly number[]
  rows?: readonly number[]
}

/** Matrices are scaled while they are read. */
export async function scaledModel(
  prepared: PreparedModel,
  surveyed: readonly Surveyed[],
  signal: AbortSignal,
): Promise<PreparedModel> {
  const weights = new Map(prepared.weights)
  const factors = new Map<string, Factors>()
  const factorsOf = (name: string): Factors => {
    const own = factors.get(name) ?? {}
    factors.set(name, own)
    return own
  }
  for (const { parts, scaling } of surveyed) {
    if (scaling === undefined || scaling.exponent === 0) continue
    const { scales, producer } = scaling
    for (const name of parts) factorsOf(name).columns = scales
    if (producer.matrix !== undefined) factorsOf(producer.matrix).rows = scales
    for (const name of producer.vectors) {
      const tensor = weightOf(weights, name)
      const values = await readVector(tensor, signal)
      weights.set(
        name,
        floats(
          tensor,
          values.map((value, i) => value / scales[i]!),
        ),
      )
    }
  }
  for (const [name, own] of factors) weights.set(name, scaledMatrix(weightOf(weights, name), own, signal))
  return { ...prepared, weights }
}

function floats({ name, shape }: TensorInfo, values: Float32Array): TensorInfo {
  const source = bufferSource(name, new Uint8Array(values.buffer as ArrayBuffer))
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size }
}

function scaledMatrix(tensor: TensorInfo, { columns, rows }: Factors, signal: AbortSignal): TensorInfo {
  const { name, shape } = tensor
  const [n = 0, k = 0] = shape
  const source = filledSource(name, n * k * 4, async (target, offset) => {
    const values = await readMatrix(tensor, signal)
    for (let at = 0; at < values.length; at++) {
      const factor = (columns?.[at % k] ?? 1) / (rows?.[Math.floor(at / k)] ?? 1)
      values[at] = values[at]! * factor
    }
    target.set(new Uint8Array(values.buffer, offset, target.length))
  })
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size, like: tensor.dtype }
}
