// Effort. In: a process that is sampled repeatedly. Out: how long it worked or slept between two samples.
// Time during which it was suspended or waited for a processor does not count.
import { readFileSync } from 'node:fs'

/** Linux reports processor time in hundredths of a second (USER_HZ). */
const TICK_MS = 10
/** Field indices in /proc/PID/stat, after the name in brackets: state, user ticks, kernel ticks. */
const STATE = 0
const USER = 11
const SYSTEM = 12

/**
 * Call the result every `everyMs`: it returns the ms of effort since the previous call. A sleeping process,
 * such as one that waits forever, counts as `everyMs`, and so does every sample on systems without /proc.
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
