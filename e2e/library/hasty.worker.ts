// An engine worker with short timeouts. The real engine worker, whose long waits are 150 times shorter.
import '../../workers/engine.worker.ts'

const { setTimeout } = globalThis
globalThis.setTimeout = ((work: () => void, ms = 0) =>
  setTimeout(work, ms / 50)) as typeof globalThis.setTimeout

// Ends on command, whatever it is doing.
new BroadcastChannel('hasty').addEventListener('message', () => self.close())
