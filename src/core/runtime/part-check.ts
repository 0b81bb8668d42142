// Maps the memory pages for saved state and computes its checksums, with all threads of a pool.

import { ABI, ROWS } from '../abi/constants.ts'
import { OPS } from '../abi/ops.ts'
import { checksumText } from '../base/sha256.ts'
import { type Arena, offset, type Ptr } from './memory/arena.ts'
import type { Pool } from './pool.ts'

/** A block or a slab. */
export interface Part {
  readonly address: Ptr
  /** A multiple of 64. */
  readonly bytes: number
}

/** Maximum parts in one call. */
export const MAX_PARTS = 32
/** Address, bytes, checksum, in words. */
const PART_WORDS = 6

/**
 * The work of reading stored state that all threads share. Mapping memory pages takes longest, then the
 * checksums.
 */
export class PartCheck {
  readonly #pool: Pool
  readonly #arena: Arena
  /** The op's record, followed by its list of parts. */
  readonly #record: Ptr

  /** Throws `out-of-memory`. */
  constructor(pool: Pool, arena: Arena) {
    this.#pool = pool
    this.#arena = arena
    this.#record = arena.allocate(ABI.OP_BYTES + MAX_PARTS * PART_WORDS * 4, 'restoring sessions')
  }

  /** Makes the system map the memory pages of the parts. Their contents are lost. */
  touch(parts: readonly Part[]): void {
    this.#run(parts, 1)
  }

  /** The same checksums as `checksum`. */
  sums(parts: readonly Part[]): string[] {
    const list = this.#run(parts, 0) / 4
    return parts.map((_, index) => {
      const at = list + index * PART_WORDS
      return checksumText([...this.#arena.u32.subarray(at + 2, at + PART_WORDS)])
    })
  }

  /** Returns the address of the list. */
  #run(parts: readonly Part[], touch: number): Ptr {
    const { u32 } = this.#arena
    const record = this.#record
    const list = offset(record, ABI.OP_BYTES)
    u32.set([OPS.check_parts.code, ROWS.tokens, list, parts.length, touch], record / 4)
    for (const [index, { address, bytes }] of parts.entries())
      u32.set([address, bytes], list / 4 + index * PART_WORDS)
    // The op does not read the step, so any address will do.
    this.#pool.run(record, record, 0, 1)
    return list
  }
}
