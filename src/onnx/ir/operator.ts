// Operators as data. In: nothing. Out: what each entry of the registry gives: schema, shape rule, evaluator,
// mapping type, layout class.
import { HalfbyteError } from '../../base/errors.ts'
import type { AttributeKind, Domain, Graph, Node, Type } from './graph.ts'
import { type DType, MOST_AXES, type Tensor } from './tensor.ts'

/**
 * How an output element depends on input elements (the mapping types of DNNFusion):
 * `one-to-one` elementwise; `one-to-many` with broadcasting or repetition; `many-to-many` reductions and
 * products; `reorganize` the same elements in the same order under other dims; `shuffle` the same elements in
 * another order.
 */
export type Mapping = 'one-to-one' | 'one-to-many' | 'many-to-many' | 'reorganize' | 'shuffle'

/**
 * Whether the time of an operator depends on the layout of its inputs, and whether it may choose that of its
 * output: `ILD` input-layout dependent, `ILI` independent; `variable` output layout, or `fixed`.
 */
export type Layout = 'ILD variable' | 'ILI variable' | 'ILD fixed' | 'ILI fixed'

export interface Schema {
  /** Fewest and most inputs; `Infinity` where any number may come. */
  readonly inputs: readonly [number, number]
  readonly outputs: readonly [number, number]
  /** Every attribute that is honoured. A node with another one is not claimed. */
  readonly attributes: Readonly<Record<string, AttributeKind>>
  /** Dtypes of each input, by position; the last entry holds for the inputs after it. */
  readonly dtypes: readonly (readonly DType[])[]
}

/** What a shape rule reads. */
export interface Inference {
  readonly node: Node
  /** undefined: the input is left out, or nothing is known of it. */
  readonly inputs: readonly (Type | undefined)[]
  /** The elements of an input that is a constant in memory. */
  constant(input: number): Tensor | undefined
  /** The types of a subgraph's outputs, for inputs of these types. */
  subgraph(graph: Graph, inputs: readonly (Type | undefined)[]): readonly (Type | undefined)[]
}

/** What an evaluator reads. */
export interface Evaluation {
  readonly node: Node
  /** undefined: the input is left out. */
  readonly inputs: readonly (Tensor | undefined)[]
  /** Charges for work beyond the elements that are read and written, before it is done. */
  spend(units: number): void
  /**
   * Runs a graph of an attribute. It sees the values of the graphs around it. What it makes is held until it
   * is dropped or the node is done.
   */
  run(graph: Graph, inputs: readonly Tensor[]): readonly Tensor[]
  /** Says that results of `run` are not needed any more. */
  drop(made: readonly Tensor[]): void
}

export type Evaluate = (context: Evaluation) => readonly (Tensor | undefined)[]

/** The newest opset of ONNX's own domain that entries follow. */
export const LATEST_OPSET = 28

export interface Operator {
  readonly name: string
  readonly domain: Domain
  /** First and last opset whose definition the entry follows; `node.version` tells them apart within. */
  readonly versions: readonly [number, number]
  readonly schema: Schema
  readonly mapping: Mapping
  readonly layout: Layout
  /** One type for each output; undefined where nothing is known. Throws what `unfit` makes. */
  infer(context: Inference): readonly (Type | undefined)[]
  /**
   * One tensor for each output that the node names; undefined for one it does not want. The result of f16 and
   * bf16 is rounded by the caller, so evaluators compute in f64 or f32 freely. Absent for operators that
   * reading a model never computes: `src/onnx/verify/` has theirs.
   */
  readonly evaluate?: Evaluate | undefined
}

/** The `format` error for inputs that do not fit together. `what` is a clause with both numbers. */
export function unfit(node: Node, what: string): HalfbyteError {
  return new HalfbyteError(
    'format',
    `node ${node.name} (${node.op}): ${what}; the file contradicts itself, so export the model again`,
    { node: node.name, op: node.op },
  )
}

/** The `unsupported` error for what an operator's entry does not cover. */
export function unclaimed(node: Node, what: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `node ${node.name} (${node.op}): ${what}; export the model without it, or as GGUF or safetensors`,
    { node: node.name, op: node.op },
  )
}

/** Throws `unsupported` for a value of more axes than a value may have. */
export function checkAxes(node: Node, dims: readonly unknown[] = []): void {
  if (dims.length > MOST_AXES)
    throw unclaimed(node, `it makes a value of ${dims.length} axes where ${MOST_AXES} are the most`)
}

/** An input that the schema says is there. */
export function given<T>(
  { node, inputs }: { node: Node; inputs: readonly (T | undefined)[] },
  index: number,
): T {
  const input = inputs[index]
  if (input === undefined) throw unfit(node, `its input ${index} is left out`)
  return input
}
