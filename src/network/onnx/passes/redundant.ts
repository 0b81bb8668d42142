// The passes that remove redundancy: merges equal nodes with equal inputs, and drops nodes and constants that
// no output needs.
import { memo } from '../../../core/base/values.ts'
import { type Attribute, type Graph, isStored, type Node, outputsOf, readsOf } from '../ir/graph.ts'
import type { Tensor } from '../ir/tensor.ts'
import { final, type Pass, renamed, withNodes } from './pass.ts'

export const removeDead: Pass = {
  name: 'dead code',
  run(graph) {
    const needed = new Set(graph.outputs)
    const kept: Node[] = []
    for (const node of graph.nodes.toReversed()) {
      if (!node.outputs.some((name) => needed.has(name))) continue
      for (const name of readsOf(node)) needed.add(name)
      kept.push(node)
    }
    const constants = [...graph.constants].filter(([name]) => needed.has(name))
    const next = withNodes(graph, kept.toReversed())
    return constants.length === graph.constants.size ? next : { ...next, constants: new Map(constants) }
  },
}

const RANDOM = /^Random|^Bernoulli$|^Multinomial$|^Dropout$/
/** Maximum number of elements in a constant that is compared with others. */
const MAX_ELEMENTS = 256

export const shareCommon: Pass = {
  name: 'common subexpressions',
  run(graph) {
    const names = new Map<string, string>([...equalConstants(graph)])
    const known = new Map<string, Alike>()
    const dropped = new Set<Node>()
    for (const node of graph.nodes) {
      const first = firstOf(node, names, known)
      if (first === undefined) continue
      // An output of the graph keeps its name, and so its node.
      if (node.outputs.some((name) => outputsOf(graph).has(name))) continue
      for (const [index, name] of node.outputs.entries())
        if (name !== '') names.set(name, first.outputs[index]!)
      dropped.add(node)
    }
    if (names.size === 0) return graph
    return renamed({ ...graph, nodes: graph.nodes.filter((node) => !dropped.has(node)) }, names)
  },
}

/** Nodes with the same operator and first input, keyed by their computation. A single node needs no key. */
interface Alike {
  readonly single: Node
  keys: Map<string, Node> | undefined
}

/** The first node with the same computation; undefined if there is none. */
function firstOf(
  node: Node,
  names: ReadonlyMap<string, string>,
  known: Map<string, Alike>,
): Node | undefined {
  const place = `${node.op} ${final(node.inputs[0] ?? '', names)}`
  const alike = known.get(place)
  if (alike === undefined) {
    known.set(place, { single: node, keys: undefined })
    return undefined
  }
  if (alike.keys === undefined) {
    const own = keyOf(alike.single, names)
    alike.keys = new Map(own === undefined ? [] : [[own, alike.single]])
  }
  const key = keyOf(node, names)
  if (key === undefined) return undefined
  const first = alike.keys.get(key)
  if (first === undefined) alike.keys.set(key, node)
  return first
}

/** A key of a node's computation; undefined if two runs may differ, or if it contains a graph. */
function keyOf(node: Node, names: ReadonlyMap<string, string>): string | undefined {
  if (RANDOM.test(node.op)) return undefined
  const attributes = memo(ATTRIBUTES, node.attributes, () => attributesText(node.attributes))
  if (attributes === undefined) return undefined
  const inputs = node.inputs.map((name) => final(name, names))
  const wanted = node.outputs.map((name) => (name === '' ? '0' : '1'))
  return JSON.stringify([node.domain, node.op, node.version, inputs, attributes, wanted])
}

/** Keys of objects that no pass changes. */
const ATTRIBUTES = new WeakMap<Node['attributes'], string | undefined>()
const TENSORS = new WeakMap<Tensor, string | undefined>()

/** The attributes as text, sorted by name. Undefined if an attribute is a graph or a long tensor. */
function attributesText(attributes: Node['attributes']): string | undefined {
  const texts: string[] = []
  for (const [name, attribute] of [...attributes].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const text = attributeText(attribute)
    if (text === undefined) return undefined
    texts.push(`${name}=${text}`)
  }
  return JSON.stringify(texts)
}

function attributeText(attribute: Attribute): string | undefined {
  if (attribute.kind === 'graph') return undefined
  if (attribute.kind === 'tensor') return tensorText(attribute.value)
  return `${attribute.kind} ${JSON.stringify(attribute.value)}`
}

/** Compares bytes, so that 0 and -0 stay different. */
function tensorText({ dtype, dims, data }: Tensor): string | undefined {
  if (dtype === 'string' || data.length > MAX_ELEMENTS) return undefined
  return `${dtype} ${dims} ${new Uint8Array(data.buffer, data.byteOffset, data.byteLength)}`
}

/** Maps each short constant to the first one with the same elements. */
function equalConstants(graph: Graph): [string, string][] {
  const outputs = outputsOf(graph)
  const known = new Map<string, string>()
  const found: [string, string][] = []
  for (const [name, constant] of graph.constants) {
    const text = isStored(constant) ? undefined : memo(TENSORS, constant, () => tensorText(constant))
    const first = text === undefined ? undefined : known.get(text)
    if (text !== undefined && first === undefined) known.set(text, name)
    if (first !== undefined && !outputs.has(name)) found.push([name, first])
  }
  return found
}
