// Reads the memory of processes in bytes, with shared pages counted once; Linux only.
import { readFile } from 'node:fs/promises'

/** Sum of proportional set sizes; undefined if the system does not report them. */
export async function heldBytes(pids: readonly number[]): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  let sum = 0
  for (const pid of pids) {
    // The process may have ended meanwhile.
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
    sum += Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024
  }
  return sum
}
