// Runs that workers join and wait for, on one thread, which plays the first thread and a worker in turn: what
// the first thread does while the worker sleeps happens inside `Atomics.wait`.
import { afterEach, expect, test, vi } from 'vitest'
import { SYNC as OFFSETS } from '../../abi/constants.ts'
import { GATE, listedSteps, STATES, SYNC_AT } from '../testing/step-lists.ts'
import { callWorker, closeRun, endWaits, openRun, serveRuns, type WorkerState } from './gate.ts'
import { runSteps } from './step-list.ts'

afterEach(() => void vi.restoreAllMocks())

function pool(onRun?: () => void) {
  const { state, list, ran, words, clear } = listedSteps([[4, 2]], 2, onRun)
  const worker: WorkerState = { ...state, thread: 1, threads: 2, waitMs: 0, joined: 0 }
  const lists = [list, list]
  return {
    state,
    worker,
    ran,
    words,
    /** Begins a run. Returns whether the worker is called without a message. */
    begin(number: number): boolean {
      clear()
      openRun(state, number, lists)
      return callWorker(state, 1)
    },
    end(): void {
      runSteps(state, list, 0, 2)
      expect(closeRun(state)).toBe(true)
    },
  }
}

type Wake = ReturnType<typeof Atomics.wait>

/** What happens during each sleep, in order, and how the sleep ends. Later sleeps time out. */
function sleeps(...each: readonly (() => Wake)[]): void {
  const left = [...each]
  vi.spyOn(Atomics, 'wait').mockImplementation(() => left.shift()?.() ?? 'timed-out')
}

test('a worker that is not waiting gets a message, and joins the run', () => {
  const { worker, ran, begin, end } = pool()
  expect(begin(1)).toBe(false)
  serveRuns(worker)
  end()
  expect(ran).toEqual(['0: 2-4', '0: 0-2'])
  expect(begin(2)).toBe(false)
})

test('a worker that waits is called without a message', () => {
  const { worker, ran, begin, end } = pool()
  begin(1)
  sleeps(() => {
    end()
    expect(begin(2)).toBe(true)
    return 'ok'
  })
  serveRuns(worker)
  end()
  expect(ran).toHaveLength(4)
})

test('a call that comes as the wait ends is not lost', () => {
  const { worker, ran, begin, end } = pool()
  begin(1)
  sleeps(() => {
    end()
    expect(begin(2)).toBe(true)
    return 'timed-out'
  })
  serveRuns(worker)
  expect(ran).toHaveLength(4)
  end()
  expect(begin(3)).toBe(false)
})

test('a worker that is called twice joins a run once', () => {
  const { state, worker, ran, begin, end } = pool(() => {
    // The worker found the run before it was called.
    expect(callWorker(state, 1)).toBe(true)
  })
  begin(1)
  const join = vi.spyOn(Atomics, 'sub')
  serveRuns(worker)
  expect(join).toHaveBeenCalledTimes(1)
  expect(ran).toHaveLength(2)
  end()
})

test('a worker without the functions of a run reads its messages first, and then joins', () => {
  const { worker, ran, begin, end } = pool()
  const [missing] = worker.functions
  const late: WorkerState = { ...worker, functions: [] }
  begin(1)
  serveRuns(late)
  expect(ran).toHaveLength(0)
  // No second message is needed: it looks again after the one with the functions.
  expect(callWorker(worker, 1)).toBe(true)
  late.functions.push(missing!)
  serveRuns(late)
  expect(ran).toHaveLength(2)
  end()
})

test('a wait ends when the pool does', () => {
  const { state, worker, begin, end } = pool()
  begin(1)
  sleeps(
    () => {
      end()
      endWaits(state, 2)
      return 'ok'
    },
    () => expect.unreachable(),
  )
  serveRuns(worker)
  expect(begin(2)).toBe(false)
})

test('a worker does not read the list of a run that has ended, nor of one that it was not called to', () => {
  const { worker, ran, begin, end } = pool()
  begin(1)
  end()
  serveRuns(worker)
  expect(ran).toHaveLength(2)
  serveRuns(worker)
  expect(ran).toHaveLength(2)
})

test('a run whose worker died in a part ends when the pool is poisoned', () => {
  const { state, words, begin } = pool()
  begin(1)
  // The worker has joined, and claimed a part that it never finishes.
  Atomics.add(words, GATE / 4, 1)
  Atomics.add(words, STATES / 4 + 1, 1)
  Atomics.store(words, SYNC_AT / 4 + OFFSETS.poison, 1)
  expect(runSteps(state, { entries: 8192, count: 1, states: STATES }, 0, 2)).toBe(false)
  expect(closeRun(state)).toBe(false)
})
