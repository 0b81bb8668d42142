// Splits a run's steps into parts, between which the thread can receive an abort, and steps into the parts
// that threads claim.
import { STEP_ENTRY_WORDS, type StepList, stateWords } from '../../../core/runtime/functions/step-list.ts'
import type { Step } from '../program/step.ts'

/** Steps `from` to `to` of a program; with `units`, a range of units within step `from`. */
export interface RunPart {
  readonly from: number
  readonly to: number
  readonly units?: { readonly first: number; readonly last: number } | undefined
}

/** The size of a part in steps of `NetworkLimits`: about 200 ms. */
export const PART_STEPS = 2 ** 32

/** `cuts`: whether long steps may be split, which is impossible if threads synchronise after each step. */
export function partsOf(steps: readonly Step[], cuts: boolean): readonly RunPart[] {
  const parts: RunPart[] = []
  let from = 0
  let taken = 0
  const close = (to: number): void => {
    if (to > from) parts.push({ from, to })
    from = to
    taken = 0
  }
  for (const [at, step] of steps.entries()) {
    const units = 'units' in step && cuts ? step.units : 1
    const count = Math.min(units, Math.ceil(step.taken / PART_STEPS))
    if (count > 1) {
      close(at)
      const place = (part: number): number => Math.floor((part * units) / count)
      for (let part = 0; part < count; part++)
        parts.push({ from: at, to: at + 1, units: { first: place(part), last: place(part + 1) } })
      from = at + 1
      continue
    }
    taken += step.taken
    if (taken >= PART_STEPS) close(at + 1)
  }
  close(steps.length)
  return parts
}

/** A part of a thread's list. */
export const listOf = ({ entries, states }: StepList, { from, to }: RunPart, threads: number): StepList => ({
  entries: entries + 4 * STEP_ENTRY_WORDS * from,
  count: to - from,
  states: states + 4 * stateWords(threads) * from,
})

/**
 * A thread's share of a step is divided into so many parts, so that a slow thread does not delay the others.
 */
const SHARE_PARTS = 4

/**
 * The least cost of a part: about half a microsecond of elementwise work, and two of products. Claiming and
 * finishing it takes a fraction of that.
 */
export const LEAST_STEPS = 65_536

/**
 * Into how many parts a step is divided, each at least `least` steps of `NetworkLimits`. A short step is one
 * part. 0 for an op of the engine that all threads compute together.
 */
export function sharedParts(step: Step, threads: number, least: number): number {
  const most = least === 0 ? Number.POSITIVE_INFINITY : Math.floor(step.taken / least)
  if ('kernel' in step) return most > 1 ? 0 : 1
  const parts = Math.max(1, Math.min(most, SHARE_PARTS * threads, step.units))
  // Equal slices, so that a thread computes the same share of each step.
  return parts < threads ? parts : parts - (parts % threads)
}
