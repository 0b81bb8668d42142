// Lists of steps whose functions note which of their units ran.
import type { ThreadState } from '../functions/step-list.ts'
import { STEP_ENTRY, STEP_ENTRY_WORDS, type StepList, stateWords } from '../functions/step-list.ts'
import type { EngineExports } from '../module.ts'

export const GATE = 0
export const SYNC_AT = 1024
export const STATES = 4096
const ENTRIES = 8192

interface ListedSteps {
  readonly state: ThreadState
  readonly list: StepList
  /** The ranges of units that ran, as `step: first-last`. */
  readonly ran: string[]
  readonly words: Int32Array
  /** Prepares another run. */
  clear(): void
}

/** Steps of so many units, divided into so many parts. `onRun` is called at the beginning of each part. */
export function listedSteps(
  steps: readonly (readonly [units: number, parts: number])[],
  threads: number,
  onRun: () => void = () => undefined,
): ListedSteps {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
  const words = new Int32Array(memory.buffer)
  const ran: string[] = []
  const functions = steps.map((_, step) => (_record: number, first: number, last: number) => {
    onRun()
    ran.push(`${step}: ${first}-${last}`)
  })
  for (const [step, [units, parts]] of steps.entries()) {
    const entry = ENTRIES / 4 + step * STEP_ENTRY_WORDS
    words[entry + STEP_ENTRY.function] = step
    words[entry + STEP_ENTRY.units] = units
    words[entry + STEP_ENTRY.parts] = parts
  }
  return {
    state: { engine: {} as EngineExports, functions, sync: SYNC_AT, gate: GATE, memory },
    list: { entries: ENTRIES, count: steps.length, states: STATES },
    ran,
    words,
    clear: () => words.fill(0, STATES / 4, STATES / 4 + stateWords(threads) * steps.length),
  }
}
