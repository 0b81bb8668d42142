// Checks of an export. In: its files and ONNX Runtime's logits. Out: a rejection, or how far our logits
// differ, with the prompt at once and then token by token, with f32 weights and as loaded by a page.
import { isHalfbyteError } from '../../../../src/core/base/errors.ts'
import type { BuiltModel } from '../../../../src/engine/load/build-model.ts'
import { withModel } from '../../testing/node-engine.ts'
import { openGraph } from '../open-graph.ts'
import type { Export } from './folder.ts'
import { bounds, largestRelative, type Verdict, verdictOf } from './verdict.ts'

export async function judgeExport({ meta, sources, tokens, logits, floats }: Export): Promise<Verdict> {
  // A graph may use other frequencies for longer texts; a plan chooses them by its context length.
  const options = (weights: 'f32' | 'auto') => ({ weights, contextLength: tokens.length })
  const rows = async (weights: 'f32' | 'auto') =>
    withModel(await openGraph(sources, { bfloats: weights === 'auto' }), options(weights), (built) =>
      stepsOf(built, tokens, meta.prompt),
    )
  try {
    const most = bounds(meta.kind, meta.moved)
    const exact = largestRelative(await rows('f32'), floats ?? logits)
    const usual = largestRelative(await rows('auto'), logits)
    return verdictOf({ found: exact, most: most.exact }, { found: usual, most: most.usual })
  } catch (error) {
    if (isHalfbyteError(error)) return { is: 'refused', why: `${error.code}: ${error.message}` }
    throw error
  }
}

/** [position][vocab] */
async function stepsOf(built: BuiltModel, tokens: readonly number[], prompt: number) {
  const rows: Float32Array[] = []
  const sequence = built.newSequence()
  const { signal } = new AbortController()
  const onLogits = (position: number, row: Float32Array) => {
    rows[position] = row.slice()
  }
  try {
    for (let end = prompt; end <= tokens.length; end++) {
      sequence.setTokens(tokens.slice(0, end))
      await built.scheduler.forward({ sequence, logits: 'all', onLogits, signal })
    }
  } finally {
    sequence.release()
  }
  return rows
}
