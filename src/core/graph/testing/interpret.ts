// The interpreter. In: a graph, weights, a state, the tokens of a step. Out: its logits in f64, node by node,
// by definition.

import { ABI } from '../../abi/constants.ts'
import { GROUP_SIZE, isQuantized, readsWholeRows } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { Limits, ScanInputs, Value, WeightRef } from '../ir.ts'
import { countsOf } from '../nodes/streams.ts'
import type { Graph, Node, NodeOf } from '../nodes.ts'
import type { EncodingOf } from '../passes/split.ts'
import { activated, biasesOf, capped, placesOf, routeOf } from './choices.ts'
import {
  convolve,
  deltaRule,
  type Kept,
  linearUnit,
  selectiveScan,
  stateSpace,
  weightedAverage,
} from './recurrent.ts'

/**
 * Rows of a value. The rows of a view are windows into its source, so that overwriting one changes the other.
 */
type Rows = Float64Array[]

export interface Machine {
  /** Row-major [n][k] of one part, by canonical name. */
  readonly weightOf: (name: string, n: number, k: number) => Float64Array
  readonly encodingOf: EncodingOf
  /** Inverse frequencies of each RoPE table. */
  readonly frequencies: readonly Float64Array[]
  /** Keys and values by layer, one row per position. They grow with each step. */
  readonly state: Map<number, { readonly k: Rows; readonly v: Rows }>
  /** The combined result of the shards' `index`-th exchange. `own` is one shard's part. */
  readonly meet?: (index: number, own: Rows, op: 'exchange' | 'collect') => Rows
  /** State of recurrent nodes, by label. */
  readonly kept: Map<string, Kept>
}

export interface InterpretedStep {
  readonly ids: readonly number[]
  /** Position of the first id. */
  readonly position: number
  /** Rows whose logits are wanted. */
  readonly wanted: readonly number[]
  /** The input rows of the step, each at the index of its id. */
  readonly inputs?: readonly (ArrayLike<number> | undefined)[]
}

/** One row of the graph's output per wanted row. */
export function interpret(graph: Graph, machine: Machine, step: InterpretedStep): Rows {
  const values = new Map<number, Rows>()
  let meetings = 0
  for (const node of graph.nodes) {
    if (node.op === 'exchange' || node.op === 'collect') {
      const own = rowsAt(values, node.input)
      const met = machine.meet?.(meetings++, own, node.op) ?? own
      const residual = node.op === 'exchange' && node.residual ? rowsAt(values, node.residual) : undefined
      values.set(node.output.id, residual === undefined ? met : addRows(residual, met))
      continue
    }
    const rows = compute(node, machine, step, values)
    if (node.output !== undefined) values.set(node.output.id, rows)
    if ('quantized' in node && node.quantized)
      values.set(
        node.quantized.id,
        rows.map((row) => throughA8(row)),
      )
  }
  return rowsAt(values, graph.output)
}

function rowsAt(values: ReadonlyMap<number, Rows>, value: Value): Rows {
  const rows = values.get(value.id)
  if (rows === undefined) throw new HalfbyteError('internal', `${value.label} has not been made`)
  return rows
}

const addRows = (left: Rows, right: Rows, scale = 1): Rows =>
  left.map((row, index) => row.map((x, i) => x + scale * right[index]![i]!))

