// The baseline: a cache that keeps one sequence's state in one region and grows by copying it.
import { ABI } from '../../../src/core/abi/constants.ts'
import { type Arena, offset, type Ptr } from '../../../src/core/runtime/memory/arena.ts'

/**
 * Implements the part of a sequence's state that the step buffer needs. Every 64 positions, the whole state
 * moves to a larger region.
 */
export class ContiguousState {
  length = 0
  readonly #arena: Arena
  readonly #blockBytes: readonly number[]
  readonly #tables: Ptr
  readonly #words: number
  #regions: Ptr[] = []
  #blocks = 0

  constructor(arena: Arena, blockBytes: readonly number[], contextLength: number) {
    this.#arena = arena
    this.#blockBytes = blockBytes
    this.#words = Math.ceil(contextLength / ABI.BLOCK_POSITIONS)
    this.#tables = arena.allocate(blockBytes.length * this.#words * 4, 'the tables')
  }

  table(group: number): Ptr {
    return offset(this.#tables, group * this.#words * 4)
  }

  reserve(rows: number): void {
    const blocks = Math.ceil((this.length + rows) / ABI.BLOCK_POSITIONS)
    if (blocks <= this.#blocks) return
    for (const [group, bytes] of this.#blockBytes.entries()) {
      const region = this.#arena.allocate(blocks * bytes, 'the state')
      const old = this.#regions[group]
      if (old !== undefined) this.#arena.u8.copyWithin(region, old, old + this.#blocks * bytes)
      this.#regions[group] = region
      const table = this.table(group) / 4
      for (let block = 0; block < blocks; block++) this.#arena.u32[table + block] = region + block * bytes
    }
    this.#blocks = blocks
  }

  advance(rows: number): void {
    this.length += rows
  }

  release(): void {
    this.#regions = []
  }
}
