// Progress. In: a load's reports. Out: one line of stderr, overwritten by the next; nothing if stderr is not
// a terminal.
import type { LoadProgress } from '../../engine/wire/protocol.ts'

export const showProgress = (event: LoadProgress): void => overwrite(describe(event))

export const clearProgress = (): void => overwrite('')

/** Replaces the terminal's last line. */
export function overwrite(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${text}`)
}

function describe(event: LoadProgress): string {
  switch (event.phase) {
    case 'download':
      return event.total > 0
        ? `reading ${megabytes(event.loaded)} of ${megabytes(event.total)} MB`
        : `reading ${megabytes(event.loaded)} MB`
    case 'convert':
      return `preparing weights, ${event.done} of ${event.total}`
    case 'compile':
      return 'compiling kernels'
    case 'warmup':
      return 'warming up'
    default:
      return event satisfies never
  }
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1)
