// Operators as data: a registry entry with its schema, shape rule and evaluator; and helpers for entries.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Attribute, AttributeKind, Domain, Graph, Node, Type } from './graph.ts'
import { DTYPES, type DType, MAX_AXES, reader, type Tensor } from './tensor.ts'

/** Defaults: ONNX's own domain, one input, one output, no attributes. */
type Definition = Pick<Operator, 'name' | 'infer' | 'evaluate'> &
  Partial<Pick<Operator, 'domain'>> &
  Partial<Omit<Schema, 'dtypes'>> &
  Pick<Schema, 'dtypes'> & {
    /** First opset that the entry implements. */
    readonly since: number
    /** Last opset that it implements. Default: the newest. */
    readonly until?: number
  }

export function define(definition: Definition): Operator {
  const { name, domain = '', since, until = LATEST_OPSET, infer, evaluate } = definition
  const { inputs = [1, 1], outputs = [1, 1], attributes = {}, dtypes } = definition
  return {
    name,
    domain,
    versions: [since, until],
    schema: { inputs, outputs, attributes, dtypes },
    infer,
    evaluate,
  }
}

/** The domain of ONNX Runtime's operators. */
export const MICROSOFT = 'com.microsoft'

/** An operator of ONNX Runtime. These operators have a single version. */
export const defineContrib = (definition: Omit<Definition, 'domain' | 'since'>): Operator =>
  define({ ...definition, domain: MICROSOFT, since: 1, until: 1 })

/** The shape rule of operators whose output has the first input's dtype and shape. */
export const sameType = ({ inputs: [input] }: Inference): [Type | undefined] => [
  input && { dtype: input.dtype, dims: input.dims },
]

/** Whether the node names this output. */
export const wants = (node: { readonly outputs: readonly string[] }, output: number): boolean =>
  (node.outputs[output] ?? '') !== ''

/** Both ways to assign the inputs of a commutative operator. */
export const EITHER_ORDER = [
  [0, 1],
  [1, 0],
] as const

/** The first element of an input; undefined if the input is omitted. */
export const scalarOf = (tensor: Tensor | undefined): number | undefined =>
  tensor === undefined || tensor.data.length === 0 ? undefined : reader(tensor)(0)

/**
 * The dtype whose number in TensorProto an attribute has; undefined if the attribute is absent or 0. Throws
 * `unsupported` for an unknown number.
 */
export function statedDtype(node: Node, attribute: string): DType | undefined {
  const number = intOf(node, attribute, 0)
  const dtype = DTYPES.get(number)
  if (number === 0 || dtype !== undefined) return dtype
  throw unclaimed(node, `its ${attribute} is the ONNX data type ${number}`)
}

type ValueOf<K extends AttributeKind> = Extract<Attribute, { kind: K }>['value']

function found<K extends AttributeKind>(node: Node, name: string, kind: K): ValueOf<K> | undefined {
  const attribute = node.attributes.get(name)
  if (attribute === undefined) return undefined
  if (attribute.kind === kind) return attribute.value as never
  throw new HalfbyteError(
    'format',
    `node ${node.name} (${node.op}): its attribute ${name} has type ${attribute.kind} instead of ${kind}; ` +
      'export the model again',
    { node: node.name, attribute: name },
  )
}

function or<K extends AttributeKind, F>(node: Node, name: string, kind: K, fallback: F): ValueOf<K> | F {
  return found(node, name, kind) ?? fallback
}

/** Each throws `format` if the attribute has a different type. */
export const intOf = <F extends number | undefined>(node: Node, name: string, fallback: F): number | F =>
  or(node, name, 'int', fallback)
export const flagOf = (node: Node, name: string, fallback = false): boolean =>
  or(node, name, 'int', fallback ? 1 : 0) !== 0
export const intsOf = <F extends readonly number[] | undefined>(
  node: Node,
  name: string,
  fallback: F,
): readonly number[] | F => or(node, name, 'ints', fallback)
export const floatOf = <F extends number | undefined>(node: Node, name: string, fallback: F): number | F =>
  or(node, name, 'float', fallback)
export const stringOf = <F extends string | undefined>(node: Node, name: string, fallback: F): string | F =>
  or(node, name, 'string', fallback)
