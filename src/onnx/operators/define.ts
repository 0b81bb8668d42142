// Entries in short. In: what tells an operator from the others. Out: its entry, with the usual rest.
import type { Type } from '../ir/graph.ts'
import { type Inference, LATEST_OPSET, type Operator, type Schema } from '../ir/operator.ts'
import { reader, type Tensor } from '../ir/tensor.ts'

/** Defaults: ONNX's own domain, one input, one output, no attributes. */
export type Definition = Pick<Operator, 'name' | 'infer' | 'evaluate' | 'mapping' | 'layout'> &
  Partial<Pick<Operator, 'domain'>> &
  Partial<Omit<Schema, 'dtypes'>> &
  Pick<Schema, 'dtypes'> & {
    /** First opset that the entry follows. */
    readonly since: number
    /** Last one. Default: the newest. */
    readonly until?: number
  }

export function define(definition: Definition): Operator {
  const { name, domain = '', since, until = LATEST_OPSET, mapping, layout, infer, evaluate } = definition
  const { inputs = [1, 1], outputs = [1, 1], attributes = {}, dtypes } = definition
  return {
    name,
    domain,
    versions: [since, until],
    schema: { inputs, outputs, attributes, dtypes },
    mapping,
    layout,
    infer,
    evaluate,
  }
}

export const MICROSOFT = 'com.microsoft'

/** An operator of ONNX Runtime. These have one version. */
export const defineContrib = (definition: Omit<Definition, 'domain' | 'since'>): Operator =>
  define({ ...definition, domain: MICROSOFT, since: 1, until: 1 })

/** The rule of operators whose output has the first input's dtype and shape. */
export const sameType = ({ inputs: [input] }: Inference): [Type | undefined] => [
  input && { dtype: input.dtype, dims: input.dims },
]

/** Whether the node names this output. */
export const wants = (node: { readonly outputs: readonly string[] }, output: number): boolean =>
  (node.outputs[output] ?? '') !== ''

/** The first element of an input that has one; undefined where the input is left out. */
export const scalarOf = (tensor: Tensor | undefined): number | undefined =>
  tensor === undefined || tensor.data.length === 0 ? undefined : reader(tensor)(0)
