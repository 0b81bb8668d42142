// Products of matrices between DequantizeLinear and QuantizeLinear, as quantisers write them: sums of
// integers, which are scaled afterwards.
import type { Node } from '../../../onnx/ir/graph.ts'
import { flagOf, floatOf } from '../../../onnx/ir/operator.ts'
import { countOf } from '../../../onnx/ir/tensor.ts'
import type { CodedForm } from '../../loops/loops.ts'
import { add, arg, mul } from '../../loops/tree.ts'
import { map } from '../lowering/loops.ts'
import type { Lowering } from '../lowering/lowering.ts'
import { operand } from '../lowering/operands.ts'
import { matrixSums } from './code-matrix.ts'
import { asFloat, perChannel } from './code-windows.ts'
import { dequantised, wholeBias } from './dequantised.ts'
import { CODE_DTYPES, stored } from './zero-points.ts'

/** Computes a MatMul or Gemm of dequantised codes, if that is what the node is. */
export function multiplyCodes(lowering: Lowering, node: Node): boolean {
  const { values } = lowering
  const form = formOf(node)
  const [x, w] = node.inputs.slice(0, 2).map((name) => dequantised(lowering, name))
  if (form === undefined || x === undefined || w === undefined) return false
  if (x.scale.length !== 1 || x.zero.length !== 1 || !CODE_DTYPES.includes(values.dtype(node, x.codes)))
    return false
  const [name = '', bias = ''] = [node.outputs[0], node.inputs[2]]
  const columns = form === 'filters' ? 0 : 1
  const n = values.dims(node, name).at(-1)!
  if (w.scale.length > 1 && (w.axis !== columns || w.scale.length !== n)) return false
  const isPerColumn = bias === '' || countOf(values.dims(node, bias)) === n
  const scale = w.scale.map((each) => Math.fround(x.scale[0]! * each))
  const whole = bias !== '' && isPerColumn ? wholeBias(lowering, bias, scale) : undefined
  const input = stored(lowering, node, { codes: x.codes, zero: x.zero[0]! })
  const sums = matrixSums(lowering, node, input, { form, filters: w, bias: whole })
  if (sums === undefined) return false
  const args = [sums, perChannel(lowering, scale, 0)]
  let tree = mul(asFloat(sums), arg(1))
  if (bias === '' || whole !== undefined) lowering.sums.set(name, { ref: sums, scale, after: 0 })
  else tree = add(tree, operand(lowering, node, bias, args))
  values.name(name, map(lowering, node, args, tree, name))
  return true
}

/** How the product reads its constant; undefined if it does more than multiply and add. */
function formOf(node: Node): CodedForm | undefined {
  if (node.op === 'MatMul') return 'matrix'
  const isPlain = floatOf(node, 'alpha', 1) === 1 && floatOf(node, 'beta', 1) === 1
  if (!isPlain || flagOf(node, 'transA')) return undefined
  return flagOf(node, 'transB') ? 'filters' : 'matrix'
}
