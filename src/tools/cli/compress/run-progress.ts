// Progress of a run over blocks: a terminal's last line, or without a terminal a new line from time to time.
import type { WalkProgress } from '../../shrink/calibrate/walk.ts'

/** Without a terminal: the minimum time between two lines. */
const BETWEEN_MS = 60_000

interface ProgressOutput {
  /** Milliseconds. */
  readonly now: () => number
  /** Replaces the terminal's last line. */
  readonly overwrite: (text: string) => void
  /** Writes a line when there is no terminal to overwrite; undefined on a terminal. */
  readonly line: ((text: string) => void) | undefined
}

/**
 * Estimates the time left as the mean time of the blocks finished in this run times the blocks left. Blocks
 * finished by an earlier run do not count, and nothing is printed before the first is finished.
 */
export function runProgress({ now, overwrite, line }: ProgressOutput): (progress: WalkProgress) => void {
  let first: { readonly segment: number; readonly at: number } | undefined
  let last = now()
  let began: { readonly segment: number; readonly at: number } | undefined
  return ({ segment, segments, what, done, total }) => {
    // A survey visits all blocks before the first is solved.
    if (first === undefined || segment < (began?.segment ?? 0)) first = { segment, at: now() }
    if (began?.segment !== segment) began = { segment, at: now() }
    const finished = began.segment - first.segment
    const left =
      finished === 0
        ? ''
        : `, about ${duration(((began.at - first.at) / finished) * (segments - segment) - (now() - began.at))} left`
    const text = `block ${segment + 1} of ${segments}${left}: ${what}, ${done} of ${total}`
    overwrite(text)
    if (line === undefined || now() - last < BETWEEN_MS) return
    last = now()
    line(text)
  }
}

function duration(ms: number): string {
  const minutes = Math.round(Math.max(0, ms) / 60_000)
  if (minutes < 1) return 'a minute'
  return minutes < 120 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`
}
