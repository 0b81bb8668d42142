// The registry of operators: finds the entry for a node, or gives the reason if there is none.
import { groupBy } from '../../core/base/values.ts'
import type { Attribute, Node } from './ir/graph.ts'
import type { Operator, Schema } from './ir/operator.ts'
import type { DType } from './ir/tensor.ts'
import { ARITHMETIC, COMPARE } from './operators/arithmetic.ts'
import { ATTENTION, ROTARY } from './operators/attention.ts'
import { BOXES } from './operators/boxes.ts'
import { CHOOSE } from './operators/choose.ts'
import { CONTRIB_ATTENTION } from './operators/contrib/attention.ts'
import { BLOCKS, CONTRIB_PRODUCTS } from './operators/contrib/products.ts'
import { ACTIVATIONS, CONTRIB_NORMS } from './operators/contrib/rows.ts'
import { CREATE } from './operators/create.ts'
import { EINSUM } from './operators/einsum.ts'
import { FLOW_CONTROL } from './operators/flow.ts'
import { CONV } from './operators/images/conv.ts'
import { POOLS } from './operators/images/pool.ts'
import { IMAGES } from './operators/images/resize.ts'
import { SAMPLED } from './operators/images/sample.ts'
import { INDEXED } from './operators/indexed.ts'
import { LAYOUT } from './operators/layout.ts'
import { LOSSES } from './operators/losses.ts'
import { NORMS } from './operators/norms.ts'
import { ORDER } from './operators/order.ts'
import { PARTS } from './operators/parts.ts'
import { PICKS } from './operators/picks.ts'
import { PRODUCTS } from './operators/products.ts'
import { QUANTISE } from './operators/quantise.ts'
import { RECURRENT } from './operators/recurrent.ts'
import { REDUCE } from './operators/reduce.ts'
import { SHAPES } from './operators/shapes.ts'
import { SIGNALS } from './operators/signals.ts'
import { UNARY } from './operators/unary.ts'
import { SEQUENCES } from './operators/values/sequences.ts'
import { STRINGS } from './operators/values/strings.ts'

/** Every operator that has an entry. Each passes its ONNX node tests. */
export const OPERATORS: readonly Operator[] = [
  ...ARITHMETIC,
  ...ATTENTION,
  ...BOXES,
  ...CHOOSE,
  ...COMPARE,
  ...CONV,
  ...CREATE,
  ...EINSUM,
  ...FLOW_CONTROL,
  ...IMAGES,
  ...INDEXED,
  ...LAYOUT,
  ...LOSSES,
  ...NORMS,
  ...ORDER,
  ...PARTS,
  ...PICKS,
  ...POOLS,
  ...PRODUCTS,
  ...QUANTISE,
  ...RECURRENT,
  ...REDUCE,
  ...ROTARY,
  ...SAMPLED,
  ...SEQUENCES,
  ...SHAPES,
  ...SIGNALS,
  ...STRINGS,
  ...UNARY,
  ...ACTIVATIONS,
  ...BLOCKS,
  ...CONTRIB_ATTENTION,
  ...CONTRIB_NORMS,
  ...CONTRIB_PRODUCTS,
]

const BY_NAME: ReadonlyMap<string, readonly Operator[]> = groupBy(OPERATORS, ({ name }) => name)

/** The entry for a node's opset. */
export function operatorOf({ domain, op, version }: Node): Operator | undefined {
  return BY_NAME.get(op)?.find(
    ({ domain: own, versions: [first, last] }) => own === domain && version >= first && version <= last,
  )
}

/** Why no entry covers the node, as a clause; undefined if one does. */
export function whyUnclaimed(node: Node, dtypes: readonly (DType | undefined)[] = []): string | undefined {
  const operator = operatorOf(node)
  const place = node.domain === '' ? `opset ${node.version}` : `${node.domain} ${node.version}`
  if (operator === undefined) return `the operator ${node.op} of ${place} is unknown`
  const { schema } = operator
  return (
    wrongCount('inputs', node.inputs.length, schema.inputs) ??
    wrongCount('outputs', node.outputs.length, schema.outputs) ??
    wrongAttribute(node.attributes, schema) ??
    wrongDtype(dtypes, schema)
  )
}

function wrongCount(
  what: string,
  count: number,
  [fewest, most]: readonly [number, number],
): string | undefined {
  if (count >= fewest && count <= most) return undefined
  return `it has ${count} ${what}, but ${fewest} to ${most} are supported`
}

function wrongAttribute(given: ReadonlyMap<string, Attribute>, { attributes }: Schema): string | undefined {
  for (const [name, { kind }] of given) {
    const due = Object.hasOwn(attributes, name) ? attributes[name] : undefined
    if (due === undefined) return `its attribute ${name} is unknown`
    if (due !== kind) return `its attribute ${name} has type ${kind} instead of ${due}`
  }
  return undefined
}

function wrongDtype(dtypes: readonly (DType | undefined)[], schema: Schema): string | undefined {
  for (const [index, dtype] of dtypes.entries()) {
    const allowed = schema.dtypes[Math.min(index, schema.dtypes.length - 1)] ?? []
    if (dtype !== undefined && !allowed.includes(dtype)) return `its input ${index} is ${dtype}`
  }
  return undefined
}