function compute(
  node: Exclude<Node, NodeOf<'exchange' | 'collect'>>,
  machine: Machine,
  step: InterpretedStep,
  values: ReadonlyMap<number, Rows>,
): Rows {
  const read = (value: Value) => rowsAt(values, value)
  switch (node.op) {
    case 'inputRows':
      return step.ids.map((_, row) => Float64Array.from(step.inputs?.[row] ?? new Float64Array(node.width)))
    case 'embed': {
      const table = matrixOf(node.table, machine)
      const first = node.table.parts[0]?.rows?.runs[0]?.first ?? 0
      const zeros = new Float64Array(node.table.k)
      return step.ids.map((id, row) => {
        const brought = step.inputs?.[row]
        if (node.by === 'id' && id >= 2 ** ABI.INPUT_BIT)
          return first === 0 && brought ? Float64Array.from(brought) : zeros
        const words = { id: id % 2 ** ABI.ID_BITS, position: step.position + row, kind: id >>> ABI.ID_BITS }
        const at = words[node.by]
        return (table[at - first] ?? zeros).map((weight) => weight * node.scale)
      })
    }
    case 'rmsnorm': {
      const weight = vectorOf(node.weight, machine)
      return read(node.input).map((row) => {
        const size = row.length / (node.parts ?? 1)
        const roots = Array.from({ length: node.parts ?? 1 }, (_, part) => {
          const own = row.subarray(part * size, (part + 1) * size)
          return Math.sqrt(own.reduce((sum, x) => sum + x * x, 0) / size + node.epsilon)
        })
        return row.map((x, i) => (x * weight[i]!) / roots[Math.floor(i / size)]!)
      })
    }
    case 'layernorm': {
      const weight = vectorOf(node.weight, machine)
      const bias = node.bias && vectorOf(node.bias, machine)
      return read(node.input).map((row) => {
        const mean = row.reduce((sum, x) => sum + x, 0) / row.length
        const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length
        return row.map(
          (x, i) => ((x - mean) / Math.sqrt(variance + node.epsilon)) * weight[i]! + (bias?.[i] ?? 0),
        )
      })
    }
    case 'quantize': {
      const order = node.order && vectorOf(node.order, machine)
      return read(node.input).map((row) =>
        throughA8(order ? row.map((_, i) => row[order[i]!]!) : row, node.whole),
      )
    }
    case 'linear':
      return linear(node, machine, values)
    case 'linearSwiglu': {
      const { input, weight, bias, quantized } = node
      const inner = quantized.shape[1]
      const made = linear({ op: 'linear', input, weight, bias, output: quantized }, machine, values)
      return made.map((row) =>
        row.slice(0, inner).map((x, i) => activated(x, node.activation) * row[inner + i]!),
      )
    }
    case 'slice':
      return read(node.input).map((row) => row.subarray(node.start, node.start + node.width))
    case 'ropeKv':
      return ropeKv(node, machine, step, values)
    case 'attention':
      return read(node.input).map((q, row) => attend(node, machine, q, step.position + row))
    case 'swiglu': {
      const up = node.up && read(node.up)
      return read(node.gate).map((gates, row) =>
        gates.map(
          (x, i) => activated(x, node.activation, node.xielu) * (up === undefined ? 1 : up[row]![i]!),
        ),
      )
    }
    case 'add':
      return addRows(read(node.left), read(node.right), node.scale)
    case 'conv1d': {
      const bias = node.bias && vectorOf(node.bias, machine)
      return [
        ...convolve(read(node.input), matrixOf(node.weight, machine), bias, keptBy(node, machine), (x) =>
          activated(x, node.activation),
        ),
      ]
    }
    case 'scan': {
      const decay = matrixOf(node.decay, machine)
      const skip = vectorOf(node.skip, machine)
      return [...selectiveScan(scanRows(node, read), decay, skip, keptBy(node, machine))]
    }
    case 'ssd': {
      const { decay, skip, dtBias } = node
      const [d, s, t] = [decay, skip, dtBias].map((each) => vectorOf(each, machine)) as [
        Float64Array,
        Float64Array,
        Float64Array,
      ]
      const weights = { decay: d, skip: s, dtBias: t }
      return [...stateSpace(node, scanRows(node, read), weights, keptBy(node, machine))]
    }
    case 'delta': {
      const { x, dt, beta, z, decay, dtBias, weight } = node
      const rows = { x: read(x), dt: read(dt), beta: read(beta), z: read(z) }
      const vectors = {
        decay: vectorOf(decay, machine),
        dtBias: vectorOf(dtBias, machine),
        weight: vectorOf(weight, machine),
      }
      return [...deltaRule(node, rows, vectors, keptBy(node, machine))]
    }
    case 'lru': {
      const { enterWeight, enterBias, stayWeight, stayBias, param, blocks } = node
      const weights = {
        enterWeight: vectorOf(enterWeight, machine),
        enterBias: vectorOf(enterBias, machine),
        stayWeight: vectorOf(stayWeight, machine),
        stayBias: vectorOf(stayBias, machine),
        param: vectorOf(param, machine),
      }
      return [...linearUnit(read(node.x), step.position, blocks, weights, keptBy(node, machine))]
    }
    case 'wkv': {
      const weights = { decay: vectorOf(node.decay, machine), first: vectorOf(node.first, machine) }
      return [...weightedAverage(read(node.k), read(node.v), weights, keptBy(node, machine))]
    }
    case 'rescale':
      return read(node.input).map((row) => row.map((x) => capped(x * node.scale, node.cap)))
    case 'clamp':
      return read(node.input).map((row) => row.map((x) => within(x, node.limits)))
    case 'renorm': {
      const { x, width, size, epsilon } = node
      const own = x && read(x)
      return read(node.input).map((row, m) => {
        const squares = own === undefined ? row.at(-1)! : own[m]!.reduce((sum, each) => sum + each * each, 0)
        const norm = Math.sqrt(squares / size + epsilon)
        const made = new Float64Array(node.output.shape[1])
        made.set(row.subarray(0, width).map((each) => (own === undefined ? each / norm : each * norm)))
        if (own !== undefined) made[made.length - 1] = squares
        return made
      })
    }
    case 'route':
      return read(node.input).map((row) => routeOf(node, row, node.bias && vectorOf(node.bias, machine)))
    case 'gather': {
      const input = read(node.input)
      return placesOf(read(node.route), node).map(({ row }) => input[row]!)
    }
    case 'linearExperts': {
      const input = read(node.input)
      const { parts, k } = node.weight
      const rounds = isQuantized(machine.encodingOf(parts[0]!.name))
      return placesOf(read(node.route), { experts: parts.length, used: input.length / step.ids.length }).map(
        ({ expert }, place) => {
          const { name, n } = parts[expert]!
          const rows = matrixOf({ parts: [{ name, n }], k, kind: 'matrix' }, machine)
          const x = rounds && node.input.form !== 'a8' ? throughA8(input[place]!) : input[place]!
          return Float64Array.from(rows, (w) => dot(w, x, 0))
        },
      )
    }
    case 'biasExperts': {
      const input = read(node.input)
      const { parts } = node.bias
      const places = placesOf(read(node.route), {
        experts: parts.length,
        used: input.length / step.ids.length,
      })
      return places.map(({ expert }, place) => {
        const bias = vectorOf({ ...node.bias, parts: [parts[expert]!] }, machine)
        return input[place]!.map((x, i) => x + bias[i]!)
      })
    }
    case 'gateRows': {
      const gates = read(node.gate)
      const width = Math.ceil(node.input.shape[1] / node.gate.shape[1])
      return read(node.input).map((row, m) =>
        row.map((x, i) => x / (1 + Math.exp(-gates[m]![Math.floor(i / width)]!))),
      )
    }
    case 'joinHeads': {
      const { heads, own, width } = node
      const shared = node.shared && read(node.shared)
      return read(node.input).map((row, m) => {
        const made = new Float64Array(heads * width)
        const from = row.length / heads
        for (let head = 0; head < heads; head++) {
          made.set(shared?.[m] ?? [], head * width)
          made.set(row.subarray(head * from, head * from + own), head * width + (shared?.[m]?.length ?? 0))
        }
        return made
      })
    }
    case 'mixStreams': {
      const { width, apart, offset, first } = node
      const { streams, inputs } = countsOf(node.x, node.z, apart)
      const z = read(node.z)
      const c = node.coefficients && read(node.coefficients)
      return read(node.x).map((row, m) => {
        const made = row.slice()
        for (let i = first; i < streams; i++) {
          for (let j = 0; j < inputs; j++) {
            const factor = offset + (c?.[m]?.[i * inputs + j] ?? 0)
            for (let k = 0; k < width; k++) made[i * apart + k]! += factor * z[m]![j * apart + k]!
          }
        }
        return made
      })
    }
    case 'matchRms': {
      const by = read(node.by)
      const meanSquare = (row: Float64Array) => row.reduce((sum, x) => sum + x * x, 0) / row.length
      return read(node.input).map((row, m) => {
        const ratio = Math.sqrt(meanSquare(by[m]!) / Math.max(node.least, meanSquare(row)))
        return row.map((x) => x * ratio)
      })
    }
    case 'cutLow':
      return read(node.input).map((row) => {
        const mean = row.reduce((sum, x) => sum + x, 0) / row.length
        const deviation = Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length)
        return row.map((x) => Math.max(0, x - (mean + node.deviations * deviation)))
      })
    case 'weigh': {
      const weight = vectorOf(node.weight, machine)
      return read(node.input).map((row) => row.map((x, i) => x * weight[i]!))
    }
    case 'combine': {
      const input = read(node.input)
      const sums = step.ids.map(() => new Float64Array(input[0]!.length))
      for (const [place, { row, weight }] of placesOf(read(node.route), node).entries()) {
        for (const [i, x] of input[place]!.entries()) sums[row]![i]! += weight * x
      }
      return sums
    }
    case 'takeRows': {
      const input = read(node.input)
      return step.wanted.map((row) => input[row]!)
    }
    default:
      throw new HalfbyteError('internal', `no definition of ${JSON.stringify(node satisfies never)}`)
  }
}

