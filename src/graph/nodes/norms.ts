// Norms. In: rows. Out: rows that are normalised, or whose norm is undone.
import { GROUP_SIZE, roundUp } from '../../abi/encodings.ts'
import { broken, expectKind, expectRows, expectWidth } from '../fit.ts'
import type { Quantizable, Value, WeightRef } from '../ir.ts'
import { type KernelKind, opRecord } from '../node.ts'

export interface RmsNorm extends Quantizable {
  readonly op: 'rmsnorm'
  readonly input: Value
  readonly weight: WeightRef
  readonly epsilon: number
  /** Equal parts of a row, each normalised separately. Default: one. */
  readonly parts?: number
}

export const rmsnorm: KernelKind<RmsNorm> = {
  shape({ input, weight, parts = 1 }) {
    if (parts > 1 && input.shape[1] % (parts * GROUP_SIZE) !== 0) {
      throw broken(input, `is normalised in ${parts} parts that are not whole groups`)
    }
    expectRows(input, weight)
    expectKind(weight, 'vector')
    return input.shape
  },
  record({ input, weight, output, quantized, epsilon, parts = 1 }, { rowsAt, slotsOf }) {
    const rows = { ...rowsAt({ x: input, y: output, q: quantized }), n: input.shape[1], eps: epsilon }
    return opRecord('rmsnorm', { ...rows, ...slotsOf({ weight }), parts })
  },
}

export interface LayerNorm extends Quantizable {
  readonly op: 'layernorm'
  readonly input: Value
  readonly weight: WeightRef
  readonly bias?: WeightRef | undefined
  readonly epsilon: number
}

export const layernorm: KernelKind<LayerNorm> = {
  shape({ input, weight, bias }) {
    expectRows(input, weight)
    expectKind(weight, 'vector')
    if (bias) expectRows(input, bias)
    return input.shape
  },
  record({ input, weight, bias, output, quantized, epsilon }, { rowsAt, slotsOf }) {
    const rows = { ...rowsAt({ x: input, y: output, q: quantized }), n: input.shape[1], eps: epsilon }
    return opRecord('layernorm', { ...rows, ...slotsOf({ weight, bias }) })
  },
}

/**
 * With `x`: `input` is a product of normalised rows of x, which have `size` values. Undoes that norm and
 * writes the sum of the squares of x after the input, at the next whole group of columns. Without `x`:
 * divides by the norm of `size` values, whose sum of squares lies there. Overwrites the input, which has
 * `width` values.
 */
export interface Renorm {
  readonly op: 'renorm'
  readonly input: Value
  readonly x?: Value | undefined
  readonly width: number
  readonly size: number
  readonly epsilon: number
  readonly output: Value
}

export const renorm: KernelKind<Renorm> = {
  shape({ input, x, width, size }) {
    const summed = roundUp(width, GROUP_SIZE) + 1
    expectWidth(input, x === undefined ? summed : width, 'a norm')
    if (x !== undefined) expectWidth(x, size, 'its own norm')
    return [input.shape[0], x === undefined ? width : summed]
  },
  record({ x, width, size, epsilon, output }, { rowsAt }) {
    return opRecord('renorm', { ...rowsAt({ x, y: output }), n: width, size, eps: epsilon })
  },
}
