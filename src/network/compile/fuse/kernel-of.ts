import { isSameList } from '../../onnx/ir/tensor.ts'
import {
  type Cell,
  type Kernel,
  type KernelCall,
  QUAD_ROWS,
  type Reload,
  type Source,
  type Store,
  type Stream,
  type StreamPlace,
} from '../emit/kernel.ts'
import {
  isKernelLoop,
  type Loop,
  type Ref,
  type ScatterLoop,
  type SelectLoop,
  type Value,
} from '../loops/loops.ts'
import { costOf, isChecked, type Kind, type Tree } from '../loops/tree.ts'
import { type View, whole } from '../loops/view.ts'
import { type Group, overProduct, scopeIn, squeezedView } from './groups.ts'
import { productCall, productForm, tileBytes } from './product-call.ts'

/** Cells that cost at most this are recomputed in later passes. */
const CHEAP = 2

/** Groups that cost more are not turned, because their trees are emitted five more times. */
const MAX_TURNED = 48

/** Strides over the space; the last ones run along the elements of rows. */
interface Axes {
  readonly dims: readonly number[]
  readonly steps: number[][]
}

/**
 * `isStored`: whether anything outside the group reads the value. `packs`: whether constant matrices are laid
 * out in panels.
 */
export function kernelOf(group: Group, isStored: (value: Value) => boolean, packs: boolean): KernelCall {
  const [first] = group.loops
  if (first?.loop === 'select') return selectionOf(first)
  return new KernelMaker(group, isStored, packs).make()
}

interface StreamDraft {
  readonly value: Value | undefined
  readonly offset: number
  /** Over the group's space, or over [..., m, n] of a product. */
  readonly steps: readonly number[]
  readonly kind: Kind
  readonly index?: { readonly stream: number; readonly step: number; readonly size: number } | undefined
  /** Size of its scratch memory in elements, if it has no value. */
  readonly scratch?: number | undefined
}

class KernelMaker {
  readonly #group: Group
  readonly #isStored: (value: Value) => boolean
  readonly #packs: boolean
  readonly #dims: readonly number[]
  readonly #drafts: StreamDraft[] = []
  /** The streams of each value. */
  readonly #known = new Map<Value, number[]>()
  readonly #cells: Cell[] = []
  /** Instructions needed to compute each cell from memory. */
  readonly #costs: number[] = []
  readonly #made = new Map<Value, Source>()
  readonly #stores: Store[] = []
  readonly #sizes: number[] = []
  /** Whether indices change along the rows, so that each element becomes a row. */
  #isSingle = false

  constructor(group: Group, isStored: (value: Value) => boolean, packs: boolean) {
    this.#group = group
    this.#packs = packs
    this.#isStored = isStored
    this.#dims = group.product === undefined ? group.space : group.product.at.dims
  }

