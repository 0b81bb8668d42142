// The successor. In: a loaded engine and its replacement. Out: whether both fit in memory, and whether the
// new one answers.
import type { Engine } from '../../../src/index.ts'

/**
 * Engines up to this many bytes of memory stay while the successor loads. A phone has no memory for two large
 * ones.
 */
const SMALL_BYTES = 256e6

/** True if the engine is small enough to stay while another one is loaded. */
export async function canStay(engine: Engine): Promise<boolean> {
  try {
    return (await engine.memory()).totalBytes <= SMALL_BYTES
  } catch {
    // There is no point in keeping a dead engine.
    return false
  }
}

/** Resolves once the engine has generated one token; rejects with the reason if it cannot. */
export async function tryOut(engine: Engine, signal: AbortSignal): Promise<void> {
  const session = engine.createSession()
  const answer = session.send('Hello', { maxTokens: 1, temperature: 0, signal })
  for await (const _ of answer) break
  await answer.result
  await session.dispose()
}
