// Quantise. In: a graph, each weight's encoding. Out: the same graph, in which quantised linears read a8 rows
// from the node that makes the values, and f32 rows that nobody reads are not made.
import { GROUP_SIZE } from '../../abi/encodings.ts'
import { vector } from '../builder.ts'
import { inputsOf, nextId } from '../edges.ts'
import type { Value } from '../ir.ts'
import type { Graph, Node, NodeOf } from '../nodes.ts'
import { type EncodingOf, encodingOfWeight, type OrderOf, readsA8 } from './split.ts'

/**
 * A linear whose matrix has its inputs in another order reads a8 rows made in that order. A linear with one
 * scale per output reads a8 rows with one scale.
 */
export function orderInputs(graph: Graph, encodingOf: EncodingOf, orderOf: OrderOf): Graph {
  const made = new Map<string, Value>()
  let id = nextId(graph)
  const nodes = graph.nodes.flatMap((node): Node[] => {
    if (!readsA8(node, encodingOf)) return [node]
    const { input, weight } = node
    const order = orderOf(weight.parts[0]?.name ?? '')
    const whole = encodingOfWeight(weight, encodingOf) === 'w4_channel'
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
  let id = nextId(graph)
  for (const node of graph.nodes) {
    const isMade = node.op !== 'embed' && 'input' in node && node.input.form === 'a8'
    if (isMade || !readsA8(node, encodingOf) || quantized.has(node.input.id)) continue
    quantized.set(node.input.id, { ...node.input, id: id++, form: 'a8', label: `${node.input.label}.a8` })
  }
  const readAsF32 = new Set([graph.output.id, graph.hidden.id])
  for (const node of graph.nodes) {
    for (const input of inputsOf(node)) {
      const isQuantizedInput = readsA8(node, encodingOf) && input === node.input
      if (!isQuantizedInput) readAsF32.add(input.id)
    }
  }
  const nodes = graph.nodes.flatMap((original): Node[] => {
    const node: Node = readsA8(original, encodingOf)
      ? { ...original, input: quantized.get(original.input.id) ?? original.input }
      : original
    const { output } = node
    const a8 = output && quantized.get(output.id)
    if (output === undefined || a8 === undefined) return [node]
    if (!makesA8(node)) return [node, { op: 'quantize', input: output, output: a8 }]
    const isKept = node.op === 'conv1d' || readAsF32.has(output.id)
    return [{ ...node, output: isKept ? output : undefined, quantized: a8 }]
  })
  return { ...graph, nodes }
}

/** Kernels that can write a8 rows. Attention can only when no group spans two heads. */
function makesA8(node: Node): node is NodeOf<(typeof MAKERS)[number] | 'attention'> {
  if (node.op === 'attention') return node.attention.headDim % GROUP_SIZE === 0
  return MAKERS.some((op) => op === node.op)
}
const MAKERS = ['rmsnorm', 'layernorm', 'swiglu', 'conv1d', 'scan'] as const
