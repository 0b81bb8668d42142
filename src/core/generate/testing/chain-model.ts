// Chain model. In: sequences on a state cache. Out: steps whose state depends on every token so far, checked
// against plain arrays.
import { ABI } from '../../abi/constants.ts'
import { Arena } from '../../runtime/memory/arena.ts'
import type { TablePosition } from '../../state/block-pool.ts'
import type { SequenceState } from '../../state/sequence-state.ts'
import { StateCache, type StateCacheOptions } from '../../state/state-cache.ts'
import type { Sequence } from '../schedule/sequence.ts'

/** The kinds of state that a model may have. */
export interface Kinds {
  /** For each group of keys and values: the number of visible positions; 0: all. */
  readonly windows: readonly number[]
  /** Recurrent groups. */
  readonly slabs: number
}

export type Limits = Pick<
  StateCacheOptions,
  'contextLength' | 'budgetBytes' | 'retainBytes' | 'checkpointBytes'
>

/**
 * A position has two words: a hash of everything up to it, like a value, and the angle of its key's rotation.
 */
const WORDS = 2
export const BLOCK_BYTES = ABI.BLOCK_POSITIONS * WORDS * 4
/** One used word, followed by padding. */
export const SLAB_BYTES = 64

const mix = (hash: number, value: number): number => {
  let mixed = Math.imul(hash ^ (value + 1), 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

/** `isFixed`: its positions cannot be moved. */
export function chainCache({ windows, slabs }: Kinds, limits: Limits, isFixed = false): StateCache {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  const cache = new StateCache({
    ...limits,
    arena,
    windows,
    blockBytes: windows.map(() => BLOCK_BYTES),
    slabBytes: Array.from({ length: slabs }, () => SLAB_BYTES),
    isFixed,
    move: (group, from, to, count) => move(cache, group, from, to, count),
  })
  return cache
}

/** One list per group: the words to store at each position when `tokens` follow the stored tokens. */
export function chain(
  cache: StateCache,
  before: readonly (readonly number[])[],
  tokens: readonly number[],
): number[][] {
  return cache.pools.map((_, group) => {
    const words = [...(before[group] ?? [])]
    for (const id of tokens) words.push(mix(words.at(-1) ?? group, id))
    return words
  })
}

const wordAt = ({ arena }: StateCache, table: number, position: number): number =>
  arena.u32[table / 4 + Math.floor(position / ABI.BLOCK_POSITIONS)]! / 4 +
  (position % ABI.BLOCK_POSITIONS) * WORDS

/** Copies in ascending order, as the kernel does: a position may be read before it is overwritten. */
function move(cache: StateCache, group: number, from: TablePosition, to: TablePosition, count: number): void {
  const { arena, pools } = cache
  for (let index = 0; index < count; index++) {
    const target = to.position + index
    const block = arena.u32[to.table / 4 + Math.floor(target / ABI.BLOCK_POSITIONS)]!
    if (pools[group]!.references(block as never) !== 1) throw new Error('a shared block was written to')
    const source = wordAt(cache, from.table, from.position + index)
    const word = wordAt(cache, to.table, target)
    arena.u32[word] = arena.u32[source]!
    arena.u32[word + 1] = arena.u32[source + 1]! + to.position - from.position
  }
}

/** Processes the next `rows` tokens. New values depend on old ones, so a wrong block propagates. */
export function runRows(
  cache: StateCache,
  sequence: Sequence,
  rows: number,
  drafts: readonly number[] = [],
): void {
  sequence.makePlace(rows)
  const { state } = sequence
  state.reserve(rows)
  const { u32 } = cache.arena
  const ids = [...sequence.tokens.slice(state.length), ...drafts].slice(0, rows)
  for (const [index, id] of ids.entries()) {
    const position = state.length + index
    for (const group of cache.pools.keys()) {
      const table = state.table(group)
      if (group >= cache.windows.length) {
        u32[table / 4] = mix(position === 0 ? group + u32[table / 4]! : u32[table / 4]!, id)
      } else {
        const before = position === 0 ? group : u32[wordAt(cache, table, position - 1)]!
        u32[wordAt(cache, table, position)] = mix(before, id)
        u32[wordAt(cache, table, position) + 1] = position
      }
    }
  }
  state.advance(rows)
}

/** Differences between the stored values and the lists in `words`; only stored positions count. */
export function faults(
  cache: StateCache,
  state: SequenceState,
  words: readonly (readonly number[])[],
): string[] {
  const found: string[] = []
  const length = state.length
  const { u32 } = cache.arena
  for (const group of cache.pools.keys()) {
    const expected = words[group]!
    const table = state.table(group)
    if (group >= cache.windows.length) {
      if (length > 0 && u32[table / 4] !== expected[length - 1]) found.push(`slab ${group} at ${length}`)
      continue
    }
    const window = cache.windows[group]!
    for (let at = window === 0 ? 0 : Math.max(0, length - window + 1); at < length; at++) {
      const word = wordAt(cache, table, at)
      if (u32[word] !== expected[at]) found.push(`value of group ${group} at ${at} of ${length}`)
      if (u32[word + 1] !== at) found.push(`key of group ${group} at ${at} of ${length}`)
    }
  }
  return found
}

/** Nonzero words after the stored positions of the last blocks. */
export function leftovers(cache: StateCache, state: SequenceState): string[] {
  const found: string[] = []
  const end = Math.ceil(state.length / ABI.BLOCK_POSITIONS) * ABI.BLOCK_POSITIONS
  for (const group of cache.windows.keys()) {
    for (let at = state.length; at < end; at++) {
      const word = wordAt(cache, state.table(group), at)
      if (cache.arena.u32[word] !== 0 || cache.arena.u32[word + 1] !== 0)
        found.push(`group ${group} at ${at}`)
    }
  }
  return found
}
