// Family golden. In: nothing. Out: the tokens that every family reads, and what of llama.cpp's answer is kept.
import { VOCABULARY } from './family-tensors.ts'

export interface FamilyGolden {
  /** Of the weights. */
  readonly seed: number
  /** The most probable token behind each position. Numbers are texts with spaces between, to keep the file short. */
  readonly best: string
  /** ln of the probabilities of `watchedIds`, by position. */
  readonly watched: readonly string[]
}

export const numbersOf = (text: string): number[] => text.split(' ').map(Number)

/** 64 positions, more than any window here. */
export const TOKENS: readonly number[] = Array.from(
  { length: 64 },
  (_, index) => (index * 37 + ((index * index) % 11)) % VOCABULARY,
)

/** The best token leads by this at every position. */
export const LEAST_LEAD = 0.01

/** 16 tokens that change with the position: together all of the vocabulary, many times. */
export const watchedIds = (position: number, vocabulary: number): number[] =>
  Array.from({ length: 16 }, (_, index) => (position * 5 + index * 17) % vocabulary)
