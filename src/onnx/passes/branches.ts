// Replaces an If whose condition is constant by its branch, and makes a merged decoder its branch with a
// cache.
import { type Constant, type Graph, isStored, type Node } from '../ir/graph.ts'
import { graphOf } from '../ir/operator.ts'
import { tensorOf } from '../ir/tensor.ts'
import { type Pass, renamed, withNodes } from './pass.ts'

/**
 * The input by which optimum's merged decoders (`decoder_model_merged.onnx`) choose between their branches.
 */
const CACHE_INPUT = 'use_cache_branch'

/**
 * The graph for runs with a cache. An empty cache is one too: the other branch, for a first prompt, computes
 * the same without it.
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
    const names = new Set([...graph.inputs, ...graph.nodes.flatMap(valuesOf)].map(({ name }) => name))
    const nodes = graph.nodes.flatMap((node) => {
      const branch = takenBranch(node, graph.constants)
      return branch === undefined ? [node] : inlined(node, branch, { constants, names })
    })
    const next = withNodes(graph, nodes)
    return next === graph ? graph : { ...next, constants }
  },
}

const valuesOf = ({ outputs }: Node) => outputs.map((name) => ({ name }))

/** Undefined where it is not known which branch is taken. */
function takenBranch(node: Node, constants: Graph['constants']): Graph | undefined {
  if (node.op !== 'If' || node.domain !== '') return undefined
  const condition = constants.get(node.inputs[0] ?? '')
  if (condition === undefined || isStored(condition) || condition.data.length !== 1) return undefined
  return graphOf(node, Number(condition.data[0]) === 0 ? 'else_branch' : 'then_branch')
}

interface Around {
  readonly constants: Map<string, Constant>
  readonly names: Set<string>
}

/** The nodes of the branch, whose own values get names that nothing around it has. */
function inlined(node: Node, branch: Graph, { constants, names }: Around): Node[] {
  const own = [...branch.constants.keys(), ...branch.nodes.flatMap(({ outputs }) => outputs)]
  const changed = new Map<string, string>()
  for (const name of own) {
    if (name === '') continue
    let free = name
    for (let at = 1; names.has(free) || constants.has(free); at++) free = `${name}_${node.name}_${at}`
    if (free !== name) changed.set(name, free)
    names.add(free)
  }
  const nameOf = (name: string): string => changed.get(name) ?? name
  for (const [name, constant] of branch.constants) constants.set(nameOf(name), constant)
  const nodes = renamed(branch, changed).nodes.map((each) => ({ ...each, outputs: each.outputs.map(nameOf) }))
  const outputs = node.outputs.flatMap((name, at): Node[] => {
    const made = branch.outputs[at]
    if (name === '' || made === undefined) return []
    const copy = { ...node, op: 'Identity', attributes: new Map(), inputs: [nameOf(made)], outputs: [name] }
    return [{ ...copy, name: `${node.name}/${name}` }]
  })
  return [...nodes, ...outputs]
}