export const floatsOf = <F extends readonly number[] | undefined>(
  node: Node,
  name: string,
  fallback: F,
): readonly number[] | F => or(node, name, 'floats', fallback)
export const stringsOf = <F extends readonly string[] | undefined>(
  node: Node,
  name: string,
  fallback: F,
): readonly string[] | F => or(node, name, 'strings', fallback)
export const graphOf = (node: Node, name: string): ValueOf<'graph'> | undefined => found(node, name, 'graph')

export interface Schema {
  /** Minimum and maximum number of inputs; `Infinity` for no limit. */
  readonly inputs: readonly [number, number]
  readonly outputs: readonly [number, number]
  /** Every supported attribute. A node with any other attribute is not claimed. */
  readonly attributes: Readonly<Record<string, AttributeKind>>
  /** Dtypes of each input, by position; the last entry applies to all later inputs. */
  readonly dtypes: readonly (readonly DType[])[]
}

/** The inputs of a shape rule. */
export interface Inference {
  readonly node: Node
  /** Undefined if the input is omitted or nothing is known about it. */
  readonly inputs: readonly (Type | undefined)[]
  /** The elements of an input that is a constant in memory. */
  constant(input: number): Tensor | undefined
  /** The types of a subgraph's outputs, for inputs of these types. */
  subgraph(graph: Graph, inputs: readonly (Type | undefined)[]): readonly (Type | undefined)[]
}

/** The inputs of an evaluator. */
export interface Evaluation {
  readonly node: Node
  /** Undefined if the input is omitted. */
  readonly inputs: readonly (Tensor | undefined)[]
  /** Charges for work beyond reading and writing the elements, before it is done. */
  spend(units: number): void
  /**
   * Runs a graph in an attribute, which sees the values of the enclosing graphs. Its outputs are held until
   * they are dropped or the node is done.
   */
  run(graph: Graph, inputs: readonly Tensor[]): readonly Tensor[]
  /** Releases results of `run` that are no longer needed. */
  drop(made: readonly Tensor[]): void
}

export type Evaluate = (context: Evaluation) => readonly (Tensor | undefined)[]

/** The newest opset of ONNX's own domain that entries implement. */
export const LATEST_OPSET = 28

export interface Operator {
  readonly name: string
  readonly domain: Domain
  /**
   * First and last opset whose definition the entry implements. `node.version` is the opset that a node uses.
   */
  readonly versions: readonly [number, number]
  readonly schema: Schema
  /** One type for each output; undefined if nothing is known. Throws the error of `unfit`. */
  infer(context: Inference): readonly (Type | undefined)[]
  /**
   * One tensor for each output that the node names; undefined for an unused one. The caller rounds f16 and
   * bf16 results, so evaluators may compute in f64 or f32. Absent for operators that are never computed
   * while a model is read; `evaluators.ts` has theirs.
   */
  readonly evaluate?: Evaluate | undefined
}

/** The `format` error for incompatible inputs. `what` is a clause with both numbers. */
export function unfit(node: Node, what: string): HalfbyteError {
  return new HalfbyteError(
    'format',
    `node ${node.name} (${node.op}): ${what}; the file contradicts itself, so export the model again`,
    { node: node.name, op: node.op },
  )
}

/** The `unsupported` error for a case that an operator's entry does not cover. */
export function unclaimed(node: Node, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `node ${node.name} (${node.op}): ${what}; export the model without it, or as GGUF or safetensors`,
    { node: node.name, op: node.op, reason: what },
  )
}

/** Throws `unsupported` for a value that exceeds the maximum number of axes. */
export function checkAxes(node: Node, dims: readonly unknown[] = []): void {
  if (dims.length > MAX_AXES)
    throw unclaimed(node, `it produces a value with ${dims.length} axes, but the maximum is ${MAX_AXES}`)
}

/** An input that the schema requires. */
export function given<T>(
  { node, inputs }: { node: Node; inputs: readonly (T | undefined)[] },
  index: number,
): T {
  const input = inputs[index]
  if (input === undefined) throw unfit(node, `its input ${index} is omitted`)
  return input
}
