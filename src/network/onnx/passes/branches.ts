// Replaces an If with a constant condition by the branch taken, and a merged decoder by its branch with a
// cache.
import { type Constant, type Graph, isStored, type Node } from '../ir/graph.ts'
import { graphOf } from '../ir/operator.ts'
import { type Tensor, tensorOf } from '../ir/tensor.ts'
import { type Pass, renamed, withNodes } from './pass.ts'

/**
 * The input by which optimum's merged decoders (`decoder_model_merged.onnx`) choose between their branches.
 */
const CACHE_INPUT = 'use_cache_branch'

/**
 * The graph for runs with a cache. An empty cache counts too: the other branch, for a first prompt, computes
 * the same result without one.
 */
export function withCache(graph: Graph): Graph {
  const input = graph.inputs.find(({ name, type }) => name === CACHE_INPUT && type?.dtype === 'bool')
  if (input === undefined) return graph
  const dims = input.type?.dims?.length === 0 ? [] : [1]
  const constants = new Map(graph.constants).set(CACHE_INPUT, tensorOf('bool', dims, [1]))
  return { ...graph, constants, inputs: graph.inputs.filter((each) => each !== input) }
}

export const takeBranches: Pass = {
  name: 'branches',
  run(graph) {
    if (!graph.nodes.some(({ op }) => op === 'If')) return graph
    const constants = new Map(graph.constants)
    const names = new Set(namesIn(graph))
    const nodes = graph.nodes.flatMap((node) => {
      const branch = takenBranch(node, graph.constants)
      return branch === undefined ? [node] : taken(node, branch, { constants, names })
    })
    const next = withNodes(graph, nodes)
    return next === graph ? graph : { ...next, constants }
  },
}

/**
 * Names of a graph's values, and of the values in its nodes' graphs. A value that was given one of these
 * names would be mistaken for theirs.
 */
export function namesIn({ inputs, constants, nodes }: Graph): string[] {
  const inner = nodes.flatMap(({ attributes }) =>
    [...attributes.values()].flatMap((each) => (each.kind === 'graph' ? namesIn(each.value) : [])),
  )
  const own = [
    ...inputs.map(({ name }) => name),
    ...constants.keys(),
    ...nodes.flatMap(({ outputs }) => outputs),
  ]
  return [...own, ...inner]
}

/** The branch that is taken; undefined if it is unknown. */
function takenBranch(node: Node, constants: Graph['constants']): Graph | undefined {
  if (node.op !== 'If' || node.domain !== '') return undefined
  const condition = constants.get(node.inputs[0] ?? '')
  if (condition === undefined || isStored(condition) || condition.data.length !== 1) return undefined
  return graphOf(node, Number(condition.data[0]) === 0 ? 'else_branch' : 'then_branch')
}

/** The graph into which another one is inlined: its names (`namesIn`) and constants. Both grow. */
export interface Around {
  readonly constants: Map<string, Constant>
  readonly names: Set<string>
}

/** A name that is not used yet. */
export function freeName({ names }: Pick<Around, 'names'>, name: string): string {
  let free = name
  for (let at = names.size; names.has(free); at++) free = `${name} ${at}`
  names.add(free)
  return free
}

/** Adds a constant, under a name that is not used yet. */
export function addConstant(around: Around, name: string, tensor: Tensor): string {
  const free = freeName(around, name)
  around.constants.set(free, tensor)
  return free
}

/** The nodes of the branch, with its outputs renamed to the node's. */
function taken(node: Node, branch: Graph, around: Around): Node[] {
  const { nodes, outputs } = inlined(node, branch, around)
  for (const [at, name] of node.outputs.entries()) {
    const made = outputs[at]
    if (name !== '' && made !== undefined) nodes.push(copyOf(node, made, name))
  }
  return nodes
}

const copyOf = (node: Node, from: string, to: string): Node => ({
  ...node,
  name: `${node.name}/${to}`,
  op: 'Identity',
  attributes: new Map(),
  inputs: [from],
  outputs: [to],
})

/**
 * The nodes of a graph in an attribute, renamed to avoid the enclosing graph's names, and the names of its
 * outputs. `given`: the enclosing values that are its inputs.
 */
export function inlined(
  node: Node,
  inner: Graph,
  { constants, names }: Around,
  given: readonly string[] = [],
): { readonly nodes: Node[]; readonly outputs: readonly string[] } {
  const inputs = inner.inputs.slice(0, given.length).map(({ name }) => name)
  const made = inner.nodes.flatMap(({ outputs }) => outputs).filter((name) => name !== '')
  const changed = new Map<string, string>()
  for (const name of new Set([...inputs, ...inner.constants.keys(), ...made])) {
    let free = name
    for (let at = names.size; names.has(free); at++) free = `${name}_${node.name}_${at}`
    changed.set(name, free)
    names.add(free)
  }
  const nameOf = (name: string): string => changed.get(name) ?? name
  for (const [name, constant] of inner.constants) constants.set(nameOf(name), constant)
  const copies = inputs.map((name, at) => copyOf(node, given[at]!, nameOf(name)))
  const nodes = renamed(inner, changed).nodes.map((each) => ({ ...each, outputs: each.outputs.map(nameOf) }))
  return { nodes: [...copies, ...nodes], outputs: inner.outputs.map(nameOf) }
}
