// Runs a pack on the held-out examples: the loss of each, and answers to some of their prompts.
import { EXACT_KV } from '../../../core/graph/ir.ts'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import { negativeLogLikelihood } from '../../../engine/score/perplexity.ts'
import type { ExampleLoss } from '../../tune/compare-losses.ts'
import type { Encoded, EncodedExample } from '../../tune/encode-example.ts'
import { engineOver } from '../command-engine.ts'
import { GREEDY } from '../commands/eval.ts'
import { forwardRows, withModel } from '../models/model.ts'

interface RunOptions {
  /** A pack's path. */
  readonly pack: string
  readonly held: readonly EncodedExample[]
  /** How many of the held-out examples are answered. */
  readonly samples: number
  /** Maximum tokens of a sequence and its answer together. */
  readonly context: number
  readonly threads: number | 'auto'
  readonly signal: AbortSignal
  /** Called after each loss and each answer; `total` counts both. */
  readonly onProgress: (done: number, total: number) => void
}

interface HeldResults {
  readonly losses: readonly ExampleLoss[]
  /** Answers to the first prompts. */
  readonly answers: readonly string[]
}

/** Maximum tokens of an answer: twice the expected ones, and some more. */
const ROOM = 32

/** Greedy answers. Throws what loading and running throw. */
export function runPack({
  pack,
  held,
  samples,
  signal,
  onProgress,
  ...options
}: RunOptions): Promise<HeldResults> {
  const prompts = held.slice(0, samples).map(samplePrompt)
  const room = Math.max(
    ...prompts.map(({ prompt, expected }) => prompt.length + 2 * expected.length + ROOM),
    0,
  )
  const context = Math.max(options.context, room)
  const flags = { weights: 'auto', build: 'auto', kv: EXACT_KV, threads: options.threads, context } as const
  return withModel(pack, flags, signal, async (built) => {
    const total = held.length + prompts.length
    const losses: ExampleLoss[] = []
    for (const { sequences } of held) {
      losses.push(await lossOf(built, sequences, signal))
      onProgress(losses.length, total)
    }
    const answers: string[] = []
    await using engine = await engineOver(built)
    for (const { prompt, expected } of prompts) {
      const maxTokens = 2 * expected.length + ROOM
      const { text } = await engine.complete([...prompt], { ...GREEDY, maxTokens, signal }).result
      answers.push(text)
      onProgress(losses.length + answers.length, total)
    }
    return { losses, answers }
  })
}

/** The loss of the sequences' trained tokens. */
async function lossOf(
  built: BuiltModel,
  sequences: readonly Encoded[],
  signal: AbortSignal,
): Promise<ExampleLoss> {
  let loss = 0
  let tokens = 0
  for (const { ids, trained } of sequences) {
    const isTrained = (at: number) => trained.some(([begin, end]) => begin <= at && at < end)
    await forwardRows(built)(
      ids,
      (position, logits) => {
        const next = position + 1
        if (next >= ids.length || !isTrained(next)) return
        loss += negativeLogLikelihood(logits, ids[next]!)
        tokens++
      },
      signal,
    )
  }
  return { loss, tokens }
}

/**
 * The ids before an example's last answer, and those of the answer. Of a text, the second half is asked for.
 */
export function samplePrompt({ example, sequences }: EncodedExample): {
  readonly prompt: readonly number[]
  readonly expected: readonly number[]
} {
  const { ids, trained } = sequences.at(-1)!
  const [begin, end] = trained.at(-1)!
  const at = example.form === 'text' ? Math.ceil(ids.length / 2) : begin
  return { prompt: ids.slice(0, at), expected: ids.slice(at, end) }
}
