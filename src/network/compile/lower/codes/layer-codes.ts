// Products with the weights of recurrent layers that are stored as 8-bit codes. Rows are rounded to codes as
// DynamicQuantizeLSTM does, but each with a scale and a zero point of its own, as for MatMulInteger.
import { type Node, producersOf } from '../../../onnx/ir/graph.ts'
import { intsOf, unfit } from '../../../onnx/ir/operator.ts'
import { dimsOf, type Ref } from '../../loops/loops.ts'
import { arg, mul, number } from '../../loops/tree.ts'
import { reshape } from '../lowering/layouts.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { matrixSizes, matrixSums } from './code-matrix.ts'
import { asFloat } from './code-windows.ts'
import { dequantised } from './dequantised.ts'
import { dynamicCodes, dynamicScale } from './quantize.ts'
import type { CodedFilters } from './zero-points.ts'

/** The weights of one direction, a matrix [k, n] of several, and their scale. */
export interface LayerCodes extends CodedFilters {
  readonly scale: number
}

/**
 * The codes from which a layer's weights are decoded (`decodeLayers`), [directions, k, n] before they are
 * transposed, with a scale for each direction. Undefined if the weights are something else, or nothing may be
 * rounded. Throws `format` for another number of scales or zero points.
 */
export function layerCodes(
  lowering: Lowering,
  node: Node,
  name: string,
  direction: number,
): LayerCodes | undefined {
  const turned = producersOf(lowering.graph).get(name)
  if (turned?.op !== 'Transpose' || `${intsOf(turned, 'perm', [])}` !== '0,2,1') return undefined
  const found = dequantised(lowering, turned.inputs[0]!)
  if (found === undefined || found.axis !== 0) return undefined
  const { codes, scale, zero } = found
  const place = { form: 'matrix', index: direction } as const
  const [directions, k = 0] = lowering.values.dims(node, codes)
  if ([scale, zero].some(({ length }) => length !== 1 && length !== directions))
    throw unfit(
      node,
      `its ${directions} directions have ${scale.length} scales and ${zero.length} zero points`,
    )
  if (lowering.weights === 'f32') return undefined
  if (matrixSizes(lowering, node, [1, k], codes, place) === undefined) return undefined
  const own = (numbers: readonly number[]): number => numbers[numbers.length === 1 ? 0 : direction]!
  return { codes, index: direction, scale: own(scale), zero: [own(zero)] }
}

/** Rows [m, k] times the weights, [m, n]. */
export function multiplyRounded(lowering: Lowering, node: Node, x: Ref, filters: LayerCodes): Ref {
  const made = dynamicScale(lowering, node, x, 'rows')
  const codes = dynamicCodes(lowering, node, x, made, { name: node.name, isByte: true })
  const zero = reshape(lowering, node, made.zero, [dimsOf(x)[0]!, 1])
  // Its sizes were checked when the weights were found.
  const sums = matrixSums(lowering, node, { codes, zero }, { form: 'matrix', filters })!
  const scale = mul(arg(1), number(filters.scale))
  return map(lowering, node, [sums, made.scale], mul(asFloat(sums), scale))
}
