// The graphs of ONNX files: nodes over tensors of any rank, values by name, constants, symbolic dims,
// attributes, edges.
import type { ByteSource } from '../../../core/base/bytes.ts'
import { memo } from '../../../core/base/values.ts'
import type { Dim } from './dims.ts'
import { type DType, numbersOf, type Tensor } from './tensor.ts'

/** The node that produces each value. */
export const producersOf = ({ nodes }: Pick<Graph, 'nodes'>): ReadonlyMap<string, Node> =>
  memo(PRODUCERS, nodes, () => {
    const producers = new Map<string, Node>()
    for (const node of nodes) for (const name of node.outputs) if (name !== '') producers.set(name, node)
    return producers
  })

/** Several passes ask for the edges of a graph that they do not change. */
const PRODUCERS = new WeakMap<readonly Node[], ReadonlyMap<string, Node>>()
const READERS = new WeakMap<readonly Node[], ReadonlyMap<string, readonly Node[]>>()

/** The nodes that read each value, listed once per read. The graph's own outputs do not count as reads. */
export const readersOf = ({ nodes }: Pick<Graph, 'nodes'>): ReadonlyMap<string, readonly Node[]> =>
  memo(READERS, nodes, () => foundReaders(nodes))

function foundReaders(nodes: readonly Node[]): ReadonlyMap<string, readonly Node[]> {
  const readers = new Map<string, Node[]>()
  for (const node of nodes) {
    for (const name of node.inputs) {
      if (name === '') continue
      const known = readers.get(name)
      if (known === undefined) readers.set(name, [node])
      else known.push(node)
    }
  }
  return readers
}

/** Names of the values that exactly one node reads and that are not outputs of the graph. */
export function readOnce(graph: Graph): ReadonlySet<string> {
  const once = new Set<string>()
  for (const [name, nodes] of readersOf(graph)) if (nodes.length === 1) once.add(name)
  for (const output of graph.outputs) once.delete(output)
  return once
}

/** Names that a node reads from its own graph. Graphs in its attributes also have names of their own. */
export function readsOf(node: Node): string[] {
  const outer = node.inputs.filter((name) => name !== '')
  if (!hasGraph(node)) return outer
  const inner = [...node.attributes.values()].flatMap((attribute) => {
    if (attribute.kind !== 'graph') return []
    const { inputs, constants, nodes, outputs } = attribute.value
    const own = new Set([
      ...inputs.map(({ name }) => name),
      ...constants.keys(),
      ...nodes.flatMap((each) => each.outputs),
    ])
    return [...nodes.flatMap(readsOf), ...outputs].filter((name) => !own.has(name))
  })
  return [...outer, ...inner]
}

/** How many names a graph's nodes read and define, including those in nested graphs. */
export const sizeOf = ({ nodes }: Pick<Graph, 'nodes'>): number =>
  memo(SIZES, nodes, () => nodes.reduce((sum, node) => sum + sizeOfNode(node), 0))

const SIZES = new WeakMap<readonly Node[], number>()

function sizeOfNode(node: Node): number {
  let size = 1 + node.inputs.length + node.outputs.length
  if (!hasGraph(node)) return size
  for (const { kind, value } of node.attributes.values()) if (kind === 'graph') size += sizeOf(value)
  return size
}

/** The names of the graph's outputs. */
export const outputsOf = ({ outputs }: Pick<Graph, 'outputs'>): ReadonlySet<string> =>
  memo(OUTPUTS, outputs, () => new Set(outputs))

const OUTPUTS = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Whether an attribute is a graph. */
export function hasGraph({ attributes }: Pick<Node, 'attributes'>): boolean {
  for (const { kind } of attributes.values()) if (kind === 'graph') return true
  return false
}

/**
 * The nodes sorted so that each comes after the producers of its inputs, and otherwise in the given order,
 * because converters append the casts that they insert. Nodes in a cycle come in any order.
 */
