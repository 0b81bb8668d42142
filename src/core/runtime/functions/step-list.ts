// Runs a list of steps on several threads: functions compiled for one network, and ops of the engine.
//
// Threads claim parts of a step. A thread goes on to the next step once all parts are finished, whichever
// thread computed them, so a late thread delays no other: it finds its steps finished and catches up.
//
// The parts are divided into one slice per thread. A thread first takes those of its own slice in order,
// then the remaining ones of other slices from their ends, as in wasm/core/sync.h. So it mostly reads what
// it wrote itself in the step before, which is still in its core's cache.
import { SYNC } from '../../abi/constants.ts'
import { rowsAfter } from '../../abi/records.ts'
import type { EngineExports } from '../module.ts'

/** A function that takes a record's address and a range of its units. */
export type StepFunction = (record: number, first: number, last: number) => void

/**
 * Words of a step in a list. `function`: a function's number, or ENGINE_OP. `parts`: into how many parts its
 * units are divided; 0 for an op of the engine that all threads compute together. Any other op is one part.
 */
export const STEP_ENTRY = { function: 0, record: 1, units: 2, parts: 3 } as const
export const STEP_ENTRY_WORDS = 4
export const ENGINE_OP = -1

/**
 * Words that the threads share for each step: how many parts are finished, then for each slice how many are
 * claimed, those from its front in the low half and those from its end in the high half.
 */
const STEP_STATE = { finished: 0, claims: 1 } as const
const FROM_FRONT = 1
const FROM_END = 2 ** 16
export const stateWords = (threads: number): number => STEP_STATE.claims + threads

/** The addresses of the data that the threads of a run share, and of one thread's list. */
export interface StepList {
  /** Entries of the list. Each thread has its own list, whose records have their own scratch memory. */
  readonly entries: number
  readonly count: number
  /** The states of the steps. */
  readonly states: number
}

export interface ThreadState {
  readonly engine: EngineExports
  /** Functions, in the order in which they were added. */
  readonly functions: StepFunction[]
  readonly sync: number
  /** The address of the gate (gate.ts). */
  readonly gate: number
  readonly memory: WebAssembly.Memory
}

/**
 * How many times a word is read before its reader sleeps, and for how long it sleeps until it looks again.
 */
export const SPINS = 100_000
export const SLEEP_MS = 100
/** If no part is finished for so many sleeps, the missing threads are assumed dead. */
export const PATIENCE = 200
/** Bit of `finished`: set while a thread sleeps on the word and has to be woken. */
const SLEEPER = 2 ** 30

/** One thread's part of a run. Returns false if the pool is poisoned. */
export function runSteps(
  { engine, functions, sync, memory }: ThreadState,
  { entries, count, states }: StepList,
  thread: number,
  threads: number,
): boolean {
  const words = new Int32Array(memory.buffer)
  for (let step = 0; step < count; step++) {
    const entry = entries / 4 + step * STEP_ENTRY_WORDS
    const record = words[entry + STEP_ENTRY.record]!
    const number = words[entry + STEP_ENTRY.function]!
    const units = words[entry + STEP_ENTRY.units]!
    const parts = words[entry + STEP_ENTRY.parts]!
    if (parts === 0) {
      // All threads meet at the end of an op.
      if (engine.run(sync, record, rowsAfter(record), 0, 1, thread, threads) !== 0) return false
      continue
    }
    const state = states / 4 + step * stateWords(threads)
    const finished = state + STEP_STATE.finished
    const slices = Math.min(threads, parts)
    for (let visited = 0; visited < slices; visited++) {
      const slice = (thread + visited) % slices
      const begin = Math.floor((parts * slice) / slices)
      const end = Math.floor((parts * (slice + 1)) / slices)
      for (;;) {
        const part = claimPart(words, state + STEP_STATE.claims + slice, begin, end, visited === 0)
        if (part === end) break
        if (number === ENGINE_OP) {
          if (engine.run(sync, record, rowsAfter(record), 0, 1, 0, 1) !== 0) return false
        } else functions[number]!(record, firstUnit(units, part, parts), firstUnit(units, part + 1, parts))
        if (Atomics.add(words, finished, 1) >= SLEEPER) Atomics.notify(words, finished)
      }
    }
    if (!isFinished(words, finished, parts, sync)) return false
  }
  return true
}

const firstUnit = (units: number, part: number, parts: number): number => Math.floor((units * part) / parts)

/** Claims one of the parts from `begin` to `end`, which `claims` counts. Returns `end` if none is left. */
function claimPart(
  words: Int32Array,
  claims: number,
  begin: number,
  end: number,
  fromFront: boolean,
): number {
  const isLeft = (taken: number): boolean => (taken & 0xffff) + (taken >>> 16) < end - begin
  // Reading first spares the other threads a line of memory that changes.
  if (!isLeft(Atomics.load(words, claims))) return end
  const taken = Atomics.add(words, claims, fromFront ? FROM_FRONT : FROM_END)
  if (!isLeft(taken)) return end
  return fromFront ? begin + (taken & 0xffff) : end - 1 - (taken >>> 16)
}

/** Waits until all parts are finished. Returns false if the pool is poisoned. */
function isFinished(words: Int32Array, finished: number, parts: number, sync: number): boolean {
  for (let spins = 0; spins < SPINS; spins++)
    if ((Atomics.load(words, finished) & ~SLEEPER) >= parts) return true
  for (let quiet = 0, last = 0; quiet < PATIENCE; quiet++) {
    const seen = Atomics.or(words, finished, SLEEPER) | SLEEPER
    if ((seen & ~SLEEPER) >= parts) return true
    if (Atomics.load(words, sync / 4 + SYNC.poison) !== 0) return false
    Atomics.wait(words, finished, seen, SLEEP_MS)
    if (seen !== last) quiet = 0
    last = seen
  }
  return false
}

/** Adds the functions of a module, which are exported as `f0`, `f1` and so on. */
export function addFunctions(
  { functions, memory }: Pick<ThreadState, 'functions' | 'memory'>,
  code: WebAssembly.Module,
): void {
  const { exports } = new WebAssembly.Instance(code, { env: { memory } })
  for (let index = 0; `f${index}` in exports; index++) functions.push(exports[`f${index}`] as StepFunction)
}
