// The pass that lets quantised linears read int8 rows from the node that produces the values, and drops f32
// rows that nobody reads.
import { GROUP_SIZE, readsWholeRows } from '../../abi/encodings.ts'
import { vector } from '../builder.ts'
import type { StateGroup, Value, WeightRef } from '../ir.ts'
import { type Graph, inputsOf, type Node, type NodeOf, nextId, producersOf, readersOf } from '../nodes.ts'
import { type EncodingOf, encodingOfWeight, type OrderOf, readsA8 } from './split.ts'

/**
 * A pair counts as static if it turns by at most a radian over this many positions. The number is independent
 * of the context length of a load, so saved state fits any context length.
 */
const STATIC_POSITIONS = 32_768

/**
 * The codes of a key share one range, so a large bias in a few channels leaves little of it to the others. In
 * Qwen2 such channels belong to the slowest pairs, where the bias is nearly the same vector at every
 * position. Subtracting the same vector from every key changes all scores of a query by the same number,
 * which softmax ignores. Caps and limits of scores do not ignore it, and neither does a norm after the bias,
 * so layers with any of these stay unchanged.
 */
export function subtractStaticBias(graph: Graph, frequencies: readonly Float64Array[]): Graph {
  const producers = producersOf(graph)
  const readers = readersOf(graph)
  const changed = new Set<number>()
  const nodes = graph.nodes.map((node): Node => {
    if (node.op !== 'ropeKv' || node.norms !== undefined) return node
    const isCapped = readers.get(node.output.id)?.some((index) => {
      const reader = graph.nodes[index]
      return reader?.op !== 'attention' || reader.cap !== 0 || reader.limits !== undefined
    })
    const bias = biasOf(node, (id) => graph.nodes[producers.get(id) ?? -1])
    const from = firstStaticPair(node, frequencies)
    if (isCapped !== false || bias === undefined || from === undefined) return node
    changed.add(node.attention.layer)
    return { ...node, staticBias: { bias, from } }
  })
  const groupOf = (group: StateGroup): StateGroup =>
    group.layers.some((layer) => changed.has(layer)) ? { ...group, lessBias: true } : group
  return { ...graph, nodes, stateGroups: graph.stateGroups.map(groupOf) }
}

/** The part of a linear's bias that is added to the keys. */
function biasOf(
  { k }: NodeOf<'ropeKv'>,
  producerOf: (id: number) => Node | undefined,
): WeightRef | undefined {
  if (k === undefined) return undefined
  const made = producerOf(k.id)
  const { start, input } = made?.op === 'slice' ? made : { start: 0, input: k }
  const linear = producerOf(input.id)
  if (linear?.op !== 'linear' || linear.bias === undefined) return undefined
  let end = 0
  for (const part of linear.bias.parts) {
    if (end === start && part.n === k.shape[1]) return { ...linear.bias, parts: [part] }
    end += part.n
  }
  return undefined
}

/** The first static pair, or undefined if no part of a key is static. */
function firstStaticPair(
  { rope, attention }: NodeOf<'ropeKv'>,
  frequencies: readonly Float64Array[],
): number | undefined {
  const pairs = rope.dims / 2
  const turns = frequencies[rope.table]?.subarray(0, pairs) ?? []
  // Scaled frequencies need not decrease, so all later pairs must be static as well.
  let from = pairs
  while (from > 0 && (turns[from - 1] ?? Number.POSITIVE_INFINITY) * STATIC_POSITIONS <= 1) from--
  return from < pairs || rope.dims < attention.headDim ? from : undefined
}

/**
 * A linear whose matrix has reordered inputs reads a8 rows in that order. For some encodings, linears read a8
 * rows with one scale.
 */
export function orderInputs(graph: Graph, encodingOf: EncodingOf, orderOf: OrderOf): Graph {
  const made = new Map<string, Value>()
  let id = nextId(graph)
  const nodes = graph.nodes.flatMap((node): Node[] => {
    if (!readsA8(node, encodingOf)) return [node]
    const { input, weight } = node
    const order = orderOf(weight.parts[0]?.name ?? '')
    const whole = readsWholeRows(encodingOfWeight(weight, encodingOf))
    if (order === undefined && !whole) return [node]
    const key = `${input.id} ${order} ${whole}`
    const known = made.get(key)
    const output = known ?? { ...input, id: id++, form: 'a8', label: `${input.label}.a8` }
    made.set(key, output)
    const linear = { ...node, input: output }
    if (known !== undefined) return [linear]
    const by = order === undefined ? undefined : vector({ [order]: input.shape[1] })
    return [{ op: 'quantize', input, output, order: by, whole }, linear]
  })
  return { ...graph, nodes }
}

export function quantizeActivations(graph: Graph, encodingOf: EncodingOf): Graph {
  const quantized = new Map<number, Value>()
  const readsA8Rows = a8Readers(graph, encodingOf)
  let id = nextId(graph)
  for (const node of graph.nodes) {
    const isMade = node.op !== 'embed' && 'input' in node && node.input.form === 'a8'
    if (isMade || !readsA8Rows(node) || quantized.has(node.input.id)) continue
    quantized.set(node.input.id, { ...node.input, id: id++, form: 'a8', label: `${node.input.label}.a8` })
  }
  const readAsF32 = new Set([graph.output.id, graph.hidden.id])
  for (const node of graph.nodes) {
    for (const input of inputsOf(node)) {
      const isQuantizedInput = readsA8Rows(node) && input === node.input
      if (!isQuantizedInput) readAsF32.add(input.id)
    }
  }
  const nodes = graph.nodes.flatMap((original): Node[] => {
    const node: Node = readsA8Rows(original)
      ? { ...original, input: quantized.get(original.input.id) ?? original.input }
      : original
    const { output } = node
    const a8 = output && quantized.get(output.id)
    if (output === undefined || a8 === undefined) return [node]
    if (node.op === 'gather' && readsA8Rows(original)) return [{ ...node, output: a8 }]
    if (!makesA8(node)) return [node, { op: 'quantize', input: output, output: a8 }]
    const isKept = node.op === 'conv1d' || readAsF32.has(output.id)
    return [{ ...node, output: isKept ? output : undefined, quantized: a8 }]
  })
  return { ...graph, nodes }
}

/**
 * Finds the nodes that read a8 rows: quantised linears, and gathers that only these read. A row is then
 * quantised once, not once for each of its experts.
 */
function a8Readers(graph: Graph, encodingOf: EncodingOf) {
  const readers = readersOf(graph)
  const isLinear = (node: Node | undefined, input: Value) =>
    node !== undefined && readsA8(node, encodingOf) && node.input === input
  return (node: Node): node is NodeOf<'linear' | 'linearExperts' | 'gather'> => {
    if (node.op !== 'gather') return readsA8(node, encodingOf)
    return readers.get(node.output.id)?.every((index) => isLinear(graph.nodes[index], node.output)) === true
  }
}

/** The kernels that can write a8 rows. Attention can do so only if no group spans two heads. */
function makesA8(node: Node): node is NodeOf<(typeof MAKERS)[number] | 'attention'> {
  if (node.op === 'attention') return node.attention.headDim % GROUP_SIZE === 0
  return MAKERS.some((op) => op === node.op)
}
const MAKERS = ['rmsnorm', 'layernorm', 'swiglu', 'conv1d', 'scan'] as const
