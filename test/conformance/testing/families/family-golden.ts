// Golden data of families: the tokens that every family processes, and the stored part of llama.cpp's
// results.
import { VOCABULARY } from './family-tensors.ts'

export interface FamilyGolden {
  /** Seed of the weights. */
  readonly seed: number
  /** The most probable token after each position. Spaces separate the numbers, to keep the file short. */
  readonly best: string
  /** Natural logarithms of the probabilities of `watchedIds`, by position. */
  readonly watched: readonly string[]
}

export const numbersOf = (text: string): number[] => text.split(' ').map(Number)

/** 64 positions, more than any window of these models. */
export const TOKENS: readonly number[] = Array.from(
  { length: 64 },
  (_, index) => (index * 37 + ((index * index) % 11)) % VOCABULARY,
)

/** Minimum lead of the best token over the second best, at every position. */
export const MIN_LEAD = 0.01

/** 16 tokens that depend on the position. Over all positions they cover the vocabulary many times. */
export const watchedIds = (position: number, vocabulary: number): number[] =>
  Array.from({ length: 16 }, (_, index) => (position * 5 + index * 17) % vocabulary)
