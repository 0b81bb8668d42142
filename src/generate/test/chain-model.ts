// Chain model. In: sequences on a state cache. Out: steps whose state depends on every token so far, and its check by plain arrays.
import { ABI } from '../../runtime/abi.ts'
import { Arena } from '../../runtime/arena.ts'
import type { SequenceState } from '../../state/sequence-state.ts'
import { StateCache, type StateCacheOptions } from '../../state/state-cache.ts'
import type { Sequence } from '../sequence.ts'

/** Kinds of state that a model may have. */
export interface Kinds {
  /** Positions that each group of keys and values sees; 0: all. */
  readonly windows: readonly number[]
  /** Recurrent groups. */
  readonly slabs: number
}

export type Limits = Pick<
  StateCacheOptions,
  'contextLength' | 'budgetBytes' | 'retainBytes' | 'checkpointBytes'
>

/** Bytes of one block of any group: a word per position. */
export const BLOCK_BYTES = ABI.BLOCK_POSITIONS * 4
/** Bytes of one slab: a word of use, the rest padding. */
export const SLAB_BYTES = 64

const mix = (hash: number, value: number): number => {
  let mixed = Math.imul(hash ^ (value + 1), 0x9e3779b1)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return (mixed ^ (mixed >>> 13)) >>> 0
}

export function chainCache({ windows, slabs }: Kinds, limits: Limits): StateCache {
  const arena = new Arena(new WebAssembly.Memory({ initial: 1 }), 64)
  return new StateCache({
    ...limits,
    arena,
    windows,
    blockBytes: windows.map(() => BLOCK_BYTES),
    slabBytes: Array.from({ length: slabs }, () => SLAB_BYTES),
  })
}

/** What must be stored at each position of `tokens` in a group: a hash of everything up to there. */
export function chain(tokens: readonly number[], group: number): number[] {
  let hash = group
  return tokens.map((id) => {
    hash = mix(hash, id)
    return hash
  })
}

const wordOf = ({ arena }: StateCache, state: SequenceState, group: number, position: number): number =>
  arena.u32[state.table(group) / 4 + Math.floor(position / ABI.BLOCK_POSITIONS)]! / 4 +
  (position % ABI.BLOCK_POSITIONS)

/** Runs the next `rows` tokens: what was there before decides what is written, so a wrong block spreads. */
export function runRows(
  cache: StateCache,
  sequence: Sequence,
  rows: number,
  drafts: readonly number[] = [],
): void {
  const { state } = sequence
  state.reserve(rows)
  const { u32 } = cache.arena
  const ids = [...sequence.tokens.slice(state.length), ...drafts].slice(0, rows)
  for (const [index, id] of ids.entries()) {
    const position = state.length + index
    for (const group of cache.pools.keys()) {
      if (group >= cache.windows.length) {
        const slab = state.table(group) / 4
        u32[slab] = mix(position === 0 ? group + u32[slab]! : u32[slab]!, id)
      } else {
        const before = position === 0 ? group : u32[wordOf(cache, state, group, position - 1)]!
        u32[wordOf(cache, state, group, position)] = mix(before, id)
      }
    }
  }
  state.advance(rows)
}

/** Differences between what is stored of `tokens` and what must be; empty when all is well. */
export function faults(cache: StateCache, state: SequenceState, tokens: readonly number[]): string[] {
  const found: string[] = []
  const length = state.length
  const { u32 } = cache.arena
  for (const group of cache.pools.keys()) {
    const expected = chain(tokens.slice(0, length), group)
    if (group >= cache.windows.length) {
      if (length > 0 && u32[state.table(group) / 4] !== expected.at(-1))
        found.push(`slab ${group} at ${length}`)
      continue
    }
    const window = cache.windows[group]!
    for (let at = window === 0 ? 0 : Math.max(0, length - window + 1); at < length; at++) {
      if (u32[wordOf(cache, state, group, at)] !== expected[at])
        found.push(`group ${group} at ${at} of ${length}`)
    }
  }
  return found
}
