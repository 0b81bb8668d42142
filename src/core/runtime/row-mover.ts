// Moves stored rows into panels on all threads of a pool. In: sources of rows. Out: panels in linear memory.
import { ABI, STORED_TYPE } from '../abi/constants.ts'
import { ENCODINGS, type Encoding } from '../abi/encodings.ts'
import { readInto } from '../base/bytes.ts'
import type { DType } from '../formats/tensors.ts'
import { PIECE_BYTES, sumWith } from '../store/device/sums.ts'
import type { MovedRows, RowMover } from '../weights/part.ts'
import { type Arena, offset, type Ptr } from './memory/arena.ts'
import type { EngineExports } from './module.ts'
import { hasFault, RECORD_BYTES, repackRecord } from './place-pieces.ts'
import type { Pool } from './pool.ts'

/** The types that wasm/weights/repack.c reads, and the encodings that it makes of each. */
const TYPES: ReadonlyMap<DType, readonly [type: number, ...encodings: readonly Encoding[]]> = new Map([
  ['Q4_0', [STORED_TYPE.Q4_0, 'w4_g32', 'w4m_g32', 'w8_g32']],
  ['Q4_1', [STORED_TYPE.Q4_1, 'w4m_g32']],
  ['Q4_K', [STORED_TYPE.Q4_K, 'w4m_g32']],
  ['Q5_0', [STORED_TYPE.Q5_0, 'w8_g32']],
  ['Q8_0', [STORED_TYPE.Q8_0, 'w8_g32']],
  ['Q5_K', [STORED_TYPE.Q5_K, 'w8_g32']],
  ['Q6_K', [STORED_TYPE.Q6_K, 'w8_g32']],
])

/** The type's number for `repack`; undefined if it cannot make this encoding of it. */
export function storedType(dtype: DType, encoding: Encoding): number | undefined {
  const found = TYPES.get(dtype)
  return found?.includes(encoding) === true ? found[0] : undefined
}

/** Stored bytes of one call. Two such buffers stay in a core's cache between reading and moving. */
const STAGE_BYTES = 1 << 20

export interface MoverOptions {
  readonly arena: Arena
  readonly engine: EngineExports
  /** Its threads help. Default: none. */
  readonly pool?: Pool | undefined
  /** Resolves in a new task. */
  readonly yieldTask: () => Promise<void>
}

interface Pending {
  readonly record: Ptr
  readonly stored: Uint8Array
  readonly pack: MovedRows['pack']
}

/**
 * The mover's buffers, and one for bytes of stored files that are only summed, take the free end of the
 * memory as it is, until `close`. Undefined if there is not enough. Nothing may be allocated in between.
 */
export function openMover(options: MoverOptions): (RowMover & { close(): void }) | undefined {
  const { arena, engine } = options
  const mark = arena.mark()
  const staged = 2 * (STAGE_BYTES + RECORD_BYTES)
  const bytes = staged + PIECE_BYTES
  if (mark + bytes > arena.memoryBytes) return undefined
  const start = arena.allocate(bytes, 'the rows that are read')
  const { memory } = arena
  sumWith({ sum: engine.adler, spare: arena.u8.subarray(start + staged, start + bytes) }, memory)
  return Object.assign(new StagedMover(options, start), {
    close() {
      sumWith(undefined, memory)
      // Later regions must be zero if their memory looks unused.
      arena.u8.fill(0, mark, mark + bytes)
      arena.reset(mark)
    },
  })
}

/** While the rows in one buffer are moved, the next ones are read into the other. */
class StagedMover implements RowMover {
  readonly bytes = STAGE_BYTES
  readonly #options: MoverOptions
  readonly #buffers: Ptr
  #pool: Pool | undefined
  #turn = 0
  #pending: Pending | undefined

  constructor(options: MoverOptions, buffers: Ptr) {
    this.#options = options
    this.#buffers = buffers
    this.#pool = options.pool
  }

  can(dtype: DType, encoding: Encoding): boolean {
    return storedType(dtype, encoding) !== undefined
  }

  async move(rows: MovedRows, signal?: AbortSignal): Promise<void> {
    const { arena, yieldTask } = this.#options
    const stage = offset(this.#buffers, this.#turn * STAGE_BYTES)
    const record = offset(this.#buffers, 2 * STAGE_BYTES + this.#turn * RECORD_BYTES)
    this.#turn = 1 - this.#turn
    const stored = arena.u8.subarray(stage, stage + rows.length)
    const reading = readInto(rows.source, stored, rows.offset, signal)
    reading.catch(() => undefined)
    try {
      // A stored file is read within this task, and the threads move the rows before meanwhile. Other sources
      // may take longer than the threads wait.
      await Promise.race([reading, yieldTask()])
    } finally {
      this.settle()
    }
    await reading
    this.#write(record, stage, rows)
    this.#pending = { record, stored, pack: rows.pack }
    this.#attempt((pool) => pool.begin?.(record, record, 0, 1))
  }

  settle(): void {
    const pending = this.#pending
    if (pending === undefined) return
    this.#pending = undefined
    const { record, stored, pack } = pending
    const { arena, engine } = this.#options
    this.#attempt((pool) => pool.run(record, record, 0, 1))
    // The op reads no step, and one thread needs no sync block. Rows may be moved twice.
    if (this.#pool === undefined) engine.run(0, record, record, 0, 1, 0, 1)
    if (hasFault(arena.u32, record)) pack(stored.slice())
  }

  /** If a thread dies, this one moves the rows alone, and the pool's owner finds out. */
  #attempt(work: (pool: Pool) => void): void {
    if (this.#pool === undefined) return
    try {
      work(this.#pool)
    } catch {
      this.#pool = undefined
    }
  }

  #write(record: Ptr, stage: Ptr, { dtype, encoding, k, rows, target }: MovedRows): void {
    const type = storedType(dtype, encoding) ?? 0
    const panels = { k, panels: rows / ABI.PANEL, type, encoding: ENCODINGS[encoding].code }
    repackRecord(this.#options.arena.u32, record, stage, { ...panels, target: target.byteOffset })
  }
}
