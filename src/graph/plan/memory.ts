// Memory plan. In: a graph, the most rows of a step. Out: where each value's rows lie in the arena, and the
// arena's size.
import { ABI } from '../../abi/constants.ts'
import { ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import type { AttentionShape, Dim, Value } from '../ir.ts'
import { type Graph, inputsOf, type Node, type NodeOf, outputsOf } from '../nodes.ts'
import { a8Stride, floatStride } from './layouts.ts'

/** The most rows of one step. */
export interface Capacity {
  readonly tokens: number
  readonly logitRows: number
}

/** The place of a value's rows: row r begins at `offset + r * stride`, both in bytes. */
export interface ArenaSlot {
  readonly offset: number
  readonly stride: number
}

export interface MemoryPlan {
  /** By value id. */
  readonly arenaSlots: ReadonlyMap<number, ArenaSlot>
  /** Byte offsets of working room, for the nodes that need some. */
  readonly rooms: ReadonlyMap<Node, number>
  /** Bytes of the arena at its peak. */
  readonly bytes: number
}

/** A cache line: no two regions share one. */
const ALIGNMENT = 64

/**
 * Gives every value a slot. Values that live at the same time never share bytes. Throws `internal` for a
 * graph that no kernel can run.
 */
export function planMemory(graph: Graph, capacity: Capacity): MemoryPlan {
  const { regions, homes, needs } = assign(graph, capacity)
  const offsets = pack(regions)
  const arenaSlots = new Map<number, ArenaSlot>()
  for (const [id, { region, column }] of homes) {
    arenaSlots.set(id, { offset: (offsets.get(region) ?? 0) + column, stride: region.stride })
  }
  const ends = regions.map((region) => (offsets.get(region) ?? 0) + region.bytes)
  const rooms = new Map([...needs].map(([node, region]) => [node, offsets.get(region) ?? 0]))
  return { arenaSlots, rooms, bytes: roundUp(Math.max(0, ...ends), ALIGNMENT) }
}

/** Rows in the arena that one node makes. Later nodes may overwrite them or read views of them. */
interface Region {
  readonly bytes: number
  readonly stride: number
  /** Indices of the first and the last node that need it. */
  readonly from: number
  to: number
}

/** The region that a value lies in, and its byte offset in each row. */
interface Home {
  readonly region: Region
  readonly column: number
}

function assign(graph: Graph, capacity: Capacity) {
  const regions: Region[] = []
  const homes = new Map<number, Home>()
  const lastReads = lastReadsOf(graph)
  const merged = new Map<number, NodeOf<'linear'>>()
  const needs = new Map<Node, Region>()
  const widened = new Map(
    graph.nodes.flatMap((node) =>
      node.op === 'collect' || node.op === 'renorm' ? [[node.input.id, node.output.shape[1]]] : [],
    ),
  )
  for (const [index, node] of graph.nodes.entries()) {
    const linear = node.op === 'exchange' ? merged.get(node.input.id) : node
    if (linear?.op === 'linear' && node.output !== undefined) merged.set(node.output.id, linear)
    for (const output of outputsOf(node)) {
      const home = output.form === 'f32' ? sharedHome(node, index) : undefined
      homes.set(output.id, home ?? { region: fresh(node, output, index), column: 0 })
    }
    for (const value of [...inputsOf(node), ...outputsOf(node)]) keep(value, index)
    if (node.op === 'attention') needs.set(node, room(partsBytes(node.attention), index))
    if (node.op === 'exchange') {
      const bytes = rowCount(node.input.shape[0], capacity) * homeOf(node.input).region.stride
      needs.set(node, room((node.shards - 1) * bytes, index))
    }
  }
  for (const value of [graph.output, graph.hidden]) keep(value, graph.nodes.length)
  return { regions, homes, needs }

  function homeOf(value: Value): Home {
    const home = homes.get(value.id)
    if (home === undefined) throw new HalfbyteError('internal', `${value.label} has no place yet`)
    return home
  }
  function keep(value: Value, index: number): void {
    const { region } = homeOf(value)
    region.to = Math.max(region.to, index)
  }
  function room(bytes: number, index: number): Region {
    const region = { bytes, stride: 0, from: index, to: index }
    regions.push(region)
    return region
  }
  function fresh(node: Node, output: Value, index: number): Region {
    // Later nodes may widen a row: what they add comes after this output.
    const stride = Math.max(strideOf(node, output), floatStride(widened.get(output.id) ?? 0))
    const region = { bytes: rowCount(output.shape[0], capacity) * stride, stride, from: index, to: index }
    regions.push(region)
    return region
  }
  /** True when no later node reads anything that now lies in the value's region, so it may be overwritten. */
  function isFree(value: Value, index: number): boolean {
    const { region } = homeOf(value)
    for (const [id, home] of homes) {
      if (home.region === region && (lastReads.get(id) ?? -1) > index) return false
    }
    return true
  }
  /** Where a node's f32 output lies when it is a view of an input or overwrites one. */
  function sharedHome(node: Node, index: number): Home | undefined {
    switch (node.op) {
      case 'takeRows':
      case 'collect':
        return homeOf(node.input)
      case 'exchange':
        return overwritten(node.residual ?? node.input, index, 'added to')
      case 'slice': {
        const { region, column } = homeOf(node.input)
        return { region, column: column + partColumn(node, merged.get(node.input.id)) * 4 }
      }
      case 'ropeKv':
        if (node.norms !== undefined) {
          checkApart(node.k, node.v, 'normed')
          overwritten(node.k, index, 'normed')
        }
        for (const other of [node.k, node.v]) checkApart(node.q, other, 'rotated')
        return overwritten(node.q, index, 'rotated')
      case 'linear':
        if (node.residual === undefined) return undefined
        checkApart(node.residual, node.input, 'added to')
        return overwritten(node.residual, index, 'added to')
      case 'rescale':
      case 'renorm':
        return overwritten(node.input, index, 'scaled')
      case 'add':
        // The right side is scaled, so the left side takes the sum.
        if (node.scale !== 1) return overwritten(node.left, index, 'added to')
        if (isFree(node.left, index)) return homeOf(node.left)
        return overwritten(node.right, index, 'added to')
      case 'clamp':
        return isFree(node.input, index) ? homeOf(node.input) : undefined
      case 'swiglu':
        // A tile reads the gates and ups that it replaces before it writes.
        return isFree(node.gate, index) ? homeOf(node.gate) : undefined
      default:
        return undefined
    }
  }
  /** Throws when a node would overwrite another of its own inputs, which it reads after that. */
  function checkApart(value: Value, other: Value, how: string): void {
    const own = homes.get(value.id)
    const read = homes.get(other.id)
    // Values that are no rows in the arena have no home.
    if (own === undefined || own.region !== read?.region || own.column !== read.column) return
    throw new HalfbyteError('internal', `${value.label} is ${how} in place but is read by the same node too`)
  }
  function overwritten(value: Value, index: number, how: string): Home {
    if (isFree(value, index)) return homeOf(value)
    throw new HalfbyteError('internal', `${value.label} is ${how} in place but is still read afterwards`)
  }
}

/** Room for attention's partial results of rows that several threads share: see wasm/core/abi.h. */
const partsBytes = ({ heads, headDim }: AttentionShape): number =>
  ABI.SPLIT_ROWS * heads * ABI.MAX_SEGMENTS * (ABI.PART_SUMS + headDim) * 4

/** Index of the last node that reads each value. Past the end for the graph's own outputs. */
function lastReadsOf(graph: Graph): ReadonlyMap<number, number> {
  const last = new Map<number, number>()
  for (const [index, node] of graph.nodes.entries()) {
    for (const { id } of inputsOf(node)) last.set(id, index)
  }
  for (const { id } of [graph.output, graph.hidden]) last.set(id, graph.nodes.length)
  return last
}

function rowCount(rows: Dim, { tokens, logitRows }: Capacity): number {
  if (rows === 'tokens') return tokens
  if (rows === 'logitRows') return logitRows
  return typeof rows === 'number' ? rows : tokens * routedTimes(rows)
}

/** How many times routed rows hold each row of the step. */
export const routedTimes = (rows: `tokens*${number}`): number => Number(rows.slice('tokens*'.length))

function strideOf(node: Node, output: Value): number {
  if (output.form === 'a8') return a8Stride(output.shape[1])
  if (node.op !== 'linear') return floatStride(output.shape[1])
  return node.weight.parts.reduce((sum, { n }) => sum + floatStride(n), 0)
}

/**
 * The column where a slice begins. In a merged linear it lies inside one part, and parts begin at multiples
 * of 32.
 */
function partColumn(slice: NodeOf<'slice'>, linear: NodeOf<'linear'> | undefined): number {
  if (linear === undefined) return slice.start
  let start = 0
  let column = 0
  for (const { n } of linear.weight.parts) {
    if (start <= slice.start && slice.start + slice.width <= start + n) return column + slice.start - start
    start += n
    column += roundUp(n, ROW_PADDING)
  }
  throw new HalfbyteError('internal', `${slice.output.label} is not inside one part of a merged linear`)
}

/**
 * Offsets for which no two regions overlap that are needed at the same time. The largest region comes first.
 * Each goes into the smallest gap between those already placed.
 */
function pack(regions: readonly Region[]): ReadonlyMap<Region, number> {
  const offsets = new Map<Region, number>()
  const placed: Region[] = []
  const largestFirst = [...regions].sort((left, right) => right.bytes - left.bytes || left.from - right.from)
  for (const region of largestFirst) {
    const rivals = placed
      .filter((other) => other.from <= region.to && region.from <= other.to)
      .map((other) => ({ start: offsets.get(other) ?? 0, bytes: other.bytes }))
      .sort((left, right) => left.start - right.start)
    offsets.set(region, smallestGap(rivals, region.bytes))
    placed.push(region)
  }
  return offsets
}

function smallestGap(taken: readonly { start: number; bytes: number }[], bytes: number): number {
  let end = 0
  let best = { start: -1, size: Number.POSITIVE_INFINITY }
  for (const { start, bytes: length } of taken) {
    const size = start - end
    if (size >= bytes && size < best.size) best = { start: end, size }
    end = Math.max(end, roundUp(start + length, ALIGNMENT))
  }
  return best.start >= 0 ? best.start : end
}
