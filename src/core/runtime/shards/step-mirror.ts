// Serialises a step in one memory into the words of a message, and writes these words as a step into another
// memory.
//
//   words   first, last, tokens, sequences, logit rows | ids | sequence of each | positions | logit rows |
//           per sequence: row0, rows, position, then for each state group the blocks
//           up to its last row, then its slab

import { ABI, SEQUENCE, SEQUENCE_WORDS, STEP } from '../../abi/constants.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import type { Arena, Ptr } from '../memory/arena.ts'
import { type StepCapacity, StepDescriptor } from '../step-descriptor.ts'
import type { ShardLayout } from './shard-messages.ts'

const HEAD_WORDS = 5
const { BLOCK_POSITIONS } = ABI

const blocksOf = (position: number, rows: number): number => Math.ceil((position + rows) / BLOCK_POSITIONS)

/**
 * Tables of each sequence: one per group of keys and values, then the slab of recurrent layers in place of a
 * table.
 */
interface StateTables {
  readonly groups: number
  readonly slabs: number
}
export const stateTables = ({ stateGroups: { length: groups }, pools }: Plan): StateTables => ({
  groups,
  slabs: pools.length - groups,
})

/** Serialises the step at `step` and the range of records to run. */
export function stepWords(
  arena: Arena,
  step: Ptr,
  { groups, slabs }: StateTables,
  first: number,
  last: number,
): Uint32Array<ArrayBuffer> {
  const { u32 } = arena
  const at = (field: number): number => u32[step / 4 + field]!
  const tokens = at(STEP.tokens)
  const sequences = at(STEP.sequences)
  const logits = at(STEP.logit_count)
  const seqs = at(STEP.seqs) / 4
  let length = HEAD_WORDS + 3 * tokens + logits
  for (let index = 0; index < sequences; index++) {
    const seq = seqs + index * SEQUENCE_WORDS
    length +=
      SEQUENCE.tables + slabs + groups * blocksOf(u32[seq + SEQUENCE.position]!, u32[seq + SEQUENCE.rows]!)
  }
  const words = new Uint32Array(length)
  words.set([first, last, tokens, sequences, logits])
  let end = HEAD_WORDS
  const add = (address: number, count: number): void => {
    words.set(u32.subarray(address / 4, address / 4 + count), end)
    end += count
  }
  add(at(STEP.ids), tokens)
  add(at(STEP.sequence_of), tokens)
  add(at(STEP.positions), tokens)
  add(at(STEP.logit_rows), logits)
  for (let index = 0; index < sequences; index++) {
    const seq = seqs + index * SEQUENCE_WORDS
    add(seq * 4, SEQUENCE.tables)
    const blocks = blocksOf(u32[seq + SEQUENCE.position]!, u32[seq + SEQUENCE.rows]!)
    for (let group = 0; group < groups; group++) add(u32[seq + SEQUENCE.tables + group]!, blocks)
    add((seq + SEQUENCE.tables + groups) * 4, slabs)
  }
  return words
}

type MirrorCapacity = ShardLayout & StateTables & StepCapacity

/** Writes the steps of another memory to this one. */
export class StepMirror {
  readonly step: Ptr
  readonly #arena: Arena
  readonly #capacity: MirrorCapacity
  readonly #descriptor: StepDescriptor
  readonly #tables: Ptr

  /** Throws `out-of-memory`. */
  constructor(arena: Arena, capacity: MirrorCapacity) {
    const { sequences, groups, tableWords, ropes } = capacity
    this.#arena = arena
    this.#capacity = capacity
    this.#descriptor = new StepDescriptor(arena, capacity, ropes)
    this.step = this.#descriptor.step
    this.#tables = arena.allocate(sequences * groups * tableWords * 4, 'the step')
  }

  // hot
  /**
   * `blockOf`: the address in this memory of a block in the other memory. It may allocate the block, and may
   * throw.
   */
  write(words: Uint32Array, blockOf: (group: number, block: number) => number): void {
    const [, , tokens = 0, sequences = 0, logits = 0] = words
    let at = HEAD_WORDS
    const put = (address: Ptr, count: number): void => {
      this.#arena.u32.set(words.subarray(at, at + count), address / 4)
      at += count
    }
    put(this.#descriptor.ids, tokens)
    put(this.#descriptor.sequenceOf, tokens)
    put(this.#descriptor.positions, tokens)
    put(this.#descriptor.logitRows, logits)
    const { groups, slabs, tableWords } = this.#capacity
    for (let index = 0; index < sequences; index++) {
      const seq = (this.#descriptor.sequences + index * SEQUENCE_WORDS * 4) as Ptr
      const head = at
      put(seq, SEQUENCE.tables)
      const blocks = blocksOf(words[head + SEQUENCE.position]!, words[head + SEQUENCE.rows]!)
      for (let group = 0; group < groups; group++) {
        const table = this.#tables / 4 + (index * groups + group) * tableWords
        for (let block = 0; block < blocks; block++) {
          const place = blockOf(group, words[at++]!)
          this.#arena.u32[table + block] = place
        }
        this.#arena.u32[seq / 4 + SEQUENCE.tables + group] = table * 4
      }
      for (let slab = groups; slab < groups + slabs; slab++) {
        const place = blockOf(slab, words[at++]!)
        this.#arena.u32[seq / 4 + SEQUENCE.tables + slab] = place
      }
    }
    this.#descriptor.describe(tokens, sequences, logits)
  }
}
