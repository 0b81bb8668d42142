// Splits a graph around the nodes that the compiler cannot run: a part to compile first, the foreign parts
// that read its outputs, and the rest, which is split again once the sizes of the foreign outputs are known.

import { type Constant, type Graph, type Input, type Node, readsOf, type Type } from '../../onnx/ir/graph.ts'
import { operatorOf, whyUnclaimed } from '../../onnx/operators.ts'
import { RANDOM } from '../../onnx/passes/fold.ts'

/** Nodes that run together, with their inputs and with the outputs that other nodes read. */
export interface Part {
  readonly nodes: readonly Node[]
  /** Names of values that are computed before it. */
  readonly inputs: readonly string[]
  readonly outputs: readonly string[]
  readonly constants: ReadonlyMap<string, Constant>
}

export interface Split {
  /** Nodes that read only inputs, constants and each other, and are compiled. */
  readonly compiled: Part
  /**
   * The foreign nodes that come next, each part connected. No part reads another, and for onnxruntime-web a
   * part uses one version of each operator set.
   */
  readonly foreign: readonly Part[]
  /** Names of computed values that decide which nodes of the rest run, such as the condition of an `If`. */
  readonly deciding: readonly string[]
  /** Everything that reads a foreign part. Empty once the graph's end is reached. */
  readonly rest: readonly Node[]
}

/**
 * Whether a node is compiled or another runtime runs it; `undecided` if that depends on the values of its
 * `decidingInputs`, which the rest of the graph then has as constants.
 */
export type Place = 'compiled' | 'foreign' | 'undecided'

/** `isMixed`: whether foreign parts may mix versions of an operator set. */
export function splitGraph(graph: Graph, placeOf: (node: Node) => Place, isMixed = false): Split {
  const ready = new Set([...graph.inputs.map(({ name }) => name), ...graph.constants.keys()])
  const isReady = (node: Node) => readsOf(node).every((name) => ready.has(name))
  const take = (nodes: readonly Node[], isTaken: (node: Node) => boolean): Node[] =>
    nodes.filter((node) => {
      const isNext = isReady(node) && isTaken(node)
      if (isNext) for (const name of node.outputs) ready.add(name)
      return isNext
    })
  const compiled = take(graph.nodes, (node) => placeOf(node) === 'compiled')
  const known = new Set(compiled)
  const others = graph.nodes.filter((node) => !known.has(node))
  const deciding = others
    .filter((node) => placeOf(node) === 'undecided')
    .flatMap(decidingInputs)
    .filter((name) => ready.has(name) && !graph.constants.has(name))
  const versions = new Map<string, number>()
  const foreign = take(others, (node) => {
    if (placeOf(node) !== 'foreign') return false
    if (isMixed) return true
    // A pass may have replaced a node by one of a later opset version than the file's.
    const version = versions.get(node.domain) ?? node.version
    versions.set(node.domain, version)
    return version === node.version
  })
  for (const node of foreign) known.add(node)
  const rest = others.filter((node) => !known.has(node))
  const wanted = new Set([
    ...graph.outputs,
    ...deciding,
    ...foreign.flatMap(readsOf),
    ...rest.flatMap(readsOf),
  ])
  const later = new Set([...graph.outputs, ...rest.flatMap(readsOf)])
  return {
    compiled: partOf(graph, compiled, wanted),
    foreign: connected(foreign).map((nodes) => partOf(graph, nodes, later)),
    deciding: [...new Set(deciding)],
    rest,
  }
}

/**
 * The inputs of a node whose values decide which nodes it runs and how often, or which tensors it passes on.
 */
export function decidingInputs({ op, domain, inputs }: Node): readonly string[] {
  if (domain !== '') return []
  return inputs.slice(...(DECIDING.get(op) ?? [0, 0])).filter((name) => name !== '')
}

/** From where to where. */
const DECIDING: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['If', [0, 1]],
  ['Loop', [0, 2]],
  ['SequenceAt', [1, 2]],
  ['SequenceErase', [1, 2]],
  ['SequenceInsert', [2, 3]],
  ['SplitToSequence', [1, 2]],
])

/** `wanted`: names that are read elsewhere. */
function partOf({ constants }: Graph, nodes: readonly Node[], wanted: ReadonlySet<string>): Part {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs))
  const read = [...new Set(nodes.flatMap(readsOf))].filter((name) => !made.has(name))
  return {
    nodes,
    inputs: read.filter((name) => !constants.has(name)),
    outputs: [...made].filter((name) => wanted.has(name)),
    constants: new Map(
      read.flatMap((name) => {
        const constant = constants.get(name)
        return constant === undefined ? [] : [[name, constant] as const]
      }),
    ),
  }
}

/** The nodes in groups that share no values, each in the given order. */
function connected(nodes: readonly Node[]): readonly Node[][] {
  const groups = new Map<string, Node[]>()
  for (const node of nodes) {
    const joined = new Set(readsOf(node).flatMap((name) => [groups.get(name) ?? []]))
    const members = new Set([...joined].flat().concat(node))
    const group = nodes.filter((each) => members.has(each))
    for (const { outputs } of group) for (const name of outputs) groups.set(name, group)
  }
  return [...new Set(groups.values())]
}

/**
 * The rest of the graph, whose inputs are the values computed before it. `typeOf`: the known type of a value.
 */
export function restOf(
  { name, constants, outputs }: Graph,
  rest: readonly Node[],
  typeOf: (name: string) => Type | undefined,
): Graph {
  const made = new Set(rest.flatMap(({ outputs }) => outputs))
  const read = new Set(rest.flatMap(readsOf))
  const inputs = [...read]
    .filter((value) => !made.has(value) && !constants.has(value))
    .map((value): Input => ({ name: value, type: typeOf(value) }))
  return {
    name,
    inputs,
    constants: new Map([...constants].filter(([value]) => read.has(value))),
    nodes: rest,
    outputs: outputs.filter((value) => made.has(value)),
  }
}

/** Names of values that are known once the sizes are: passes compute them, so their nodes need not run. */
export function namesOfSizes({ nodes, constants }: Graph): ReadonlySet<string> {
  const known = new Set(constants.keys())
  for (const node of nodes) {
    const isSize = node.domain === '' && (node.op === 'Shape' || node.op === 'Size')
    if (!isSize && !(isComputed(node) && node.inputs.every((name) => name === '' || known.has(name))))
      continue
    for (const name of node.outputs) known.add(name)
  }
  return known
}

/** Whether passes compute the node, or take its branch, once its inputs are known. */
function isComputed(node: Node): boolean {
  if (node.op === 'If' && node.domain === '') return true
  const hasGraph = [...node.attributes.values()].some(({ kind }) => kind === 'graph')
  return (
    !hasGraph &&
    !RANDOM.has(node.op) &&
    whyUnclaimed(node) === undefined &&
    operatorOf(node)?.evaluate !== undefined
  )
}
