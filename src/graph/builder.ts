// Builder. In: calls in the order of the model's computation. Out: a Graph whose shapes were checked as it grew.
import {
  type AttentionShape,
  EXACT_KV,
  type Graph,
  type Node,
  type RopeUse,
  type ScanInputs,
  type StateGroup,
  type Value,
  type WeightRef,
} from './ir.ts'
import { inferShape, type NodeSpec } from './shapes.ts'

/** A matrix of [n, k] parts stacked along n. */
export const matrix = (k: number, parts: Readonly<Record<string, number>>): WeightRef => ({
  parts: Object.entries(parts).map(([name, n]) => ({ name, n })),
  k,
  kind: 'matrix',
})

/** A vector of parts, one after the other. */
export const vector = (parts: Readonly<Record<string, number>>): WeightRef => ({
  ...matrix(1, parts),
  kind: 'vector',
})

/** Each method adds a node and answers its output; labels are for prints. Throws `internal` when shapes do not fit. */
export interface GraphBuilder {
  embed(label: string, table: WeightRef, scale?: number): Value
  /** `parts`: equal parts of a row that are each normalised on their own; default: one. */
  rmsnorm(label: string, input: Value, weight: WeightRef, epsilon: number, parts?: number): Value
  linear(label: string, input: Value, weight: WeightRef, bias?: WeightRef): Value
  /** The parts of what a merged linear made, in order. */
  parts(value: Value, weight: WeightRef): Value[]
  /** Columns of a value, by name and width, in order. */
  columns(value: Value, widths: Readonly<Record<string, number>>): Value[]
  /** Rotates q and k, writes k and v to the layer's state, and attends with q over it; `scale` by default 1 / sqrt(headDim). */
  attend(
    label: string,
    qkv: readonly Value[],
    attention: AttentionShape,
    rope: RopeUse,
    scale?: number,
  ): Value
  conv1d(label: string, input: Value, weight: WeightRef, bias?: WeightRef): Value
  scan(label: string, inputs: ScanInputs, weights: { decay: WeightRef; skip: WeightRef }): Value
  ssd(
    label: string,
    inputs: ScanInputs,
    weights: { decay: WeightRef; skip: WeightRef; dtBias: WeightRef },
    shape: { heads: number; groups: number },
  ): Value
  swiglu(label: string, gateUp: readonly Value[]): Value
  add(label: string, left: Value, right: Value): Value
  takeRows(label: string, input: Value): Value
  /** The whole graph, with `output` as the logits, made of `hidden`; default: of themselves. */
  finish(output: Value, hidden?: Value): Graph
}

export function graphBuilder(): GraphBuilder {
  const nodes: Node[] = []
  const push = (label: string, spec: NodeSpec): Value => {
    const output: Value = { id: nodes.length, shape: inferShape(spec), form: 'f32', label }
    nodes.push({ ...spec, output } as Node)
    return output
  }
  const slices = (input: Value, widths: readonly (readonly [string, number])[]): Value[] => {
    let start = 0
    return widths.map(([label, width]) => {
      const part = push(label, { op: 'slice', input, start, width })
      start += width
      return part
    })
  }
  return {
    embed: (label, table, scale = 1) => push(label, { op: 'embed', table, scale }),
    rmsnorm: (label, input, weight, epsilon, parts) =>
      push(label, {
        op: 'rmsnorm',
        input,
        weight,
        epsilon,
        ...(parts !== undefined && parts > 1 && { parts }),
      }),
    linear: (label, input, weight, bias) => push(label, { op: 'linear', input, weight, bias }),
    parts: (value, weight) =>
      slices(
        value,
        weight.parts.map(({ name, n }) => [name.replace(/\.weight$/, ''), n]),
      ),
    columns: (value, widths) =>
      slices(
        value,
        Object.entries(widths).map(([name, width]) => [`${value.label}.${name}`, width]),
      ),
    attend(label, [q, k, v], attention, rope, scale = 1 / Math.sqrt(attention.headDim)) {
      if (q === undefined || k === undefined || v === undefined)
        throw new RangeError('attend needs q, k and v')
      const rotated = push(`${label}_rope`, { op: 'ropeKv', q, k, v, attention, rope })
      return push(label, {
        op: 'attention',
        input: rotated,
        attention,
        scale,
      })
    },
    swiglu(label, [gate, up]) {
      if (gate === undefined || up === undefined) throw new RangeError('swiglu needs gate and up')
      return push(label, { op: 'swiglu', gate, up })
    },
    conv1d: (label, input, weight, bias) => push(label, { op: 'conv1d', input, weight, bias }),
    scan: (label, inputs, weights) => push(label, { op: 'scan', ...inputs, ...weights }),
    ssd: (label, inputs, weights, shape) => push(label, { op: 'ssd', ...inputs, ...weights, ...shape }),
    add: (label, left, right) => push(label, { op: 'add', left, right }),
    takeRows: (label, input) => push(label, { op: 'takeRows', input }),
    finish: (output, hidden = output) => ({ nodes, output, hidden, stateGroups: stateGroups(nodes) }),
  }
}

function stateGroups(nodes: readonly Node[]): StateGroup[] {
  const groups = new Map<string, StateGroup & { layers: number[] }>()
  for (const node of nodes) {
    if (node.op !== 'ropeKv') continue
    const { layer, kvHeads, headDim, window } = node.attention
    const key = `${kvHeads} ${headDim} ${window}`
    const group = groups.get(key) ?? { kvHeads, headDim, window, format: EXACT_KV, layers: [] }
    group.layers.push(layer)
    groups.set(key, group)
  }
  return [...groups.values()]
}
