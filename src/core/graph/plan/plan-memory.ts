// Plans the arena: where each value's rows are, and the arena's size.
import { ABI } from '../../abi/constants.ts'
import { a8Stride, floatStride, ROW_PADDING, roundUp } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { cutValuesOf } from '../cut-rows.ts'
import type { AttentionShape, Dim, Value } from '../ir.ts'
import { type Graph, inputsOf, type Node, type NodeOf, outputsOf } from '../nodes.ts'
import { type Lifetime, planArena } from './arena.ts'

/** Maximum number of rows in a step. */
export interface Capacity {
  readonly tokens: number
  readonly logitRows: number
}

/** The location of a value's rows: row r begins at `offset + r * stride`, both in bytes. */
interface ArenaSlot {
  readonly offset: number
  readonly stride: number
}

export interface MemoryPlan {
  /** By value id. */
  readonly arenaSlots: ReadonlyMap<number, ArenaSlot>
  /** Byte offsets of scratch memory, for the nodes that need some. */
  readonly scratch: ReadonlyMap<Node, number>
  /** Bytes of the arena at its peak. */
  readonly bytes: number
}

/**
 * Assigns a slot to every value. Values that are live at the same time never share bytes. Throws `internal`
 * for a graph that no kernel can run.
 */
export function planMemory(graph: Graph, capacity: Capacity): MemoryPlan {
  const planner = new ArenaPlanner(graph, capacity)
  const { offsets, bytes } = planArena(planner.regions)
  const arenaSlots = new Map<number, ArenaSlot>()
  for (const [id, { region, column }] of planner.entries()) {
    arenaSlots.set(id, { offset: offsets.get(region)! + column, stride: region.stride })
  }
  const scratch = new Map([...planner.scratch].map(([node, region]) => [node, offsets.get(region)!]))
  return { arenaSlots, scratch, bytes }
}

/**
 * A region of the arena with rows that one node produces. Later nodes may overwrite them or read views of
 * them.
 */
interface Region extends Lifetime {
  readonly stride: number
  /** The last node found so far that needs the region. */
  to: number
}

/** The region that contains a value, and the value's byte offset in each row. */
interface Location {
  readonly region: Region
  readonly column: number
}

/**
 * Walks the nodes in order, and assigns a location to every value and scratch memory to the nodes that need
 * it.
 */
class ArenaPlanner {
  readonly regions: Region[] = []
  readonly scratch = new Map<Node, Region>()
  readonly #locations = new Map<number, Location>()
  readonly #capacity: Capacity
  readonly #lastReads: ReadonlyMap<number, number>
  /** The linear that a value comes from, traced back through exchanges. */
  readonly #merged = new Map<number, NodeOf<'linear'>>()
  /** Widths to which later nodes widen the rows of a value. */
  readonly #widened: ReadonlyMap<number, number>
  readonly #cut: ReadonlySet<number>

