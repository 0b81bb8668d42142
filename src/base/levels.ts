// Levels. In: a value on its way to another thread. Out: nothing, or the error for one that would not arrive.
import { HalfbyteError } from './errors.ts'

/** Browsers write some 6,000 levels and read some 1,500; what they cannot read is dropped, and nobody is told of it. */
const MOST_LEVELS = 256

/** Throws `unsupported` for a value of more levels of lists and objects, and so for one that comes back to itself. */
export function checkLevels(value: unknown): void {
  let level: readonly object[] = [[value]]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS)
      throw new HalfbyteError(
        'unsupported',
        `a value nests more than ${MOST_LEVELS} levels or comes back to itself, so the engine cannot be given it; flatten it`,
        { most: MOST_LEVELS },
      )
    // Each object once a level: many that hold the same one would be too many to look at.
    const below = new Set<object>()
    for (const each of level) {
      if (ArrayBuffer.isView(each)) continue
      for (const child of Object.values(each)) if (typeof child === 'object' && child) below.add(child)
    }
    level = [...below]
  }
}
