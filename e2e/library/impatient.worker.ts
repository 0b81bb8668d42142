// An engine worker that looks ten times as often. In: nothing. Out: the real engine worker, patient for 2 seconds in place of 20.
import '../../workers/engine.worker.ts'

const { setInterval } = globalThis
globalThis.setInterval = ((work: () => void, ms = 0) =>
  setInterval(work, ms / 10)) as typeof globalThis.setInterval
