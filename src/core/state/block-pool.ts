// A pool of blocks of linear memory with reference counts. It grows by extents.
import { HalfbyteError } from '../base/errors.ts'
import { type Arena, offset, type Ptr } from '../runtime/memory/arena.ts'

/**
 * The start of a run of positions: the address of its block table (u32 per 64 positions) and its first
 * position.
 */
export interface TablePosition {
  readonly table: Ptr
  readonly position: number
}

/**
 * Moves `count` positions of one group, in all its layers: keys become what they would be at the new
 * position, values are unchanged. Positions move down, or to the same position in other blocks. Each block of
 * `to` has one holder. Blocks of `from` are only read, unless they are also blocks of `to`.
 */
export type MovePositions = (group: number, from: TablePosition, to: TablePosition, count: number) => void

/**
 * Is notified of every change to blocks that have further parts in other memories, and can join the parts.
 */
export interface BlockMirror {
  copy(group: number, from: Ptr, to: Ptr): void
  clear(group: number, block: Ptr): void
  /** Size of a block including all its parts, per group. */
  readonly wholeBytes: readonly number[]
  /** A block including all its parts, as when one memory holds the whole model. */
  gather(group: number, block: Ptr): Promise<Uint8Array<ArrayBuffer>>
  scatter(group: number, block: Ptr, whole: Uint8Array): Promise<void>
}

/**
 * Blocks of one size. The pool manages bytes; their meaning is up to the owner: keys and values of 64
 * positions in some encoding, or a sequence's recurrent state. Extents are never moved or freed.
 */
export class BlockPool {
  readonly blockBytes: number
  readonly #arena: Arena
  readonly #group: number
  readonly #mirror: BlockMirror | undefined
  readonly #free: Ptr[] = []
  /** Number of holders of each live block. */
  readonly #references = new Map<Ptr, number>()

  /** `group`: the index of this pool, for the mirror. */
  constructor(arena: Arena, blockBytes: number, group = 0, mirror?: BlockMirror) {
    this.#arena = arena
    this.#group = group
    this.#mirror = mirror
    this.blockBytes = blockBytes
  }

  /** Number of blocks that `take` can return without growing. */
  get available(): number {
    return this.#free.length
  }

  /** Number of blocks that have a holder. */
  get live(): number {
    return this.#references.size
  }

  get capacityBytes(): number {
    return (this.available + this.live) * this.blockBytes
  }

  /** Adds the `blocks` blocks that begin at `extent`. */
  add(extent: Ptr, blocks: number): void {
    for (let block = blocks - 1; block >= 0; block--) this.#free.push(offset(extent, block * this.blockBytes))
  }

  /** Returns a block owned only by the caller. Its contents are stale. */
  take(): Ptr {
    const block = this.#free.pop()
    if (block === undefined) throw new HalfbyteError('internal', 'a block was taken from an empty pool')
    this.#references.set(block, 1)
    return block
  }

  /** Number of holders of a live block. With more than one, it must not be written. */
  references(block: Ptr): number {
    const count = this.#references.get(block)
    if (count === undefined) throw new HalfbyteError('internal', `block ${block} is not live`)
    return count
  }

  share(block: Ptr): void {
    this.#references.set(block, this.references(block) + 1)
  }

  drop(block: Ptr): void {
    const count = this.references(block) - 1
    if (count > 0) {
      this.#references.set(block, count)
      return
    }
    this.#references.delete(block)
    this.#free.push(block)
  }

  /** Fills a block with zeros. */
  clear(block: Ptr): void {
    this.#arena.u8.fill(0, block, block + this.blockBytes)
    this.#mirror?.clear(this.#group, block)
  }

  /** Copies one block's bytes over another's. */
  copy(from: Ptr, to: Ptr): void {
    this.#arena.u8.copyWithin(to, from, from + this.blockBytes)
    this.#mirror?.copy(this.#group, from, to)
  }
}
