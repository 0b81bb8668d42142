// Builds a Graph through calls in the order of the model's computation, checking shapes along the way.

import {
  type Activation,
  type AttentionShape,
  type DistanceBias,
  EXACT_KV,
  type HeadNorms,
  type Limits,
  type RopeUse,
  type RouteRule,
  type ScanInputs,
  type StateGroup,
  type Value,
  type WeightRef,
  type Xielu,
} from './ir.ts'
import { type Graph, inferShape, type Node, type NodeSpec } from './nodes.ts'

/** A matrix of [n, k] parts stacked along n. */
export const matrix = (k: number, parts: Readonly<Record<string, number>>): WeightRef => ({
  parts: Object.entries(parts).map(([name, n]) => ({ name, n })),
  k,
  kind: 'matrix',
})

/** A vector of parts, one after another. */
export const vector = (parts: Readonly<Record<string, number>>): WeightRef => ({
  ...matrix(1, parts),
  kind: 'vector',
})

interface AttendLimits {
  readonly q?: Limits | undefined
  readonly k?: Limits | undefined
  readonly scores?: Limits | undefined
}
interface AttendOptions {
  readonly norms?: HeadNorms | undefined
  /** Default: 1 / sqrt(headDim). */
  readonly scale?: number | undefined
  /** Default 0: none. */
  readonly cap?: number | undefined
  /** Limits of rotated queries, of rotated keys, and of scores after scale and cap. Default: none. */
  readonly limits?: AttendLimits | undefined
  /** Bias that is added to scores last. Default: none. */
  readonly bias?: DistanceBias | undefined
  /** One extra score per head, for a position whose value is zero. Default: none. */
  readonly sinks?: WeightRef | undefined
}
/** The rule of a router, and the bias added to scores when experts are chosen. */
interface ExpertChoice extends RouteRule {
  readonly bias?: WeightRef | undefined
}
/**
 * Makes an expert's output from gathered rows. `linear` multiplies rows by their expert's part of a weight.
 */
type ExpertMlp = (
  rows: Value,
  linear: (label: string, input: Value, weight: WeightRef, bias?: WeightRef) => Value,
) => Value

/**
 * Each method adds a node and returns its output. Labels are for printing. Throws `internal` if shapes do not
 * match.
 */