export function inOrder(nodes: readonly Node[]): readonly Node[] {
  const makers = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node] as const)))
  const ordered = new Set<Node>()
  const begun = new Set<Node>()
  for (const first of nodes) {
    // A stack instead of recursion, because a graph may be a chain of many thousands of nodes.
    const waiting = [first]
    for (let node = waiting.at(-1); node !== undefined; node = waiting.at(-1)) {
      const before = begun.has(node)
        ? []
        : readsOf(node)
            .flatMap((name) => makers.get(name) ?? [])
            .filter((maker) => !begun.has(maker))
      begun.add(node)
      for (const maker of before.reverse()) waiting.push(maker)
      if (before.length === 0) ordered.add(waiting.pop() as Node)
    }
  }
  return [...ordered]
}

/** Maximum elements of a constant or shape whose values are tracked. */
const MAX_KNOWN = 1024
const FOLLOWED: readonly DType[] = ['i64', 'i32', 'bool']

/** Returns the same object for the same constant. */
export const typeOf = (constant: Constant): Type => memo(CONSTANT_TYPES, constant, () => madeType(constant))

const CONSTANT_TYPES = new WeakMap<Constant, Type>()

function madeType(constant: Constant): Type {
  const { dtype, dims } = constant
  if (isStored(constant) || constant.data.length > MAX_KNOWN || !FOLLOWED.includes(dtype))
    return { dtype, dims }
  return { dtype, dims, elements: numbersOf(constant) }
}

/** '' is ONNX's own domain; 'com.microsoft' has the operators of ONNX Runtime. */
export type Domain = string

/** Integers beyond 2^53 are clamped to 2^53: exporters write INT64_MAX to mean the end of a dimension. */
export type Attribute =
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'ints'; readonly value: readonly number[] }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'floats'; readonly value: readonly number[] }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'strings'; readonly value: readonly string[] }
  | { readonly kind: 'tensor'; readonly value: Tensor }
  | { readonly kind: 'graph'; readonly value: Graph }
export type AttributeKind = Attribute['kind']

export interface Node {
  /** Its name in the file, or its first output's. For messages. */
  readonly name: string
  readonly op: string
  readonly domain: Domain
  /** Opset of the node's domain. */
  readonly version: number
  /** '' for an omitted optional input. */
  readonly inputs: readonly string[]
  /** '' for an unused output. */
  readonly outputs: readonly string[]
  readonly attributes: ReadonlyMap<string, Attribute>
}

/** The known type of a value. */
export interface Type {
  readonly dtype: DType
  /** Absent if the rank is unknown. */
  readonly dims?: readonly Dim[] | undefined
  /** Elements in row-major order, if they are known. Only for integers: sizes, indices, axes. */
  readonly elements?: readonly Dim[] | undefined
  /** What is known of all tensors of a sequence. */
  readonly item?: Type | undefined
}

export interface Input {
  readonly name: string
  /** Whether a run may omit the value. Its type is that of a value which is present. */
  readonly isOptional?: true
  /** Absent if the file does not say. Only inputs of graphs in attributes may lack it. */
  readonly type?: Type | undefined
}

/** A constant that stays in its file until its rows are needed. */
export interface StoredTensor {
  readonly dtype: DType
  readonly dims: readonly number[]
  readonly source: ByteSource
  /** First byte in `source`. */
  readonly offset: number
  readonly byteLength: number
  /** The same values as bf16, if every f32 value is exactly a bf16. */
  readonly bfloats?: ByteSource
}

export type Constant = Tensor | StoredTensor
export const isStored = (constant: Constant): constant is StoredTensor => 'source' in constant

/**
 * Nodes in an order in which each reads only available values: inputs, constants, outputs of earlier nodes,
 * and, for the graph of an attribute, values of the enclosing graphs. Every name is defined once.
 */
export interface Graph {
  readonly name: string
  readonly inputs: readonly Input[]
  readonly outputs: readonly string[]
  readonly constants: ReadonlyMap<string, Constant>
  readonly nodes: readonly Node[]
}

/** The node's attributes, except those with these names. */
export const withoutAttributes = (
  { attributes }: Pick<Node, 'attributes'>,
  ...names: readonly string[]
): Map<string, Attribute> => new Map([...attributes].filter(([name]) => !names.includes(name)))

/** Whether the node has this input; an omitted one has no name. */
export const hasInput = ({ inputs }: Pick<Node, 'inputs'>, index: number): boolean =>
  (inputs[index] ?? '') !== ''
