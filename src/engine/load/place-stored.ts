// Places the weights of files on this device with all threads at once, each of which reads, sums and moves
// pieces by itself. Meanwhile the first thread builds the tokenizer. In: a plan's slots and their addresses.
// Out: whether every weight is in its place and every chunk matched its sum.
import {
  ENCODINGS,
  type Encoding,
  isSparse,
  matrixBytes,
  PANEL_ROWS,
  panelBytes,
  ROW_PADDING,
} from '../../core/abi/encodings.ts'
import { type Weights, weightOf } from '../../core/arch/tensors/names.ts'
import { type ByteSource, filledSource, type SharedFile } from '../../core/base/bytes.ts'
import { rowBytes } from '../../core/formats/dtypes.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import type { WeightSlot } from '../../core/graph/plan/plan.ts'
import type { Arena, Ptr } from '../../core/runtime/memory/arena.ts'
import type { EngineExports } from '../../core/runtime/module.ts'
import {
  CONTROL,
  COPIED,
  type Piece,
  type PlaceRequest,
  placeNext,
  RECORD_BYTES,
  RESULT,
  STAGE_BYTES,
  STATE,
  tableOf,
} from '../../core/runtime/place-pieces.ts'
import { storedType } from '../../core/runtime/row-mover.ts'
import { STACK_BYTES } from '../../core/runtime/shared.ts'
import { ChunkSums } from '../../core/store/device/chunk-sums.ts'
import { CHUNK_BYTES } from '../../core/store/device/sums.ts'
import { checkMatrix, type StreamPart } from '../../core/weights/part.ts'

/** Bytes of a piece that is only copied. */
const COPY_BYTES = 1 << 20
/** Pieces that this thread places before it lets messages be handled: about a millisecond of work. */
const PIECES_PER_TASK = 4
/** The buffer of a thread, and its stack, which its pool allocates. */
const THREAD_BYTES = RECORD_BYTES + STAGE_BYTES + STACK_BYTES
/** Everything else that is allocated before the weights are in their places. */
const OTHER_BYTES = 64 << 10
/** How long to wait for other threads, each of which is placing one piece. */
const LEAVE_TIMEOUT_MS = 15_000

interface OpenFile {
  readonly source: ByteSource
  readonly shared: SharedFile
  readonly sums: ChunkSums
}

interface Machine {
  readonly arena: Arena
  readonly engine: EngineExports
}

interface Work {
  readonly files: readonly OpenFile[]
  readonly pieces: readonly Piece[]
  /** Slots that the first thread fills alone, because `repack` does not know their types. */
  readonly others: readonly number[]
}

interface FinishOptions {
  readonly signal?: AbortSignal | undefined
  readonly yieldTask: () => Promise<void>
  /** Fills a slot from tensors whose bytes are compared later. */
  readonly fill: (slot: number, tensorOf: (tensor: TensorInfo) => TensorInfo) => Promise<void>
  /** Whether another thread has died. */
  readonly hasDied: () => boolean
  /** Called with the share of the pieces that threads have taken. */
  readonly onShare?: ((share: number) => void) | undefined
}

/** The work of all threads on the weights of one model. */
export class StoredPlacing {
  readonly #machine: Machine
  readonly #work: Work
  readonly #table: Float64Array
  /** Never freed, because a thread may start after the others have finished. */
  readonly #control: Ptr
  #buffers: { readonly mark: Ptr; readonly results: Ptr } | undefined

  private constructor(machine: Machine, work: Work) {
    this.#machine = machine
    this.#work = work
    this.#table = tableOf(work.pieces)
    this.#control = machine.arena.allocate(CONTROL.words * 4, 'the weights that threads place')
  }

  /**
   * Undefined if no weight is in a file that other threads can open, or if the memory has no room for the
   * buffers of `threads`. Throws `architecture` or `format` for a tensor of the wrong shape or size.
   */
  static plan(
    weights: Weights,
    slots: readonly WeightSlot[],
    addresses: readonly Ptr[],
    machine: Machine,
    threads: number,
  ): StoredPlacing | undefined {
    const work = workOf(weights, slots, addresses)
    const { arena } = machine
    const bytes = work.pieces.length * RESULT.words * 4 + threads * THREAD_BYTES + OTHER_BYTES
    if (work.pieces.length === 0 || arena.mark() + bytes > arena.memoryBytes) return undefined
    return new StoredPlacing(machine, work)
  }

