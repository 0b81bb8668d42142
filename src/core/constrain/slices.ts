// Slices. In: the compilation of a grammar, and its long parts as steps. Out: the same result, with turns of
// the event loop in between, so that a page stays responsive and an abort arrives.
//
// Compilation is a deep recursion that cannot stop in the middle. So a pause discards it and it starts over:
// finished parts return their results immediately, in the order of the requests, and the unfinished part
// continues. This requires compilation to be deterministic.
import { eventLoopTurn } from '../base/budget.ts'
import { patternWork } from './refuse.ts'

/** A long part. It yields wherever it may pause. */
export type Steps<Result> = Generator<undefined, Result>

/** The results of the parts finished so far. */
interface Outcome {
  readonly value: unknown
  readonly error: unknown
  /** Units of work that the part took. */
  readonly units: number
}

/** One compilation, over all its slices. */
interface Run {
  readonly outcomes: Outcome[]
  /** Number of parts that this slice has requested. */
  asked: number
  open: Steps<unknown> | undefined
  /** Units of the open part in earlier slices. */
  openUnits: number
  /** Units that are left in this slice. */
  left: number
}

class Pause {}

/** The compilation in progress. Undefined where pauses are impossible, such as inside a part. */
let current: Run | undefined

/** Initial number of units between two turns of the event loop: about 60 ms of work. */
const SLICE_UNITS = 1 << 17
/**
 * The first slices all have this length. Work outside parts is repeated in each slice, so later slices are
 * longer.
 */
const SLICES_OF_LENGTH = 8

/** The result of a long part. */
export function inParts<Result>(begin: () => Steps<Result>): Result {
  const run = current
  if (run === undefined) return allSteps(begin())
  const known = run.outcomes[run.asked]
  run.asked += 1
  if (known !== undefined) patternWork.spend(known.units)
  const { value, error } = known ?? outcomeOf(run, begin)
  if (error !== undefined) throw error
  return value as Result
}

function allSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Continues the open part until the part or the slice ends. */
function outcomeOf(run: Run, begin: () => Steps<unknown>): Outcome {
  run.open ??= begin()
  // A part requested within a part is one of its steps.
  current = undefined
  const before = patternWork.spentUnits
  patternWork.spend(run.openUnits)
  const newUnits = () => patternWork.spentUnits - before - run.openUnits
  const ended = (value: unknown, error: unknown) => {
    const outcome = { value, error, units: patternWork.spentUnits - before }
    run.left -= newUnits()
    run.open = undefined
    run.openUnits = 0
    run.outcomes.push(outcome)
    return outcome
  }
  try {
    while (newUnits() < run.left) {
      const { done, value } = run.open.next()
      if (done === true) return ended(value, undefined)
    }
  } catch (error) {
    return ended(undefined, error)
  } finally {
    current = run
  }
  run.openUnits += newUnits()
  throw new Pause()
}

/** Undefined if the work was cancelled; checked before each slice. */
export async function inSlices<Result>(
  work: () => Result,
  isWanted: () => boolean,
): Promise<Result | undefined> {
  const run: Run = { outcomes: [], asked: 0, open: undefined, openUnits: 0, left: 0 }
  for (let slice = 0; isWanted(); slice++) {
    run.left = SLICE_UNITS * (1 + Math.floor(slice / SLICES_OF_LENGTH))
    run.asked = 0
    current = run
    try {
      return work()
    } catch (error) {
      if (!(error instanceof Pause)) throw error
    } finally {
      current = undefined
    }
    await eventLoopTurn()
  }
  return undefined
}
