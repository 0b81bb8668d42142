// Runs a list of steps on several threads: functions compiled for one network, and ops of the engine.
//
// Threads claim parts of a step. A thread goes on to the next step once all parts are finished, whichever
// thread computed them, so a late thread delays no other: it finds its steps finished and catches up.
import { SYNC } from '../../abi/constants.ts'
import { rowsAfter } from '../../abi/records.ts'
import type { EngineExports } from '../module.ts'

/** A function that takes a record's address and a range of its units. */
export type StepFunction = (record: number, first: number, last: number) => void

/**
 * Words of a step in a list. `function`: a function's number, or ENGINE_OP. `part`: how many units a thread
 * claims at once; 0 for an op of the engine that all threads compute together. Any other op is one unit.
 */
export const STEP_ENTRY = { function: 0, record: 1, units: 2, part: 3 } as const
export const STEP_ENTRY_WORDS = 4
export const ENGINE_OP = -1

/**
 * Words that the threads share for each step: how many of its parts are claimed, and how many are finished.
 */
const STEP_STATE = { claimed: 0, finished: 1 } as const
export const STEP_STATE_WORDS = 2

/**
 * The gate of a pool is one word: the number of the run, whether it has ended, and how many workers take
 * part. A worker that receives a run's list after its end must not read it, because the memory may have been
 * reused.
 */
const GATE = { run: 256, ended: 128, workers: 127 } as const

/** The most threads besides the first that a gate can count. */
export const MAX_WORKERS = GATE.workers

/** The addresses of the data that the threads of a run share, and of one thread's list. */
export interface StepList {
  /** Entries of the list. Each thread has its own list, whose records have their own scratch memory. */
  readonly entries: number
  readonly count: number
  /** The states of the steps. */
  readonly states: number
}

/** A run that workers may join. */
export interface SharedRun {
  readonly list: StepList
  readonly number: number
}

export interface ThreadState {
  readonly engine: EngineExports
  /** Functions, in the order in which they were added. */
  readonly functions: StepFunction[]
  readonly sync: number
  /** The address of the gate. */
  readonly gate: number
  readonly memory: WebAssembly.Memory
}

/**
 * How many times a word is read before its reader sleeps, and for how long it sleeps until it looks again.
 */
const SPINS = 100_000
const SLEEP_MS = 100
/** If no part is finished for so many sleeps, the missing threads are assumed dead. */
const PATIENCE = 200
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
    const part = words[entry + STEP_ENTRY.part]!
    if (part === 0) {
      // All threads meet at the end of an op.
      if (engine.run(sync, record, rowsAfter(record), 0, 1, thread, threads) !== 0) return false
      continue
    }
    const state = states / 4 + step * STEP_STATE_WORDS
    const parts = Math.ceil(units / part)
    for (;;) {
      const next = Atomics.add(words, state + STEP_STATE.claimed, 1)
      if (next >= parts) break
      if (number !== ENGINE_OP) functions[number]!(record, next * part, Math.min(units, (next + 1) * part))
      else if (engine.run(sync, record, rowsAfter(record), 0, 1, 0, 1) !== 0) return false
      const finished = state + STEP_STATE.finished
      if (Atomics.add(words, finished, 1) >= SLEEPER) Atomics.notify(words, finished)
    }
    if (!isFinished(words, state + STEP_STATE.finished, parts, sync)) return false
  }
  return true
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

/** Lets workers join a run from now on. Call it after the states of its steps are 0. */
export function openRun({ gate, memory }: ThreadState, number: number): void {
  Atomics.store(new Int32Array(memory.buffer), gate / 4, number * GATE.run)
}

/** Bars workers from joining, and waits for those that did. Returns false if the pool is poisoned. */
export function closeRun({ gate, sync, memory }: ThreadState): boolean {
  const words = new Int32Array(memory.buffer)
  Atomics.or(words, gate / 4, GATE.ended)
  for (let spins = 0; ; spins++) {
    const now = Atomics.load(words, gate / 4)
    if ((now & GATE.workers) === 0) return true
    if (spins < SPINS) continue
    if (Atomics.load(words, sync / 4 + SYNC.poison) !== 0 || spins > SPINS + PATIENCE) return false
    Atomics.wait(words, gate / 4, now, SLEEP_MS)
  }
}

/** A worker's part of a run, unless the run has ended. */
export function joinRun(
  state: ThreadState,
  { list, number }: SharedRun,
  thread: number,
  threads: number,
): void {
  const words = new Int32Array(state.memory.buffer)
  const gate = state.gate / 4
  for (let seen = Atomics.load(words, gate); ; ) {
    if ((seen & ~GATE.workers) !== ((number * GATE.run) | 0)) return
    const old = Atomics.compareExchange(words, gate, seen, seen + 1)
    if (old === seen) break
    seen = old
  }
  runSteps(state, list, thread, threads)
  if ((Atomics.sub(words, gate, 1) & GATE.ended) !== 0) Atomics.notify(words, gate)
}

/** Adds the functions of a module, which are exported as `f0`, `f1` and so on. */
export function addFunctions(
  { functions, memory }: Pick<ThreadState, 'functions' | 'memory'>,
  code: WebAssembly.Module,
): void {
  const { exports } = new WebAssembly.Instance(code, { env: { memory } })
  for (let index = 0; `f${index}` in exports; index++) functions.push(exports[`f${index}`] as StepFunction)
}
