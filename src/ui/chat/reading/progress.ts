// Progress of reading a prompt. In: the engine's reports. Out: those worth showing.
import type { PrefillProgress } from '../../../engine/api/types.ts'

/** Milliseconds after which reading counts as long. Shorter reading would only flicker. */
const LONG_MS = 1000

/** Passes on the reports that arrive more than a second from now. */
export function whenLong(
  show: (progress: PrefillProgress) => void,
  now: () => number = () => performance.now(),
): (progress: PrefillProgress) => void {
  const start = now()
  return (progress) => {
    if (now() - start > LONG_MS) show(progress)
  }
}
