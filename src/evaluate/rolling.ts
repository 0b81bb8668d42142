// Rolling windows. In: the ids of a whole document. Out: windows in which each of its tokens is scored once.
import type { EncodedPair } from './pairs.ts'

/**
 * The first window scores its own tokens after `prefix`; each later one scores the next `maxTokens` tokens,
 * the first of them after the token before. The last window is moved back as far as it can be, so what it
 * scores has a long context. Source: `get_rolling_token_windows` with `context_len` 1 and
 * `make_disjoint_window` of lm-evaluation-harness 0.4.
 */
export function rollingWindows(ids: readonly number[], prefix: number, maxTokens: number): EncodedPair[] {
  const windows: EncodedPair[] = []
  for (let done = 0; done < ids.length; ) {
    const end = Math.min(done + maxTokens, ids.length)
    const context = done === 0 ? [prefix] : ids.slice(Math.max(0, end - maxTokens - 1), done)
    windows.push({ context, continuation: ids.slice(done, end) })
    done = end
  }
  return windows
}
