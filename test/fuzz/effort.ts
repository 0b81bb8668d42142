// Effort. In: a process that is looked at again and again. Out: how long it worked or slept between two
// looks. The time in which it was halted, or waited for a processor, does not count.
import { readFileSync } from 'node:fs'

/** Linux counts processor time in hundredths of a second for every program (USER_HZ). */
const TICK_MS = 10
/**
 * Places in /proc/PID/stat, after the name in brackets: state, and ticks in the program and in the kernel.
 */
const STATE = 0
const USER = 11
const SYSTEM = 12

/**
 * Call the result every `everyMs`: it returns the ms since the call before. A process that sleeps, as one
 * does that waits forever, counts with `everyMs`; so does every look where there is no /proc.
 */
export function effortOf(pid: number, everyMs: number): () => number {
  let before = 0
  return () => {
    const fields = statOf(pid)
    if (fields === undefined) return everyMs
    const ticks = Number(fields[USER]) + Number(fields[SYSTEM])
    const worked = (ticks - before) * TICK_MS
    before = ticks
    return worked === 0 && fields[STATE] === 'S' ? everyMs : worked
  }
}

function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return undefined
  }
}