  /** What one thread needs. Allocates its buffer, which `finish` frees. */
  request(): PlaceRequest {
    const { arena } = this.#machine
    this.#buffers ??= {
      mark: arena.mark(),
      results: arena.allocate(this.#work.pieces.length * RESULT.words * 4, 'the state of pieces'),
    }
    return {
      pieces: this.#table,
      files: this.#work.files.map(({ shared: { entry, sums } }) => ({ entry, isSummed: sums.length > 0 })),
      control: this.#control,
      results: this.#buffers.results,
      stage: arena.allocate(RECORD_BYTES + STAGE_BYTES, 'the rows that are read'),
    }
  }

  /**
   * Takes part until everything is placed. False if a piece could not be placed or a chunk differs from its
   * sum: then the weights must be read again in the usual way, which finds out why. Throws the signal's
   * reason.
   */
  async finish(options: FinishOptions): Promise<boolean> {
    const { signal } = options
    const request = this.request()
    let isPlaced = false
    try {
      await this.#fillOthers(options)
      await this.#placePieces(request, options)
      isPlaced = true
    } catch (error) {
      // The reason may be a chunk that differs from its sum.
      if (signal?.aborted === true) throw error
    } finally {
      // Threads that still place pieces stop.
      Atomics.store(this.#words(), this.#control / 4 + CONTROL.next, this.#work.pieces.length)
    }
    const haveLeft = await this.#othersLeave(options)
    const isRight = isPlaced && haveLeft && this.#areRight()
    // A thread that has not left may still write to its buffer.
    if (haveLeft) this.#free()
    return isRight
  }

  #words(): Int32Array {
    return new Int32Array(this.#machine.arena.memory.buffer)
  }

  async #fillOthers({ fill, yieldTask, signal }: FinishOptions): Promise<void> {
    const { files, others } = this.#work
    const uncompared = new Map(files.map((file) => [file.source, uncomparedSource(file)]))
    for (const slot of others) {
      await fill(slot, (tensor) => ({ ...tensor, source: uncompared.get(tensor.source) ?? tensor.source }))
      await yieldTask()
      signal?.throwIfAborted()
    }
  }

  async #placePieces(
    request: PlaceRequest,
    { yieldTask, signal, onShare }: Pick<FinishOptions, 'yieldTask' | 'signal' | 'onShare'>,
  ): Promise<void> {
    const { arena, engine } = this.#machine
    const { files, pieces } = this.#work
    const readers = files.map(({ shared: { read, sums } }) => ({ read, isSummed: sums.length > 0 }))
    for (let count = 1; placeNext(engine, arena.memory, request, readers); count++) {
      if (count % PIECES_PER_TASK !== 0) continue
      await yieldTask()
      signal?.throwIfAborted()
      const taken = Atomics.load(this.#words(), this.#control / 4 + CONTROL.next)
      onShare?.(Math.min(1, taken / pieces.length))
    }
  }

  /** False if a thread has died or does not answer. */
  async #othersLeave({ yieldTask, hasDied }: Pick<FinishOptions, 'yieldTask' | 'hasDied'>): Promise<boolean> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
    }, LEAVE_TIMEOUT_MS)
    try {
      const words = this.#words()
      const at = this.#control / 4
      while (Atomics.load(words, at + CONTROL.entered) !== Atomics.load(words, at + CONTROL.left)) {
        if (isLate || hasDied()) return false
        await yieldTask()
      }
      return !hasDied()
    } finally {
      clearTimeout(timer)
    }
  }

  /** Whether all pieces were placed, and all chunks that were read match their sums. */
  #areRight(): boolean {
    const { files, pieces } = this.#work
    const words = this.#words()
    for (const [index, { file, offset, length }] of pieces.entries()) {
      const result = this.#buffers!.results / 4 + index * RESULT.words
      if (words[result + RESULT.state] !== STATE.placed) return false
      const { sums } = files[file] as OpenFile
      const chunk = Math.floor(offset / CHUNK_BYTES)
      const from = offset % CHUNK_BYTES
      const end = Math.min(from + length, CHUNK_BYTES)
      sums.add(chunk, from, end, words[result + RESULT.first]! >>> 0)
      const rest = from + length - end
      if (rest > 0) sums.add(chunk + 1, 0, rest, words[result + RESULT.second]! >>> 0)
    }
    try {
      return files.every(({ sums, shared: { isRight, read } }) => sums.areRight(isRight, read))
    } catch {
      return false
    }
  }

  #free(): void {
    const { arena } = this.#machine
    const { mark } = this.#buffers as { readonly mark: Ptr }
    // Later regions must be zero if their memory looks unused.
    arena.u8.fill(0, mark, arena.mark())
    arena.reset(mark)
  }
}

