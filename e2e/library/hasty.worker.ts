// An engine worker whose patience is short. In: nothing. Out: the real engine worker, whose long waits are 150 times as short.
import '../../workers/engine.worker.ts'

const { setTimeout } = globalThis
globalThis.setTimeout = ((work: () => void, ms = 0) =>
  setTimeout(work, ms / 50)) as typeof globalThis.setTimeout

// It ends on command, in the middle of whatever it does.
new BroadcastChannel('hasty').addEventListener('message', () => self.close())
