// Hash pool. In: a step in linear memory. Out: state and logits that depend on every token so far, by integer
// hashes.

import { ABI, SEQUENCE, SEQUENCE_WORDS, STEP } from '../../abi/constants.ts'
import type { Arena, Ptr } from '../../runtime/memory/arena.ts'
import type { Pool } from '../../runtime/pool.ts'

const mix = (seed: number, value: number): number => {
  let hash = Math.imul(seed ^ value, 0x9e3779b1)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** The word that group `group` stores for a token. */
const stored = (id: number, position: number, group: number): number => mix(mix(id + 1, position), group)
const fold = (hash: number, value: number): number => mix(hash, value)
const logit = (hash: number, id: number): number => (mix(hash, id) >>> 8) / 2 ** 24

/**
 * The logits after `tokens`, from the tokens alone. `slabs`: number of recurrent groups in addition to the
 * others.
 */
export function hashLogits(tokens: readonly number[], groups: number, vocab: number, slabs = 0): number[] {
  let hash = 0
  for (let slab = groups; slab < groups + slabs; slab++) {
    hash = fold(
      hash,
      tokens.reduce((state, id, position) => fold(state, stored(id, position, slab)), 0),
    )
  }
  for (let group = 0; group < groups; group++) {
    for (const [position, id] of tokens.entries()) hash = fold(hash, stored(id, position, group))
  }
  return Array.from({ length: vocab }, (_, id) => logit(hash, id))
}

/**
 * A model whose "attention" reads every stored position through the block tables. A wrong table, a lost block
 * or a block written by two sequences changes the logits. Its recurrent groups remember a hash of all tokens.
 * Reads memory as wasm/core/abi.h defines it.
 */
export class HashPool implements Pool {
  readonly threads = 1
  readonly memory: WebAssembly.Memory
  /** Number of rows of each step so far. */
  readonly steps: number[] = []
  /** Called at the start of each run; may throw like a failing pool. */
  onRun: (rows: number) => void = () => {}
  readonly #logits: { address: Ptr; stride: number; vocab: number }
  readonly #groups: number
  readonly #slabs: number

  constructor(
    arena: Arena,
    logits: { address: Ptr; stride: number; vocab: number },
    groups: number,
    slabs: number,
  ) {
    this.memory = arena.memory
    this.#logits = logits
    this.#groups = groups
    this.#slabs = slabs
  }

  run(_plan: Ptr, step: Ptr): void {
    const words = new Uint32Array(this.memory.buffer)
    const field = (index: number): number => words[step / 4 + index] ?? 0
    const list = (index: number, at: number): number => words[field(index) / 4 + at] ?? 0
    const rows = field(STEP.tokens)
    this.onRun(rows)
    this.steps.push(rows)
    const recurrent: number[] = []
    for (let row = 0; row < rows; row++) {
      const position = list(STEP.positions, row)
      recurrent[row] = 0
      for (let slab = this.#groups; slab < this.#groups + this.#slabs; slab++) {
        const word = this.#tableOf(words, field(STEP.seqs), list(STEP.sequence_of, row), slab) / 4
        words[word] = fold(words[word] ?? 0, stored(list(STEP.ids, row), position, slab))
        recurrent[row] = fold(recurrent[row] ?? 0, words[word])
      }
      for (let group = 0; group < this.#groups; group++) {
        const word = this.#wordOf(words, field(STEP.seqs), list(STEP.sequence_of, row), group, position)
        words[word] = stored(list(STEP.ids, row), position, group)
      }
    }
    for (let index = 0; index < field(STEP.logit_count); index++) {
      const row = list(STEP.logit_rows, index)
      const sequence = list(STEP.sequence_of, row)
      let hash = recurrent[row] ?? 0
      for (let group = 0; group < this.#groups; group++) {
        for (let position = 0; position <= list(STEP.positions, row); position++) {
          hash = fold(hash, words[this.#wordOf(words, field(STEP.seqs), sequence, group, position)] ?? 0)
        }
      }
      const { address, stride, vocab } = this.#logits
      const logits = new Float32Array(this.memory.buffer, address + index * stride, vocab)
      for (let id = 0; id < vocab; id++) logits[id] = logit(hash, id)
    }
  }

  dispose(): void {}

  #tableOf(words: Uint32Array, seqs: number, sequence: number, group: number): number {
    return words[seqs / 4 + sequence * SEQUENCE_WORDS + SEQUENCE.tables + group] ?? 0
  }

  #wordOf(words: Uint32Array, seqs: number, sequence: number, group: number, position: number): number {
    const table = this.#tableOf(words, seqs, sequence, group)
    const block = words[table / 4 + Math.floor(position / ABI.BLOCK_POSITIONS)] ?? 0
    return block / 4 + (position % ABI.BLOCK_POSITIONS)
  }
}
