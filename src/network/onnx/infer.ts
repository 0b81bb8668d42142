// Infers the dtype, the dims and, for short integer tensors, the elements of every value of a graph.
import { memo } from '../../core/base/values.ts'
import { type Graph, hasGraph, isStored, type Node, type Type, typeOf } from './ir/graph.ts'
import { checkAxes, type Inference, unfit } from './ir/operator.ts'
import type { Tensor } from './ir/tensor.ts'
import { operatorOf } from './operators.ts'

export type Types = ReadonlyMap<string, Type>

type Lookup = (name: string) => Type | undefined

/**
 * Values of operators without an entry, and values that depend on them, have no type in the result. Throws
 * `format` for incompatible inputs.
 */
export const inferTypes = (graph: Graph): Types =>
  memo(INFERRED, graph, () =>
    infer(
      graph,
      [],
      () => undefined,
      () => undefined,
    ),
  )

/** Several passes ask for the types of a graph that they do not change. */
const INFERRED = new WeakMap<Graph, Types>()

function infer(
  graph: Graph,
  inputs: readonly (Type | undefined)[],
  outerType: Lookup,
  outerConstant: (name: string) => Tensor | undefined,
): Types {
  const types = new Map<string, Type>()
  const constantOf = (name: string): Tensor | undefined => {
    const constant = graph.constants.get(name)
    if (constant === undefined) return types.has(name) ? undefined : outerConstant(name)
    return isStored(constant) ? undefined : constant
  }
  for (const [index, { name, type, isOptional }] of graph.inputs.entries()) {
    const known = inputs[index] ?? (isOptional ? undefined : type)
    if (known !== undefined) types.set(name, known)
  }
  for (const [name, constant] of graph.constants) types.set(name, typeOf(constant))
  const lookup: Lookup = (name) => types.get(name) ?? outerType(name)
  for (const node of graph.nodes) inferOutputs(node, types, lookup, constantOf)
  return types
}

/**
 * The types of the graph's inputs, to which `inferAgain` adds the types of its values. Nothing is known of a
 * value that may be absent.
 */
export const inputTypes = ({ inputs }: Graph): Map<string, Type> =>
  new Map(
    inputs.flatMap(({ name, type, isOptional }) =>
      type === undefined || isOptional ? [] : [[name, type] as const],
    ),
  )

/**
 * The types of a node's outputs, once more is known about its inputs. Constants need not be among the types.
 */
export const inferAgain = (
  { constants }: Pick<Graph, 'constants'>,
  types: Map<string, Type>,
  node: Node,
): void =>
  inferOutputs(
    node,
    types,
    (name) => {
      const constant = types.has(name) ? undefined : constants.get(name)
      return constant === undefined ? types.get(name) : typeOf(constant)
    },
    (name) => {
      const constant = constants.get(name)
      return constant === undefined || isStored(constant) ? undefined : constant
    },
  )

/** A node's inferred types, and what they were inferred from. */
interface Inferred {
  readonly inputs: readonly (Type | undefined)[]
  readonly constants: readonly (Tensor | undefined)[]
  readonly made: readonly (Type | undefined)[]
}

/** Most nodes stay the same from one pass to the next, and so do the types that they read. */
const KNOWN = new WeakMap<Node, Inferred>()

function inferOutputs(
  node: Node,
  types: Map<string, Type>,
  lookup: Lookup,
  constantOf: (name: string) => Tensor | undefined,
): void {
  const known = KNOWN.get(node)
  const isKnown =
    known !== undefined &&
    node.inputs.every(
      (name, at) =>
        (name === '' ? undefined : lookup(name)) === known.inputs[at] &&
        constantOf(name) === known.constants[at],
    )
  const made = isKnown ? known.made : inferred(node, lookup, constantOf)
  for (const [index, name] of node.outputs.entries()) {
    const type = made[index]
    if (name !== '' && type !== undefined) types.set(name, type)
  }
}

function inferred(node: Node, lookup: Lookup, constantOf: (name: string) => Tensor | undefined) {
  const inputs = node.inputs.map((name) => (name === '' ? undefined : lookup(name)))
  const constants = node.inputs.map(constantOf)
  const made = inferNode(node, {
    node,
    inputs,
    constant: (index) => constants[index],
    subgraph(inner, given) {
      const within = infer(inner, given, lookup, constantOf)
      return inner.outputs.map((name) => within.get(name) ?? lookup(name))
    },
  })
  if (!hasGraph(node)) KNOWN.set(node, { inputs, constants, made })
  return made
}

function inferNode(node: Node, context: Inference): readonly (Type | undefined)[] {
  const made = operatorOf(node)?.infer(context) ?? []
  for (const type of made) {
    checkAxes(node, type?.dims)
    for (const size of type?.dims ?? []) {
      const isSize = typeof size === 'string' || (Number.isSafeInteger(size) && size >= 0)
      if (!isSize) throw unfit(node, `it produces a value of size ${size}`)
    }
  }
  return made
}
