// Measures how busy the machine's processors are while the suite itself waits.
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'

const WINDOW_MS = 200
const ENOUGH = 0.1

/**
 * Waits at most `patienceMs` until the machine is nearly idle; returns the share of all processors in use, 0
 * to 1.
 */
export async function waitForQuiet(patienceMs: number): Promise<number> {
  const until = performance.now() + patienceMs
  for (;;) {
    const busy = await busyShare()
    if (busy < ENOUGH || performance.now() > until) return busy
  }
}

async function busyShare(): Promise<number> {
  const before = times()
  await sleep(WINDOW_MS)
  const after = times()
  return 1 - (after.idle - before.idle) / Math.max(1, after.total - before.total)
}

function times(): { idle: number; total: number } {
  let idle = 0
  let total = 0
  for (const cpu of cpus()) {
    idle += cpu.times.idle
    total += Object.values(cpu.times).reduce((sum, each) => sum + each, 0)
  }
  return { idle, total }
}
