// Blocks. In: nothing. Out: the word offsets of wasm/core/abi.h's step, sequence and sync blocks.
import { ABI } from './constants.ts'

/** Word index of each field of `struct step`; `ropes` has MAX_ROPES words. */
export const STEP = {
  tokens: 0,
  sequences: 1,
  logit_count: 2,
  ids: 3,
  sequence_of: 4,
  positions: 5,
  seqs: 6,
  logit_rows: 7,
  ropes: 8,
} as const
export const STEP_WORDS = STEP.ropes + ABI.MAX_ROPES

/** Word index of each field of `struct sequence`; `tables` has MAX_STATE_GROUPS words. */
export const SEQUENCE = { row0: 0, rows: 1, position: 2, tables: 3 } as const
export const SEQUENCE_WORDS = SEQUENCE.tables + ABI.MAX_STATE_GROUPS

/**
 * Word index of each field of `struct sync`. Each word that several threads write has its own 64-byte cache
 * line.
 */
export const SYNC = {
  command: 0,
  plan: 16,
  step: 17,
  first: 18,
  last: 19,
  threads: 20,
  quit: 21,
  arrived: 32,
  generation: 48,
  claims: 64,
  poison: 192,
} as const
export const SYNC_WORDS = 208
