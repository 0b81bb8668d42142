// Checks. In: a graph from a file. Out: nothing; a `format` error for names that are made twice, or read
// before they are made. A cycle is the latter.
import { HalfbyteError } from '../../base/errors.ts'
import type { Graph } from './graph.ts'

export function checkGraph(file: string, graph: Graph, outer: ReadonlySet<string> = new Set()): void {
  const wrong = (what: string) =>
    new HalfbyteError('format', `${file}: in graph ${graph.name}, ${what}; export the model again`, { file })
  const known = new Set(graph.constants.keys())
  const make = (name: string) => {
    if (known.has(name)) throw wrong(`the name ${name} is made twice`)
    known.add(name)
  }
  for (const { name } of graph.inputs) make(name)
  for (const node of graph.nodes) {
    for (const name of node.inputs) {
      if (name !== '' && !known.has(name) && !outer.has(name))
        throw wrong(`node ${node.name} (${node.op}) reads ${name}, which nothing before it makes`)
    }
    for (const { kind, value } of node.attributes.values()) {
      if (kind === 'graph') checkGraph(file, value, new Set([...known, ...outer]))
    }
    for (const name of node.outputs) if (name !== '') make(name)
  }
  for (const name of graph.outputs) {
    if (!known.has(name) && !outer.has(name)) throw wrong(`its output ${name} is made by nothing`)
  }
}
