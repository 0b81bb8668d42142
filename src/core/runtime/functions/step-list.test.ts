// Shared runs on one thread, which plays the first thread and a worker in turn. In: lists of steps whose
// functions note their units. Out: which units ran, and how often.
import { expect, test } from 'vitest'
import { SYNC as OFFSETS } from '../../abi/constants.ts'
import type { EngineExports } from '../module.ts'
import {
  closeRun,
  joinRun,
  openRun,
  runSteps,
  STEP_ENTRY,
  STEP_ENTRY_WORDS,
  STEP_STATE_WORDS,
} from './step-list.ts'

const GATE = 0
const SYNC = 1024
const STATES = 4096
const ENTRIES = 8192

/** Steps of so many units each, of which a thread claims so many at once. */
function listed(steps: readonly (readonly [units: number, part: number])[]) {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true })
  const words = new Int32Array(memory.buffer)
  const ran: string[] = []
  const functions = steps.map((_, step) => (_record: number, first: number, last: number) => {
    ran.push(`${step}: ${first}-${last}`)
  })
  for (const [step, [units, part]] of steps.entries()) {
    const entry = ENTRIES / 4 + step * STEP_ENTRY_WORDS
    words[entry + STEP_ENTRY.function] = step
    words[entry + STEP_ENTRY.units] = units
    words[entry + STEP_ENTRY.part] = part
  }
  const engine = {} as EngineExports
  const state = { engine, functions, sync: SYNC, gate: GATE, memory }
  const list = { entries: ENTRIES, count: steps.length, states: STATES }
  const clear = () => words.fill(0, STATES / 4, STATES / 4 + STEP_STATE_WORDS * steps.length)
  return { state, list, ran, clear, words }
}

test('a thread alone computes all parts in order, and waits for nobody', () => {
  const { state, list, ran } = listed([
    [5, 2],
    [3, 3],
  ])
  openRun(state, 1)
  expect(runSteps(state, list, 0, 2)).toBe(true)
  expect(closeRun(state)).toBe(true)
  expect(ran).toEqual(['0: 0-2', '0: 2-4', '0: 4-5', '1: 0-3'])
})

test('a worker that joins late repeats nothing', () => {
  const { state, list, ran } = listed([[5, 2]])
  openRun(state, 1)
  runSteps(state, list, 0, 2)
  joinRun(state, { list, number: 1 }, 1, 2)
  expect(ran).toHaveLength(3)
  expect(closeRun(state)).toBe(true)
})

test('a worker does not read the list of a run that has ended, nor of an earlier one', () => {
  const { state, list, ran, clear } = listed([[4, 1]])
  openRun(state, 1)
  runSteps(state, list, 0, 2)
  closeRun(state)
  clear()
  joinRun(state, { list, number: 1 }, 1, 2)
  openRun(state, 2)
  joinRun(state, { list, number: 1 }, 1, 2)
  expect(ran).toHaveLength(4)
  joinRun(state, { list, number: 2 }, 1, 2)
  expect(ran).toHaveLength(8)
})

test('a run whose worker died in a part ends when the pool is poisoned', () => {
  const { state, list, words } = listed([[2, 1]])
  openRun(state, 1)
  // The worker has joined, and claimed a part that it never finishes.
  Atomics.add(words, GATE / 4, 1)
  Atomics.add(words, STATES / 4, 1)
  Atomics.store(words, SYNC / 4 + OFFSETS.poison, 1)
  expect(runSteps(state, list, 0, 2)).toBe(false)
  expect(closeRun(state)).toBe(false)
})