const scanRows = ({ x, dt, z, b, c }: ScanInputs, read: (value: Value) => Rows) => ({
  x: read(x),
  dt: read(dt),
  z: read(z),
  b: read(b),
  c: read(c),
})

/** The state of a node, found by its label: passes keep labels. */
function keptBy(node: Node, { kept }: Machine): Kept {
  const value = node.output ?? ('quantized' in node ? node.quantized : undefined)
  const label = value?.label.replace(/\.a8$/, '') ?? ''
  const own = kept.get(label) ?? { rows: [] }
  kept.set(label, own)
  return own
}

/**
 * `from` and the products, summed in order. A plain loop, because the interpreter spends most of its time
 * here.
 */
function dot(w: ArrayLike<number>, x: ArrayLike<number>, from: number): number {
  let sum = from
  for (let k = 0; k < w.length; k++) sum += w[k]! * x[k]!
  return sum
}

/**
 * For parts in quantised encodings, reads rounded activations. Overwrites the residual, as the kernel does.
 */
function linear(node: NodeOf<'linear'>, machine: Machine, values: ReadonlyMap<number, Rows>): Rows {
  const weight = matrixOf(node.weight, machine)
  const rounds = node.weight.parts.flatMap(({ name, n }) => {
    const encoding = machine.encodingOf(name)
    const scales = readsWholeRows(encoding) ? 'whole' : 'group'
    return Array<'whole' | 'group' | undefined>(n).fill(isQuantized(encoding) ? scales : undefined)
  })
  const bias = node.bias === undefined ? undefined : vectorOf(node.bias, machine)
  const products = rowsAt(values, node.input).map((row) => {
    const isMade = node.input.form === 'a8'
    const rounded = { group: isMade ? row : throughA8(row), whole: isMade ? row : throughA8(row, true) }
    return Float64Array.from(weight, (w, n) => {
      const x = rounds[n] === undefined ? row : rounded[rounds[n]]
      return dot(w, x, bias?.[n] ?? 0)
    })
  })
  if (node.residual === undefined) return products
  const residual = rowsAt(values, node.residual)
  for (const [index, row] of residual.entries()) {
    for (const n of row.keys()) row[n]! += products[index]![n]!
  }
  return residual
}