  constructor(graph: Graph, capacity: Capacity) {
    this.#capacity = capacity
    this.#lastReads = lastReadsOf(graph)
    this.#cut = cutValuesOf(graph)
    this.#widened = new Map(
      graph.nodes.flatMap((node) =>
        node.op === 'collect' || node.op === 'renorm' ? [[node.input.id, node.output.shape[1]]] : [],
      ),
    )
    for (const [index, node] of graph.nodes.entries()) this.#place(node, index)
    for (const value of [graph.output, graph.hidden]) this.#keep(value, graph.nodes.length)
  }

  /** By value id. */
  entries(): Iterable<readonly [number, Location]> {
    return this.#locations
  }

  #place(node: Node, index: number): void {
    const linear = node.op === 'exchange' ? this.#merged.get(node.input.id) : node
    if (linear?.op === 'linear' && node.output !== undefined) this.#merged.set(node.output.id, linear)
    for (const output of outputsOf(node)) {
      const location = output.form === 'f32' ? this.#sharedLocation(node, index) : undefined
      this.#locations.set(output.id, location ?? { region: this.#fresh(node, output, index), column: 0 })
    }
    for (const value of [...inputsOf(node), ...outputsOf(node)]) this.#keep(value, index)
    if (node.op === 'attention' && !node.attention.after)
      this.scratch.set(node, this.#region(partsBytes(node.attention), 0, index))
    if (node.op === 'exchange') {
      const { region } = this.#locationOf(node.input)
      const bytes = rowCount(node.input.shape[0], this.#capacity) * region.stride
      this.scratch.set(node, this.#region((node.shards - 1) * bytes, 0, index))
    }
  }

  #locationOf(value: Value): Location {
    const location = this.#locations.get(value.id)
    if (location === undefined) throw new HalfbyteError('internal', `${value.label} has no place yet`)
    return location
  }

  #keep(value: Value, index: number): void {
    const { region } = this.#locationOf(value)
    region.to = Math.max(region.to, index)
  }

  #region(bytes: number, stride: number, index: number): Region {
    const region = { bytes, stride, from: index, to: index }
    this.regions.push(region)
    return region
  }

  #fresh(node: Node, output: Value, index: number): Region {
    // Later nodes may widen a row; their additions come after this output.
    const stride = Math.max(strideOf(node, output), floatStride(this.#widened.get(output.id) ?? 0))
    return this.#region(rowCount(output.shape[0], this.#capacity) * stride, stride, index)
  }

  /** True if no later node reads anything in the value's region, so that it may be overwritten. */
  #isFree(value: Value, index: number): boolean {
    const { region } = this.#locationOf(value)
    for (const [id, location] of this.#locations) {
      if (location.region === region && (this.#lastReads.get(id) ?? -1) > index) return false
    }
    return true
  }

  /** The location of a node's f32 output if it is a view of an input or overwrites one. */
  #sharedLocation(node: Node, index: number): Location | undefined {
    switch (node.op) {
      case 'takeRows':
      case 'collect':
        return this.#locationOf(node.input)
      case 'exchange':
        return this.#overwritten(node.residual ?? node.input, index, 'added to')
      case 'slice': {
        const { region, column } = this.#locationOf(node.input)
        return { region, column: column + partColumn(node, this.#merged.get(node.input.id)) * 4 }
      }
      case 'ropeKv':
        if (node.norms !== undefined && node.k !== undefined && node.v !== undefined) {
          this.#checkApart(node.k, node.v, 'normed')
          this.#overwritten(node.k, index, 'normed')
        }
        for (const other of [node.k, node.v]) {
          if (other !== undefined) this.#checkApart(node.q, other, 'rotated')
        }
        return this.#overwritten(node.q, index, 'rotated')
      case 'linear':
        if (node.residual === undefined) return undefined
        this.#checkApart(node.residual, node.input, 'added to')
        return this.#overwritten(node.residual, index, 'added to')
      case 'rescale':
      case 'renorm':
      case 'gateRows':
        return this.#overwritten(node.input, index, 'scaled')
      case 'biasExperts':
        return this.#overwritten(node.input, index, 'added to')
      case 'add':
        // The right side is scaled, so the sum overwrites the left side.
        if (node.scale !== 1) return this.#overwritten(node.left, index, 'added to')
        if (this.#isFree(node.left, index)) return this.#locationOf(node.left)
        return this.#overwritten(node.right, index, 'added to')
      case 'clamp':
      case 'cutLow':
        return this.#isFree(node.input, index) ? this.#locationOf(node.input) : undefined
      case 'swiglu':
        // A tile reads the gates and ups that it replaces before it writes. But it writes whole groups, and
        // the groups of a sliced gate contain columns that other tiles read, in this row or the next.
        if (this.#cut.has(node.gate.id) || !this.#isFree(node.gate, index)) return undefined
        return this.#locationOf(node.gate)
      default:
        return undefined
    }
  }

  /** Throws if a node would overwrite another of its own inputs before reading it. */
  #checkApart(value: Value, other: Value, how: string): void {
    const own = this.#locations.get(value.id)
    const read = this.#locations.get(other.id)
    // Values without rows in the arena cannot overlap.
    if (own === undefined || own.region !== read?.region || own.column !== read.column) return
    throw new HalfbyteError('internal', `${value.label} is ${how} in place but is read by the same node too`)
  }

  #overwritten(value: Value, index: number, how: string): Location {
    if (this.#isFree(value, index)) return this.#locationOf(value)
    throw new HalfbyteError('internal', `${value.label} is ${how} in place but is still read afterwards`)
  }
}

/**
 * Scratch memory for the partial results of rows whose attention several threads share: see wasm/core/abi.h.
 */
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

/** How often each row of the step occurs among the routed rows. */
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
