// Chooses how many rounds of each cell to run in the available time.
import { type EngineKind, type EngineName, OURS } from './engines.ts'

/** One engine with one length of prompt. */
export interface Cell {
  readonly engine: EngineName
  readonly prompt: number
  /** Tokens to decode. */
  readonly decode: number
  /** Rounds still to be run. */
  readonly rounds: number
}
export interface TimedCell extends Cell {
  /** Seconds of one round, estimated from a warm-up run. */
  readonly seconds: number
}

/** A run's limits on an engine's part of the suite. */
export interface Limits {
  readonly prompts?: readonly number[] | undefined
  readonly rounds?: number | undefined
  readonly decode?: number | undefined
}

/** The cells of an engine, without the rounds that `done` already has. */
export function cellsOf(
  kind: EngineKind,
  limits: Limits,
  done: (engine: EngineName, prompt: number) => number,
): Cell[] {
  const prompts = kind.prompts.filter((prompt) => limits.prompts?.includes(prompt) ?? true)
  const decode = Math.min(kind.decode, limits.decode ?? kind.decode)
  const wanted = Math.min(kind.rounds, limits.rounds ?? kind.rounds)
  return prompts.map((prompt) => {
    const rounds = Math.max(0, wanted - done(kind.name, prompt))
    return { engine: kind.name, prompt, decode, rounds }
  })
}

/**
 * Drops rounds until all fit. The cell that takes the most time loses a round first. Once every cell has one
 * round left, the longest cell is dropped, Halfbyte's only when no other is left.
 */
export function fitRounds<T extends TimedCell>(cells: readonly T[], seconds: number): T[] {
  const rounds = cells.map((cell) => cell.rounds)
  const cost = (index: number) => (rounds[index] ?? 0) * (cells[index]?.seconds ?? 0)
  const total = () => cells.reduce((sum, _, index) => sum + cost(index), 0)
  while (total() > seconds) {
    const kept = [...cells.keys()].filter((index) => (rounds[index] ?? 0) > 0)
    const isOurs = (index: number) => cells[index]?.engine === OURS
    const candidates = [
      kept.filter((index) => (rounds[index] ?? 0) > 1),
      kept.filter((index) => !isOurs(index)),
      kept,
    ].find((indices) => indices.length > 0)
    if (candidates === undefined) break
    const longest = candidates.reduce((most, index) => (cost(index) > cost(most) ? index : most))
    rounds[longest] = (rounds[longest] ?? 0) - 1
  }
  return cells.map((cell, index) => ({ ...cell, rounds: rounds[index] ?? 0 }))
}

/**
 * Seconds for this group: its share of the remaining time, by its weight among the remaining groups, of which
 * it is the first.
 */
export function shareOf(secondsLeft: number, weights: readonly number[]): number {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return sum === 0 ? 0 : (secondsLeft * (weights[0] ?? 0)) / sum
}

/** The engines in a different order each round, so that none always follows the same one. */
export function rotated<T>(list: readonly T[], round: number): T[] {
  const start = list.length === 0 ? 0 : round % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}