/** Subtracts the bias from a rotated key, in its static pairs and in the dimensions without rotation. */
function subtractStaticBias(
  k: Float64Array,
  { staticBias, rope, attention }: NodeOf<'ropeKv'>,
  machine: Machine,
): void {
  if (staticBias === undefined) return
  const bias = vectorOf(staticBias.bias, machine)
  const isStatic = (d: number) => {
    if (d >= rope.dims) return true
    return (rope.pairing === 'halves' ? d % (rope.dims / 2) : d >> 1) >= staticBias.from
  }
  for (const [i, b] of bias.entries()) if (isStatic(i % attention.headDim)) k[i]! -= b
}

/** Rotates q in place. k and v go to the state. */
function ropeKv(
  node: NodeOf<'ropeKv'>,
  machine: Machine,
  step: InterpretedStep,
  values: ReadonlyMap<number, Rows>,
): Rows {
  const { layer, headDim } = node.attention
  const normed = (row: Float64Array, of: 'q' | 'k') => {
    if (node.norms === undefined) return
    const {
      over,
      isCentred,
      hasWeightOfEach,
      epsilon,
      [of]: weight,
      [`${of}Bias` as const]: bias,
    } = node.norms
    if (weight === undefined) return
    const weights = vectorOf(weight, machine)
    const biases = bias && vectorOf(bias, machine)
    const span = over === 'head' ? headDim : row.length
    for (let from = 0; from < row.length; from += span) {
      const part = row.subarray(from, from + span)
      const own = hasWeightOfEach === true ? from : 0
      const mean = isCentred === true ? part.reduce((sum, x) => sum + x, 0) / span : 0
      const root = Math.sqrt(part.reduce((sum, x) => sum + (x - mean) ** 2, 0) / span + epsilon)
      part.set(part.map((x, i) => ((x - mean) * weights[own + i]!) / root + (biases?.[own + i] ?? 0)))
    }
  }
  const state = machine.state.get(layer) ?? { k: [], v: [] }
  machine.state.set(layer, state)
  const { dims, pairing, table, queryTable = table } = node.rope
  const place = (row: Float64Array, position: number, of: 'q' | 'k') => {
    const frequencies = machine.frequencies[of === 'q' ? queryTable : table] ?? new Float64Array(0)
    if (node.norms?.isLater !== true) normed(row, of)
    for (let head = 0; head < row.length; head += headDim) {
      for (const [pair, frequency] of frequencies.subarray(0, dims / 2).entries()) {
        const first = head + (pairing === 'halves' ? pair : 2 * pair)
        const second = pairing === 'halves' ? first + dims / 2 : first + 1
        const a = row[first]!
        const b = row[second]!
        const c = Math.cos(position * frequency)
        const s = Math.sin(position * frequency)
        row[first] = a * c - b * s
        row[second] = b * c + a * s
      }
    }
    if (node.norms?.isLater === true) normed(row, of)
  }
  const q = rowsAt(values, node.q)
  for (const [index, row] of q.entries()) {
    const position = step.position + index
    place(row, position, 'q')
    if (node.k === undefined || node.v === undefined) continue
    const k = rowsAt(values, node.k)[index]!.slice()
    place(k, position, 'k')
    if (node.limits !== undefined) k.set(k.map((x) => within(x, node.limits!)))
    subtractStaticBias(k, node, machine)
    state.k[position] = k
    const v = rowsAt(values, node.v)[index]!.slice()
    if (node.norms?.ofValues === true) {
      for (let head = 0; head < v.length; head += headDim) {
        const own = v.subarray(head, head + headDim)
        const root = Math.sqrt(own.reduce((sum, x) => sum + x * x, 0) / headDim + node.norms.epsilon)
        own.set(own.map((x) => x / root))
      }
    }
    state.v[position] = v
  }
  return q
}