/** Reads bytes without comparing them, and notes their sums. */
function uncomparedSource({ source: { name, size }, shared, sums }: OpenFile): ByteSource {
  return filledSource(name, size, (target, offset) => {
    shared.read(target, offset)
    if (shared.sums.length > 0) sums.addBytes(offset, target)
  })
}

/** Which thread fills what: pieces in the order of the files, and the slots that are left. */
function workOf(weights: Weights, slots: readonly WeightSlot[], addresses: readonly Ptr[]): Work {
  const files: OpenFile[] = []
  const fileOf = (source: ByteSource): number | undefined => {
    const known = files.findIndex((file) => file.source === source)
    if (known >= 0) return known
    const { shared, isRenewed, size } = source
    if (shared === undefined || isRenewed === true) return undefined
    return files.push({ source, shared, sums: new ChunkSums(size, shared.sums) }) - 1
  }
  const pieces: Piece[] = []
  const others: number[] = []
  for (const [index, slot] of slots.entries()) {
    const own = slotPieces(slot, addresses[index] as Ptr, weights, fileOf)
    if (own === undefined) others.push(index)
    else pieces.push(...own)
  }
  pieces.sort((left, right) => left.file - right.file || left.offset - right.offset)
  return { files, pieces, others }
}

/** Undefined if a part of the slot cannot be placed in pieces. */
function slotPieces(
  { ref, encoding }: WeightSlot,
  address: Ptr,
  weights: Weights,
  fileOf: (source: ByteSource) => number | undefined,
): Piece[] | undefined {
  const parts = ref.parts.map(({ name, n }) => ({ tensor: weightOf(weights, name), n }))
  // Vectors are small, but their files are known from here on.
  const files = parts.map(({ tensor: { source } }) => fileOf(source))
  if (ref.kind === 'vector' || isSparse(encoding)) return undefined
  const pieces: Piece[] = []
  let target: number = address
  for (const [index, part] of parts.entries()) {
    checkMatrix(part, ref.k)
    const file = files[index]
    if (file === undefined) return undefined
    const own = partPieces(part, ref.k, encoding, { file, target })
    if (own === undefined) return undefined
    pieces.push(...own)
    target += matrixBytes(encoding, part.n, ref.k)
  }
  return pieces
}

function partPieces(
  { tensor: { dtype, packed, change, offset, byteLength }, n }: StreamPart,
  k: number,
  encoding: Encoding,
  { file, target }: Pick<Piece, 'file' | 'target'>,
): Piece[] | undefined {
  const { code } = ENCODINGS[encoding]
  if (packed === encoding) {
    return ranges(byteLength, COPY_BYTES).map(([at, length]) => {
      const place = { file, offset: offset + at, length, target: target + at }
      return { ...place, type: COPIED, k: 0, panels: 0, encoding: code }
    })
  }
  const type = packed === undefined && change === undefined ? storedType(dtype, encoding) : undefined
  const stored = PANEL_ROWS * rowBytes(dtype, k)
  const most = Math.floor(STAGE_BYTES / stored)
  if (type === undefined || most === 0 || n % ROW_PADDING !== 0) return undefined
  const panel = panelBytes(encoding, k)
  return ranges(n / PANEL_ROWS, most).map(([at, panels]) => {
    const place = { file, offset: offset + at * stored, length: panels * stored, target: target + at * panel }
    return { ...place, type, k, panels, encoding: code }
  })
}

/** Divides [0, count) into ranges of at most `most`. */
function ranges(count: number, most: number): (readonly [at: number, length: number])[] {
  return Array.from({ length: Math.ceil(count / most) }, (_, index) => {
    const at = index * most
    return [at, Math.min(most, count - at)] as const
  })
}
