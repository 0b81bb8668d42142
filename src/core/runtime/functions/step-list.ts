// Runs a list of steps on several threads: functions compiled for one network, and ops of the engine.
import { rowsAfter } from '../../abi/records.ts'
import type { EngineExports } from '../module.ts'

/** A function that takes a record's address and a range of its units. */
export type StepFunction = (record: number, first: number, last: number) => void

/**
 * Words of a step in a list. `function`: a function's number, or ENGINE_OP. `alone`: 1 for a function whose
 * units the first thread runs alone, because sharing them would take longer than that saves.
 */
export const STEP_ENTRY = { function: 0, record: 1, units: 2, alone: 3 } as const
export const STEP_ENTRY_WORDS = 4
export const ENGINE_OP = -1

/** The addresses of the data that the threads of a run share, and of one thread's list. */
export interface StepList {
  /** Entries of the list. Each thread has its own list, whose records have their own scratch memory. */
  readonly entries: number
  readonly count: number
  /** One word per step: how many units have been claimed. */
  readonly claims: number
  /** An op without tiles, which serves as a barrier. */
  readonly barrier: number
}

/**
 * Number of units that a thread claims at once: a fraction of its share, so that a slow thread does not delay
 * the others for long.
 */
const PARTS = 4

/**
 * One thread's part of a run; all threads of the pool call it at the same time. Returns false if the pool is
 * poisoned.
 */
export function runSteps(
  { engine, functions, sync, memory }: ThreadState,
  { entries, count, claims, barrier }: StepList,
  thread: number,
  threads: number,
): boolean {
  const words = new Int32Array(memory.buffer)
  const meet = (op: number): boolean => engine.run(sync, op, rowsAfter(op), 0, 1, thread, threads) === 0
  for (let step = 0; step < count; step++) {
    const entry = entries / 4 + step * STEP_ENTRY_WORDS
    const record = words[entry + STEP_ENTRY.record]!
    const number = words[entry + STEP_ENTRY.function]!
    if (number === ENGINE_OP) {
      if (!meet(record)) return false
      continue
    }
    const units = words[entry + STEP_ENTRY.units]!
    const isAlone = words[entry + STEP_ENTRY.alone] === 1
    if (isAlone) {
      if (thread === 0) functions[number]!(record, 0, units)
      // The threads meet only after the last of several such steps.
      const next = entry + STEP_ENTRY_WORDS + STEP_ENTRY.alone
      if (step + 1 < count && words[next] === 1) continue
    } else {
      const part = Math.ceil(units / (PARTS * threads))
      for (;;) {
        const first = Atomics.add(words, claims / 4 + step, part)
        if (first >= units) break
        functions[number]!(record, first, Math.min(units, first + part))
      }
    }
    if (!meet(barrier)) return false
  }
  return true
}

export interface ThreadState {
  readonly engine: EngineExports
  /** Functions, in the order in which they were added. */
  readonly functions: StepFunction[]
  readonly sync: number
  readonly memory: WebAssembly.Memory
}

/** Adds the functions of a module, which are exported as `f0`, `f1` and so on. */
export function addFunctions(
  { functions, memory }: Pick<ThreadState, 'functions' | 'memory'>,
  code: WebAssembly.Module,
): void {
  const { exports } = new WebAssembly.Instance(code, { env: { memory } })
  for (let index = 0; `f${index}` in exports; index++) functions.push(exports[`f${index}`] as StepFunction)
}
