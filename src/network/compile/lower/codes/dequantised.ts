// Values that DequantizeLinear computes from codes, and biases of sums of codes.
import { hasInput, producersOf } from '../../../onnx/ir/graph.ts'
import { intOf } from '../../../onnx/ir/operator.ts'
import { numbersOf } from '../../../onnx/ir/tensor.ts'
import type { CodeMatrix } from '../../loops/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'

interface Dequantised {
  readonly codes: string
  readonly scale: readonly number[]
  readonly zero: readonly number[]
  readonly axis: number
}

/** The codes, scales and zero points from which DequantizeLinear computes a value. */
export function dequantised({ graph, values }: Lowering, name: string): Dequantised | undefined {
  const node = producersOf(graph).get(name)
  if (node?.op !== 'DequantizeLinear' || node.domain !== '' || intOf(node, 'block_size', 0) !== 0)
    return undefined
  const [codes = '', scaleName = '', zeroName = ''] = node.inputs
  const scale = values.known(scaleName)
  const zero = hasInput(node, 2) ? values.known(zeroName) : undefined
  if (scale === undefined || (hasInput(node, 2) && zero === undefined) || scale.dtype !== 'f32')
    return undefined
  const given = scale.data.length === 1 ? 0 : intOf(node, 'axis', 1)
  const axis = given < 0 ? given + values.dims(node, codes).length : given
  return { codes, scale: numbersOf(scale), zero: zero === undefined ? [0] : numbersOf(zero), axis }
}

/**
 * A constant bias that is a multiple of the sums' scale, as quantisers round it, except for the rounding of
 * the product. Undefined if it is something else.
 */
export function wholeBias({ values }: Lowering, name: string, scale: readonly number[]): CodeMatrix['bias'] {
  const bias = values.known(name)
  if (bias?.dtype !== 'f32') return undefined
  const isWhole = numbersOf(bias).every((each, at) => {
    const quotient = each / scale[scale.length === 1 ? 0 : at]!
    return (
      Math.abs(quotient - Math.round(quotient)) <= 1e-3 + Math.abs(quotient) * 2 ** -22 && isSmall(quotient)
    )
  })
  return isWhole ? { constant: name, scale } : undefined
}

const isSmall = (sum: number): boolean => Math.abs(sum) < 2 ** 29
