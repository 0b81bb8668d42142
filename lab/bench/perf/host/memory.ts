// Tells the bytes that processes hold, shared pages counted once; Linux only.
import { readFile } from 'node:fs/promises'

/** Proportional set sizes, summed; undefined where the system does not tell. */
export async function heldBytes(pids: readonly number[]): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  let sum = 0
  for (const pid of pids) {
    // A process may have ended meanwhile.
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    sum += Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024
  }
  return sum
}
