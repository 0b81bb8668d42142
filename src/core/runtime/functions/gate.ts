// The gate of a pool: workers join the run that is open, and wait for the next one. In: one list of steps per
// thread. Out: a run that no worker reads before it begins or after it ends.
//
// A worker that has finished a run sleeps in shared memory, so that the next run wakes it without a message,
// which takes far longer. After `WAIT_MS` it returns to its messages. Its seat says where it is, and each
// change is one atomic operation, so no call is lost:
//
//   away --first thread calls and sends a message--> called --worker--> waiting
//   waiting --first thread calls and wakes it--> called
//   waiting --the worker, when its wait is over--> away
import { SYNC } from '../../abi/constants.ts'
import { PATIENCE, runSteps, SLEEP_MS, SPINS, type StepList, type ThreadState } from './step-list.ts'

/**
 * The first word of a gate: the number of the run, whether it has ended, and how many workers take part. A
 * worker that is called after a run's end must not read its list, because the memory may have been reused.
 */
const GATE = { run: 256, ended: 128, workers: 127 } as const

/** The most threads besides the first that a gate can count. */
export const MAX_WORKERS = GATE.workers

/** Words of a worker's seat. All but `state` may be read only by a worker that has joined the run. */
const SEAT = { state: 0, entries: 1, count: 2, states: 3, functions: 4, pages: 5 } as const
const AWAY = 0
const WAITING = 1
const CALLED = 2

/** A cache line, so that threads that write to different seats do not disturb each other. */
const LINE_BYTES = 64
const PAGE_BYTES = 65_536

export const gateBytes = (workers: number): number => LINE_BYTES * (1 + workers)

/** Longer than the time between two runs for a camera's pictures. Sleeping costs nothing. */
export const WAIT_MS = 50

/** Threads but the first have numbers from 1. */
const seatOf = (gate: number, thread: number): number => (gate + LINE_BYTES * thread) / 4

/** A worker's own state. */
export interface WorkerState extends ThreadState {
  readonly thread: number
  readonly threads: number
  readonly waitMs: number
  /** The run that it joined last. */
  joined: number
}

const runIn = (word: number): number => word & ~(GATE.workers | GATE.ended)

/**
 * Lets workers join a run from now on. Call it after the states of its steps are 0. `lists`: one per thread,
 * the caller's first.
 */
export function openRun(
  { gate, memory, functions }: ThreadState,
  number: number,
  lists: readonly StepList[],
): void {
  const words = new Int32Array(memory.buffer)
  for (const [thread, { entries, count, states }] of lists.entries()) {
    if (thread === 0) continue
    const seat = seatOf(gate, thread)
    words[seat + SEAT.entries] = entries
    words[seat + SEAT.count] = count
    words[seat + SEAT.states] = states
    words[seat + SEAT.functions] = functions.length
    words[seat + SEAT.pages] = memory.buffer.byteLength / PAGE_BYTES
  }
  Atomics.store(words, gate / 4, number * GATE.run)
}

/** Calls a worker to the open run. Returns false if the worker has to be sent a message. */
export function callWorker({ gate, memory }: ThreadState, thread: number): boolean {
  const words = new Int32Array(memory.buffer)
  const seat = seatOf(gate, thread) + SEAT.state
  const before = Atomics.exchange(words, seat, CALLED)
  if (before === WAITING) Atomics.notify(words, seat)
  return before !== AWAY
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

/** Sends waiting workers back to their messages, from which the pool terminates them. */
export function endWaits({ gate, memory }: ThreadState, threads: number): void {
  const words = new Int32Array(memory.buffer)
  for (let thread = 1; thread < threads; thread++) {
    const seat = seatOf(gate, thread) + SEAT.state
    Atomics.store(words, seat, AWAY)
    Atomics.notify(words, seat)
  }
}

/**
 * A worker's part of all runs to which it is called, until none has begun for `waitMs` milliseconds. Call it
 * after each message.
 */
export function serveRuns(state: WorkerState): void {
  const words = new Int32Array(state.memory.buffer)
  const seat = seatOf(state.gate, state.thread) + SEAT.state
  // From here on, a run that opens wakes this thread, unless `joinRun` finds it first.
  while (Atomics.compareExchange(words, seat, CALLED, WAITING) === CALLED) {
    if (!joinRun(state)) {
      Atomics.store(words, seat, CALLED)
      return
    }
    if (Atomics.wait(words, seat, WAITING, state.waitMs) === 'timed-out')
      Atomics.compareExchange(words, seat, WAITING, AWAY)
  }
}

/** Takes part in the open run, if any. Returns false if its functions are still among the messages. */
function joinRun(state: WorkerState): boolean {
  const { memory, gate, functions, thread, threads } = state
  const words = new Int32Array(memory.buffer)
  for (let seen = Atomics.load(words, gate / 4); ; ) {
    if ((seen & GATE.ended) !== 0 || runIn(seen) === state.joined) return true
    const old = Atomics.compareExchange(words, gate / 4, seen, seen + 1)
    if (old === seen) break
    seen = old
  }
  const seat = seatOf(gate, thread)
  const isComplete = functions.length >= words[seat + SEAT.functions]!
  if (isComplete) {
    state.joined = runIn(Atomics.load(words, gate / 4))
    // V8 shows a thread the memory that another one has grown only when it next handles interrupts.
    if (memory.buffer.byteLength < words[seat + SEAT.pages]! * PAGE_BYTES) memory.grow(0)
    const list = {
      entries: words[seat + SEAT.entries]!,
      count: words[seat + SEAT.count]!,
      states: words[seat + SEAT.states]!,
    }
    runSteps(state, list, thread, threads)
  }
  if ((Atomics.sub(words, gate / 4, 1) & GATE.ended) !== 0) Atomics.notify(words, gate / 4)
  return isComplete
}