  make(): KernelCall {
    const { loops, product } = this.#group
    if (product !== undefined) {
      this.#drafts.push({
        value: undefined,
        offset: 0,
        steps: this.#dims.map(() => 0),
        kind: product.out.kind,
        scratch: 0,
      })
      this.#made.set(product.out, { stream: 0 })
      if (this.#isStored(product.out)) this.#store(product.out, { stream: 0 }, product.at)
    }
    for (const loop of loops) if (loop !== product) this.#cell(loop)
    const reloads = product === undefined ? this.#reloads() : []
    const axes = this.#axes()
    const streams = this.#drafts.map((draft, at) => placeOf(draft, axes.steps[at]!))
    const form = product && productForm(product, this.#packs)
    const plain = streams.map(({ inner }, at) =>
      streamOf(this.#drafts[at]!, inner, product !== undefined && at === 0),
    )
    const kernel: Kernel = {
      outer: axes.dims.length - (product === undefined ? 1 : 2),
      streams: (product === undefined && this.#turned(plain, streams, axes.dims)) || plain,
      cells: this.#cells,
      stores: this.#stores,
      reloads: reloads.map(({ cell, stream }) => ({ cell, stream })),
      passes: 1 + Math.max(0, ...this.#cells.map((cell) => ('tree' in cell && cell.isRow ? 0 : cell.pass))),
      sizes: this.#sizes.length,
      product: form,
      ...(loops[0]?.loop === 'scatter' && { isOrdered: true }),
    }
    const inner = axes.dims.at(-1)!
    const scratch = this.#scratch(streams, inner)
    return {
      kernel,
      outer: axes.dims.slice(0, product === undefined ? -1 : -2),
      inner,
      streams: scratch.streams,
      sizes: this.#sizes,
      scratchBytes: scratch.bytes + (product === undefined ? 0 : tileBytes(product)),
      product: product && productCall(product, form!),
    }
  }

  /**
   * The streams with their strided ones marked as turned, if four rows can be processed at once. Undefined
   * otherwise.
   */
  #turned(
    modes: readonly Stream[],
    places: readonly StreamPlace[],
    dims: readonly number[],
  ): readonly Stream[] | undefined {
    const isPlain = this.#cells.every((cell) => 'tree' in cell && !cell.isRow && !isChecked(cell.tree))
    const cost = this.#costs.reduce((sum, each) => sum + each, 0)
    if (!isPlain || cost > MAX_TURNED || this.#isSingle || (dims.at(-2) ?? 0) < QUAD_ROWS) return undefined
    const isApart = places.some(({ index }, at) => index !== undefined || modes[at]!.isByte === true)
    const written = new Set(this.#stores.map(({ stream }) => stream))
    const fits = modes.every(({ mode }, at) => {
      if (mode === 'strided') return places[at]!.steps.at(-1) === 1
      return mode === 'vector' || !written.has(at)
    })
    if (isApart || !fits || !modes.some(({ mode }) => mode === 'strided')) return undefined
    return modes.map((stream) => (stream.mode === 'strided' ? { ...stream, mode: 'turned' } : stream))
  }

  #cell(loop: Loop): void {
    const { out } = loop
    if (loop.loop === 'product' || loop.loop === 'select' || isKernelLoop(loop)) return
    if (loop.loop === 'scatter') {
      this.#scatter(loop)
      return
    }
    const args = loop.loop === 'gather' ? [this.#gathered(loop)] : loop.args.map((ref) => this.#source(ref))
    if (loop.loop === 'place') {
      this.#place(loop.out, args[0]!, loop.at)
      return
    }
    const isRow = loop.loop !== 'reduce' && this.#scope(out.dims) === 'row'
    const pass = Math.max(0, ...args.map((source) => this.#ready(source)))
    const tree = (): Tree => (loop.loop === 'map' ? this.#sized(loop) : { arg: 0, kind: out.kind })
    const source = this.#addCell(
      loop.loop === 'reduce'
        ? { how: loop.how, kind: out.kind, arg: args[0]!, pass }
        : { tree: tree(), args, isRow, pass },
    )
    this.#made.set(out, source)
    if (this.#isStored(out)) this.#store(out, source, whole(out.dims))
  }

  #scope(dims: readonly number[]) {
    return this.#group.product === undefined ? scopeIn(this.#group, dims) : 'full'
  }

  /** The loop's tree. Size-dependent numbers are numbered across the whole kernel. */
  #sized({ tree, sizes }: Pick<Extract<Loop, { loop: 'map' }>, 'tree' | 'sizes'>): Tree {
    if (sizes.length === 0) return tree
    if ('size' in tree) {
      const value = sizes[tree.size]!
      const at = this.#sizes.indexOf(value)
      return { ...tree, size: at >= 0 ? at : this.#sizes.push(value) - 1 }
    }
    return 'op' in tree ? { ...tree, of: tree.of.map((each) => this.#sized({ tree: each, sizes })) } : tree
  }

  /** The first pass that can read a source. */
  #ready(source: Source): number {
    if ('stream' in source) return 0
    const cell = this.#cells[source.cell]!
    return cell.pass + ('how' in cell ? 1 : 0)
  }

  #source(ref: Ref): Source {
    const made = this.#made.get(ref.value)
    return made ?? { stream: this.#stream(ref.value, ref.view) }
  }

  /** Strides of a view over the group's space. Numbers per row have stride 0 along the rows. */
  #steps(view: View): readonly number[] {
    const { product } = this.#group
    if (product !== undefined) return overProduct(view, product)!.strides
    const own = squeezedView(view)
    const isRow = own.dims.length < this.#dims.length
    return isRow ? [...own.strides, ...this.#dims.slice(own.dims.length).map(() => 0)] : own.strides
  }

  #stream(value: Value, view: View, index?: StreamDraft['index']): number {
    const steps = this.#steps(view)
    const others = this.#known.get(value) ?? []
    const known = others.find((at) => {
      const other = this.#drafts[at]!
      return other.offset === view.offset && isSameList(other.steps, steps) && isSameIndex(other.index, index)
    })
    if (known !== undefined) return known
    this.#known.set(value, others)
    others.push(this.#drafts.length)
    this.#drafts.push({ value, offset: view.offset, steps, kind: value.kind, index })
    return this.#drafts.length - 1
  }

  #gathered({ args: [table, index], step, size }: Extract<Loop, { loop: 'gather' }>): Source {
    const stream = this.#stream(index.value, index.view)
    if (this.#drafts[stream]!.steps.at(-1) !== 0) this.#isSingle = true
    return { stream: this.#stream(table.value, table.view, { stream, step, size }) }
  }

  /** If several elements of a row would be written to the same place, each becomes a row of its own. */
  #scatter({ args: [updates, index, to], tree, step, size, out }: ScatterLoop): void {
    const moved = { stream: this.#stream(index.value, index.view), step, size }
    const steps = this.#steps(to.view)
    this.#isSingle = this.#drafts[moved.stream]!.steps.at(-1) !== 0 || steps.at(-1) === 0
    let source = this.#source(updates)
    if (tree !== undefined) {
      const old = { stream: this.#stream(out, to.view, moved) }
      source = this.#addCell({ tree, args: [old, source], isRow: false, pass: 0 })
    }
    const stream = this.#drafts.length
    this.#drafts.push({ value: out, offset: to.view.offset, steps, kind: out.kind, index: moved })
    this.#stores.push({ source, stream, pass: 0, isRow: false })
  }

  #store(value: Value, source: Source, view: View): void {
    const isRow = this.#scope(value.dims) === 'row'
    const stream = this.#drafts.length
    const steps = view === this.#group.product?.at ? view.strides : this.#steps(view)
    this.#drafts.push({ value, offset: 0, steps, kind: value.kind })
    const pass = 'stream' in source ? 0 : this.#cells[source.cell]!.pass
    this.#stores.push({ source, stream, pass, isRow })
  }

  #place(value: Value, source: Source, at: View): void {
    const stream = this.#drafts.length
    this.#drafts.push({ value, offset: at.offset, steps: this.#steps(at), kind: value.kind })
    this.#stores.push({ source, stream, pass: this.#ready(source), isRow: false })
  }

  /**
   * Expensive cells that a later pass loads again, either from where they are stored or from scratch memory.
   */
  #reloads(): (Reload & { readonly scratch: boolean })[] {
    const found: (Reload & { readonly scratch: boolean })[] = []
    const later = new Set<number>()
    const note = (source: Source, pass: number): void => {
      if (!('cell' in source)) return
      const cell = this.#cells[source.cell]!
      if ('tree' in cell && !cell.isRow && cell.pass < pass) later.add(source.cell)
    }
    for (const cell of this.#cells) {
      if ('how' in cell) note(cell.arg, cell.pass)
      else for (const each of cell.args) note(each, cell.pass)
    }
    for (const { source, pass } of this.#stores) note(source, pass)
    for (const index of later) {
      const cell = this.#cells[index]!
      if (!('tree' in cell) || this.#costs[index]! <= CHEAP) continue
      const stored = this.#stores.find(
        ({ source, stream }) =>
          'cell' in source && source.cell === index && this.#drafts[stream]!.steps.at(-1) === 1,
      )
      if (stored !== undefined) found.push({ cell: index, stream: stored.stream, scratch: false })
      else {
        const stream = this.#drafts.length
        const steps = [...this.#dims.slice(1).map(() => 0), 1]
        this.#drafts.push({ value: undefined, offset: 0, steps, kind: cell.tree.kind, scratch: stream })
        this.#stores.push({ source: { cell: index }, stream, pass: cell.pass, isRow: false })
        found.push({ cell: index, stream, scratch: true })
      }
    }
    return found
  }

  /** Adds a cell after the cells that it reads. */
  #addCell(cell: Cell): Source {
    let cost = 0
    if ('tree' in cell && !cell.isRow) {
      cost = costOf(cell.tree)
      for (const each of cell.args) if ('cell' in each) cost += this.#costs[each.cell]!
    }
    this.#costs.push(cost)
    return { cell: this.#cells.push(cell) - 1 }
  }

  /** The space, with as few axes as the strides allow. The last axis runs along the elements of rows. */
  #axes(): Axes {
    const { isReduced, product } = this.#group
    const steps = this.#drafts.map((draft) => [...draft.steps])
    if (product !== undefined) return { dims: this.#dims, steps }
    if (this.#isSingle)
      return joinedAxes({ dims: [...this.#dims, 1], steps: steps.map((each) => [...each, 0]) }, 1)
    if (this.#dims.length === 0) return { dims: [1], steps: steps.map(() => [0]) }
    return joinedAxes({ dims: this.#dims, steps }, isReduced ? 1 : 0)
  }

  /** Rows in scratch memory begin at multiples of 64 bytes. */
  #scratch(
    streams: readonly StreamPlace[],
    inner: number,
  ): { streams: readonly StreamPlace[]; bytes: number } {
    let bytes = 0
    const placed = streams.map((stream, at) => {
      if (this.#drafts[at]!.value !== undefined || this.#group.product !== undefined) return stream
      const made = { ...stream, at: { scratch: bytes } }
      bytes += Math.ceil((4 * inner + 16) / 64) * 64
      return made
    })
    return { streams: placed, bytes }
  }
}

const isSameIndex = (one: StreamDraft['index'], other: StreamDraft['index']): boolean =>
  one?.stream === other?.stream && one?.step === other?.step && one?.size === other?.size

/** Bytes of a heap entry: a number and its position. */
const HEAP_BYTES = 8

function selectionOf({ args: [{ value, view }], out, isLeast }: SelectLoop): KernelCall {
  const outer = view.dims.slice(0, -1)
  const selected = out.dims.at(-1)!
  const none = outer.map(() => 0)
  const streams: readonly StreamPlace[] = [
    { at: { value, offset: view.offset }, steps: view.strides.slice(0, -1), inner: view.strides.at(-1)! },
    { at: { value: out, offset: 0 }, steps: whole(out.dims).strides.slice(0, -1), inner: 0 },
    { at: { scratch: 0 }, steps: none, inner: 0 },
  ]
  const kernel: Kernel = {
    outer: outer.length,
    streams: [
      { mode: 'strided', kind: value.kind },
      { mode: 'uniform', kind: 'i32' },
      { mode: 'vector', kind: 'i32' },
    ],
    cells: [],
    stores: [{ source: { stream: 0 }, stream: 1, pass: 0, isRow: true }],
    reloads: [],
    passes: 1,
    sizes: 0,
    selection: { isLeast, kind: value.kind },
  }
  const scratchBytes = HEAP_BYTES * selected
  return { kernel, outer, inner: view.dims.at(-1)!, streams, sizes: [], scratchBytes, selected }
}

/** Joins adjacent axes that all streams traverse as one; the last `kept` axes stay separate. */
function joinedAxes({ dims, steps }: Axes, kept: number): Axes {
  const own = [...dims]
  const rows = steps.map((each) => [...each])
  for (let axis = own.length - 2; axis >= 0; axis--) {
    if (axis + 1 >= own.length - kept && kept > 0) continue
    const size = own[axis + 1]!
    const isOne = rows.every((each) => each[axis] === each[axis + 1]! * size)
    if (!isOne && own[axis] !== 1) continue
    own.splice(axis, 2, own[axis]! * size)
    for (const each of rows) each.splice(axis, 2, each[axis + 1]!)
  }
  return { dims: own, steps: rows }
}

const placeOf = ({ value, offset, index, scratch }: StreamDraft, steps: readonly number[]): StreamPlace => ({
  at: value === undefined ? { scratch: scratch ?? 0 } : { value, offset },
  steps: steps.slice(0, -1),
  inner: steps.at(-1)!,
  index: index && { step: index.step, size: index.size },
})

const streamOf = ({ value, kind, index }: StreamDraft, inner: number, isTile: boolean): Stream => ({
  mode: inner === 1 || isTile ? 'vector' : inner === 0 ? 'uniform' : 'strided',
  kind,
  ...(value?.isByte === true && { isByte: true }),
  index: index?.stream,
})