function attend(
  node: NodeOf<'attention'>,
  machine: Machine,
  q: Float64Array,
  position: number,
): Float64Array {
  const { layer, heads, kvHeads, headDim, window, ratio = heads / kvHeads, absent = 0 } = node.attention
  const { after = 0 } = node.attention
  const { k, v } = machine.state.get(layer) ?? { k: [], v: [] }
  const from = window === 0 ? 0 : Math.max(0, position + 1 - window)
  const table = node.bias && vectorOf(node.bias, machine)
  const sinks = node.sinks && vectorOf(node.sinks, machine)
  const y = new Float64Array(heads * headDim)
  for (let head = 0; head < heads; head++) {
    const at = head * headDim
    const kv = Math.floor((head + absent) / ratio) * headDim
    const biases = table && biasesOf(table, node.reach ?? 0, head, position - from)
    const weights = k.slice(from, position + 1 + after).map((key, index) => {
      let dot = 0
      for (let d = 0; d < headDim; d++) dot += key[kv + d]! * q[at + d]!
      const score = capped(dot * node.scale, node.cap)
      return Math.exp(
        (node.limits === undefined ? score : within(score, node.limits)) + (biases?.[index] ?? 0),
      )
    })
    const sink = sinks === undefined ? 0 : Math.exp(sinks[head]!)
    const sum = weights.reduce((total, weight) => total + weight, sink)
    for (const [index, weight] of weights.entries()) {
      for (let d = 0; d < headDim; d++) y[at + d]! += (weight / sum) * v[from + index]![kv + d]!
    }
  }
  return y
}

const within = (x: number, { least, most }: Limits): number => Math.min(most, Math.max(least, x))

/** Rounds halves to even, as the kernels do. */
function nearestEven(x: number): number {
  const nearest = Math.round(x)
  return Math.abs(x % 1) === 0.5 && nearest % 2 !== 0 ? nearest - 1 : nearest
}

/** A row's values after rounding to int8 codes, with one scale per group or one for the whole row. */
function throughA8(row: Float64Array, whole = false): Float64Array {
  const kept = new Float64Array(row.length)
  const size = whole ? row.length : GROUP_SIZE
  for (let from = 0; from < row.length; from += size) {
    const group = row.subarray(from, from + size)
    const scale = group.reduce((most, x) => Math.max(most, Math.abs(x)), 0) / 127
    if (scale > 0)
      kept.set(
        group.map((x) => nearestEven(x / scale) * scale),
        from,
      )
  }
  return kept
}

/** The rows of all parts. */
function matrixOf(
  { parts, k, columns = { first: 0, whole: k } }: WeightRef,
  machine: Machine,
): Float64Array[] {
  return parts.flatMap(({ name, n, rows = { whole: n, runs: [{ first: 0, count: n }] } }) => {
    const { first, whole } = columns
    const values = machine.weightOf(name, rows.whole, whole)
    return rows.runs.flatMap((run) =>
      Array.from({ length: run.count }, (_, index) => {
        const at = (run.first + index) * whole + first
        return values.subarray(at, at + k)
      }),
    )
  })
}

const vectorOf = (ref: WeightRef, machine: Machine): Float64Array =>
  Float64Array.from(matrixOf(ref, machine), (row) => row[0]!)
