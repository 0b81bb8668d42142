// The process under test: `halfbyte serve` on a tiny model, which reports its memory on request.
import { serveEngine } from '../../../src/tools/cli/serve/http-server.ts'
import { ggufFile } from '../../conformance/testing/model-files.ts'
import { openEngine } from '../../conformance/testing/node-engine.ts'
import { randomLlama } from '../../conformance/testing/random-llama.ts'
import { type Census, takeCensus } from '../census.ts'
import { CONTEXT_LENGTH, MAX_REQUESTS, STATE_BYTES } from './limits.ts'

/** What the process reports about itself. */
export interface Told extends Census {
  /** Linear memory of the engine. */
  readonly wasmBytes: number
  /** State in use by replies, excluding state cached for later prompts. */
  readonly stateBytes: number
  readonly keptBytes: number
  /** Requests that have ended since the start, by status. */
  readonly ended: Readonly<Record<string, number>>
}

const speaker = randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: CONTEXT_LENGTH })
const engine = await openEngine([await ggufFile(speaker)], {
  contextLength: CONTEXT_LENGTH,
  stateBytes: STATE_BYTES,
})
const ended: Record<string, number> = {}
const serving = await serveEngine(engine, {
  port: 0,
  maxRequests: MAX_REQUESTS,
  onRequest({ status }) {
    ended[status] = (ended[status] ?? 0) + 1
  },
})

process.on('message', async (question) => {
  if (question === 'end') {
    await serving.close()
    await engine.dispose()
    return process.disconnect()
  }
  const census = await takeCensus()
  const { totalBytes, stateBytes, keptBytes } = await engine.memory()
  process.send?.({ ...census, wasmBytes: totalBytes, stateBytes, keptBytes, ended } satisfies Told)
})
// The parent may exit without sending a signal.
process.once('disconnect', () => process.exit())
process.send?.(serving.address)
