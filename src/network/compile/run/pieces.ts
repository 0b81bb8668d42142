// An allocator for the memory below the arena.
import { ARENA_ALIGNMENT, arenaAligned } from '../../../core/graph/plan/arena.ts'

interface Gap {
  readonly at: number
  readonly end: number
}

export class Pieces {
  /** The end of the last piece. */
  top: number
  /** Sorted by address. None ends at the top, and no two are adjacent. */
  #gaps: Gap[] = []
  readonly #ends = new Map<number, number>()

  constructor(top: number) {
    this.top = arenaAligned(top)
  }

  /** Allocates this many bytes plus padding, because the last vector of a row may read past its end. */
  take(bytes: number): number {
    const size = arenaAligned(bytes + ARENA_ALIGNMENT)
    const index = this.#gaps.findIndex(({ at, end }) => end - at >= size)
    const gap = this.#gaps[index]
    const at = gap?.at ?? this.top
    if (gap === undefined) this.top = at + size
    else this.#gaps.splice(index, 1, ...(at + size < gap.end ? [{ at: at + size, end: gap.end }] : []))
    this.#ends.set(at, at + size)
    return at
  }

  /** `at`: what `take` returned. */
  give(at: number): void {
    const given = { at, end: this.#ends.get(at)! }
    this.#ends.delete(at)
    const before = this.#gaps.filter(({ end }) => end < given.at)
    const after = this.#gaps.filter((gap) => gap.at > given.end)
    const near = this.#gaps.filter((gap) => gap.end >= given.at && gap.at <= given.end)
    const joined = {
      at: Math.min(given.at, ...near.map((gap) => gap.at)),
      end: Math.max(given.end, ...near.map(({ end }) => end)),
    }
    if (joined.end === this.top) this.top = joined.at
    this.#gaps = joined.at === this.top ? before : [...before, joined, ...after]
  }
}