export interface GraphBuilder {
  /** Rows of a table by token id, times `scale`. Default: 1. */
  embed(label: string, table: WeightRef, scale?: number): Value
  /** Rows of a table by position. */
  embedPositions(label: string, table: WeightRef): Value
  /** Rows of a table by token type, e.g. 0 in the first text of a pair and 1 in the second. */
  embedKinds(label: string, table: WeightRef): Value
  /** Rows of `width` numbers that the step supplies itself. */
  inputRows(label: string, width: number): Value
  /** `parts`: equal parts of a row, each normalised separately. Default: one. */
  rmsnorm(label: string, input: Value, weight: WeightRef, epsilon: number, parts?: number): Value
  layernorm(
    label: string,
    input: Value,
    weight: WeightRef,
    bias: WeightRef | undefined,
    epsilon: number,
  ): Value
  linear(label: string, input: Value, weight: WeightRef, bias?: WeightRef): Value
  /** The parts of a merged linear's output, in order. */
  parts(value: Value, weight: WeightRef): Value[]
  /** Columns of a value, by name and width, in order. */
  columns(value: Value, widths: Readonly<Record<string, number>>): Value[]
  /**
   * Normalises q and k if requested, rotates them, writes k and v to the layer's state, and attends to that
   * state with q. With q alone: attends to the existing state of `attention.layer`.
   */
  attend(
    label: string,
    qkv: readonly Value[],
    attention: AttentionShape,
    rope: RopeUse,
    options?: AttendOptions,
  ): Value
  /** Default: silu. */
  conv1d(label: string, input: Value, weight: WeightRef, bias?: WeightRef, activation?: Activation): Value
  scan(label: string, inputs: ScanInputs, weights: { decay: WeightRef; skip: WeightRef }): Value
  ssd(
    label: string,
    inputs: ScanInputs,
    weights: { decay: WeightRef; skip: WeightRef; dtBias: WeightRef },
    shape: { heads: number; groups: number; stepLimit?: readonly [number, number] | undefined },
  ): Value
  /** activation(gate) * up. With one value: its activation. Default: silu. `xielu` needs its parameters. */
  swiglu(label: string, gateUp: readonly Value[], activation?: Activation, xielu?: Xielu): Value
  /** left + scale * right. `scale` is 1 by default. */
  add(label: string, left: Value, right: Value, scale?: number): Value
  /** input * scale, soft-capped if cap > 0. Overwrites its input. */
  rescale(label: string, input: Value, scale: number, cap: number): Value
  /** Clamps each number to the range. */
  clamp(label: string, input: Value, limits: Limits): Value
  /** Sends each row through the experts with the largest logits in `router`. `mlp` builds an expert. */
  routed(label: string, input: Value, router: Value, choice: ExpertChoice, mlp: ExpertMlp): Value
  takeRows(label: string, input: Value): Value
  /** A node of any kind, for kinds without a method here. */
  node(label: string, spec: NodeSpec): Value
  /** The whole graph. `output`: the logits, computed from `hidden`. Default for `hidden`: `output`. */
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
  const clamp = (label: string, input: Value, limits: Limits): Value =>
    push(label, { op: 'clamp', input, limits })
  return {
    embed: (label, table, scale = 1) => push(label, { op: 'embed', table, scale, by: 'id' }),
    embedPositions: (label, table) => push(label, { op: 'embed', table, scale: 1, by: 'position' }),
    embedKinds: (label, table) => push(label, { op: 'embed', table, scale: 1, by: 'kind' }),
    inputRows: (label, width) => push(label, { op: 'inputRows', width }),
    rmsnorm: (label, input, weight, epsilon, parts) =>
      push(label, {
        op: 'rmsnorm',
        input,
        weight,
        epsilon,
        ...(parts !== undefined && parts > 1 && { parts }),
      }),
    layernorm: (label, input, weight, bias, epsilon) =>
      push(label, { op: 'layernorm', input, weight, bias, epsilon }),
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
    attend(label, [q, k, v], attention, rope, { norms, scale, cap = 0, limits = {}, bias, sinks } = {}) {
      if (q === undefined) throw new RangeError('attend needs q')
      const keys = limits.k
      const rotated = push(`${label}_rope`, { op: 'ropeKv', q, k, v, attention, rope, norms, limits: keys })
      return push(label, {
        op: 'attention',
        input: limits.q === undefined ? rotated : clamp(`${label}_q`, rotated, limits.q),
        attention,
        scale: scale ?? 1 / Math.sqrt(attention.headDim),
        cap,
        limits: limits.scores,
        bias: bias?.table,
        reach: bias?.reach,
        sinks,
      })
    },
    swiglu(label, [gate, up], activation = 'silu', xielu) {
      if (gate === undefined) throw new RangeError('swiglu needs a gate')
      return push(label, { op: 'swiglu', gate, up, activation, ...(xielu && { xielu }) })
    },
    add: (label, left, right, scale = 1) => push(label, { op: 'add', left, right, scale }),
    clamp,
    rescale: (label, input, scale, cap) => push(label, { op: 'rescale', input, scale, cap }),
    routed(label, input, router, choice, mlp) {
      const { experts, used } = choice
      const route = push(`${label}_route`, { op: 'route', input: router, ...choice })
      const rows = push(`${label}_rows`, { op: 'gather', input, route, experts, used })
      const made = mlp(rows, (name, value, weight, bias) => {
        const product = push(name, { op: 'linearExperts', input: value, route, weight })
        if (bias === undefined) return product
        return push(`${name}_bias`, { op: 'biasExperts', input: product, route, bias })
      })
      return push(label, { op: 'combine', input: made, route, experts, used })
    },
    conv1d: (label, input, weight, bias, activation = 'silu') =>
      push(label, { op: 'conv1d', input, weight, bias, activation }),
    scan: (label, inputs, weights) => push(label, { op: 'scan', ...inputs, ...weights }),
    ssd: (label, inputs, weights, shape) => push(label, { op: 'ssd', ...inputs, ...weights, ...shape }),
    node: push,
    takeRows: (label, input) => push(label, { op: 'takeRows', input }),
    finish: (output, hidden = output) => ({ nodes, output, hidden, stateGroups: stateGroups(nodes) }),
  }
}

function stateGroups(nodes: readonly Node[]): StateGroup[] {
  const groups = new Map<string, StateGroup & { layers: number[] }>()
  for (const node of nodes) {
    if (node.op !== 'ropeKv' || node.k === undefined) continue
    const { layer, kvHeads, headDim, window } = node.attention
    const key = `${kvHeads} ${headDim} ${window}`
    const group = groups.get(key) ?? { kvHeads, headDim, window, format: EXACT_KV, layers: [] }
    if (!group.layers.includes(layer)) group.layers.push(layer)
    groups.set(key, group)
  }
  return [...groups.values()]
}
