// Levels. In: a value to send to another thread. Out: nothing, or an error when it is nested too deeply to
// arrive.
import { HalfbyteError } from './errors.ts'

/**
 * Browsers can send about 6,000 levels and receive about 1,500. They drop deeper messages without an error.
 */
const MOST_LEVELS = 256

/**
 * Throws `unsupported` for a value with more nested lists and objects than that. A circular value always has
 * more.
 */
export function checkLevels(value: unknown): void {
  let level: readonly object[] = [[value]]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MOST_LEVELS)
      throw new HalfbyteError(
        'unsupported',
        `a value nests more than ${MOST_LEVELS} levels or comes back to itself, so the engine cannot be given it; flatten it`,
        { most: MOST_LEVELS },
      )
    // Visit each object once per level: objects that share children could otherwise multiply without limit.
    const below = new Set<object>()
    for (const each of level) {
      if (ArrayBuffer.isView(each)) continue
      for (const child of Object.values(each)) if (typeof child === 'object' && child) below.add(child)
    }
    level = [...below]
  }
}
