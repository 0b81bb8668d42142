// The blocks of one sequence in one state group, in order of position.
import { ABI } from '../abi/constants.ts'
import { HalfbyteError } from '../base/errors.ts'
import type { Arena, Ptr } from '../runtime/memory/arena.ts'
import type { BlockPool } from './block-pool.ts'

/** The error for a context that is too short, with both numbers. */
export const overflow = (needed: number, contextLength: number): HalfbyteError =>
  new HalfbyteError(
    'context-overflow',
    `the text needs ${needed} tokens but the context has room for ${contextLength}; raise contextLength or shorten the text`,
    { needed, contextLength },
  )

const { BLOCK_POSITIONS } = ABI

/**
 * Holds one reference to each of its blocks. A block with another holder must be replaced before anyone
 * writes to it.
 */
export class BlockTable {
  readonly pool: BlockPool
  /** The same addresses in linear memory: u32 per block. */
  readonly address: Ptr
  readonly #arena: Arena
  readonly #blocks: (Ptr | undefined)[] = []
  #first = 0
  #validFrom = 0

  constructor(arena: Arena, pool: BlockPool, address: Ptr) {
    this.#arena = arena
    this.pool = pool
    this.address = address
  }

  /** Index of the first held block. A window drops the blocks before it. */
  get first(): number {
    return this.#first
  }

  /** The first held position. In the first block, the positions before it are undefined. */
  get validFrom(): number {
    return this.#validFrom
  }

  /** Index after the last block. */
  get end(): number {
    return this.#blocks.length
  }

  at(index: number): Ptr | undefined {
    return this.#blocks[index]
  }

  /**
   * How many blocks in [first, end) must be taken before writing there: missing ones, and those with another
   * holder.
   */
  missing(first: number, end: number): number {
    let missing = 0
    for (let index = first; index < end; index++) if (!this.#isOwn(index)) missing++
    return missing
  }

  /**
   * Takes the missing blocks. The first `stored` blocks keep their contents. Releases replaced blocks, or
   * adds them to `replaced` if given.
   */
  fill(first: number, end: number, stored: number, replaced?: Ptr[]): void {
    for (let index = first; index < end; index++) {
      if (!this.#isOwn(index)) this.#own(index, index < stored, replaced)
    }
  }

  /** Appends a shared block, or replaces the one at `index`. */
  share(index: number, block: Ptr): void {
    const old = this.#blocks[index]
    this.pool.share(block)
    this.#place(index, block)
    if (old !== undefined) this.pool.drop(old)
  }

  /** Marks the positions before `position` as dropped. Only for a table without blocks. */
  startAt(position: number): void {
    this.#validFrom = position
    this.#first = Math.floor(position / BLOCK_POSITIONS)
    this.#blocks.length = this.#first
  }

  /** Shares another table's blocks up to `end`. Only for a table without blocks. */
  follow(other: BlockTable, end: number): void {
    this.startAt(other.validFrom)
    for (let index = other.first; index < end; index++) this.share(index, other.at(index)!)
  }

  /** Marks the positions from `position` on as held, if the first held position was later. */
  reachBack(position: number): void {
    if (position >= this.#validFrom) return
    this.#validFrom = position
    this.#first = Math.floor(position / BLOCK_POSITIONS)
  }

  /** Releases the blocks before `first`. */
  leave(first: number): void {
    this.#validFrom = Math.max(this.#validFrom, first * BLOCK_POSITIONS)
    for (; this.#first < first; this.#first++) {
      const block = this.#blocks[this.#first]
      if (block !== undefined) this.pool.drop(block)
      this.#blocks[this.#first] = undefined
    }
  }

  /** Releases the blocks from `end` on. */
  trim(end: number): void {
    while (this.#blocks.length > end) {
      const block = this.#blocks.pop()
      if (block !== undefined) this.pool.drop(block)
    }
    if (end > this.#first) return
    this.#first = end
    this.#validFrom = end * BLOCK_POSITIONS
  }

  #isOwn(index: number): boolean {
    const block = this.#blocks[index]
    return block !== undefined && this.pool.references(block) === 1
  }

  #own(index: number, keepsContent: boolean, replaced: Ptr[] | undefined): void {
    const shared = this.#blocks[index]
    const own = this.pool.take()
    if (shared !== undefined) {
      if (keepsContent) this.pool.copy(shared, own)
      if (replaced === undefined) this.pool.drop(shared)
      else replaced.push(shared)
    }
    this.#place(index, own)
  }

  #place(index: number, block: Ptr): void {
    this.#blocks[index] = block
    this.#arena.u32[this.address / 4 + index] = block
  }
}
