// Scores a model some of whose tensors are replaced: perplexity, and the loss of each window for paired
// differences.
import type { TensorInfo } from '../../src/core/formats/tensors.ts'
import type { Host } from '../../src/core/runtime/host.ts'
import type { WeightPolicy } from '../../src/core/weights/policy.ts'
import { type BuiltModel, buildModel } from '../../src/engine/load/build-model.ts'
import { type PreparedModel, prepareModel } from '../../src/engine/load/prepare.ts'
import { perplexityOfTokens, scoreWindow, type WindowTally } from '../../src/engine/score/perplexity.ts'
import { forwardRows } from '../../src/tools/cli/models/model.ts'

interface ScoreOptions {
  /** Precision of the model that is scored. */
  readonly weights: WeightPolicy
  /** Tokens of a window; its second half is scored, like in `halfbyte perplexity`. */
  readonly context: number
  /** Maximum windows. */
  readonly chunks: number
  readonly threads: number
  readonly host: Host
  readonly signal: AbortSignal
}

interface Score {
  readonly perplexity: number
  readonly error: number | undefined
  readonly windows: number
  readonly scored: number
  /** Nats per token of each window. */
  readonly windowLosses: readonly number[]
}

/** `replaced`: tensors by canonical name. `ids`: the whole text. */
export const replacedLoss = (
  prepared: PreparedModel,
  replaced: ReadonlyMap<string, TensorInfo>,
  ids: ArrayLike<number>,
  options: ScoreOptions,
): Promise<Score> =>
  withReplaced(prepared, replaced, { ...options, contextLength: options.context }, (built) =>
    lossOf(built, ids, options),
  )

interface ReplacedOptions extends Pick<ScoreOptions, 'weights' | 'threads' | 'host' | 'signal'> {
  /** Maximum tokens of a sequence. */
  readonly contextLength: number
}

/** Loads the model with the replaced tensors, and stops its threads after `use`. */
export async function withReplaced<T>(
  prepared: PreparedModel,
  replaced: ReadonlyMap<string, TensorInfo>,
  { weights, contextLength, host, threads, signal }: ReplacedOptions,
  use: (built: BuiltModel) => Promise<T>,
): Promise<T> {
  // Replaces tensors under the file's names, so that encodings are chosen for the new values.
  const changed = new Map<string, TensorInfo>()
  for (const [name, tensor] of prepared.weights) {
    const now = replaced.get(name)
    if (now !== undefined) changed.set(tensor.name, { ...now, name: tensor.name })
  }
  const tensors = new Map(
    [...prepared.file.tensors].map(([name, tensor]) => [name, changed.get(name) ?? tensor]),
  )
  const built = await buildModel(
    await prepareModel(
      { ...prepared.file, tensors },
      { weights, contextLength, beyondTraining: true, signal },
    ),
    { host, threads, build: 'auto' },
    { signal, onProgress: () => undefined },
  )
  try {
    return await use(built)
  } finally {
    await built.dispose()
  }
}

/** `ids`: the whole text. */
export async function lossOf(
  built: BuiltModel,
  ids: ArrayLike<number>,
  options: Pick<ScoreOptions, 'context' | 'chunks' | 'signal'>,
): Promise<Score> {
  const tallies = await tally(built, ids, options)
  const [sum, squares, count] = (['sum', 'squares', 'count'] as const).map((what) =>
    tallies.reduce((total, each) => total + each[what], 0),
  ) as [number, number, number]
  const { value, error } = perplexityOfTokens({ sum, squares, count })
  const windowLosses = tallies.map((each) => Number((each.sum / each.count).toFixed(5)))
  return { perplexity: value, error, windows: tallies.length, scored: count, windowLosses }
}

async function tally(
  built: BuiltModel,
  ids: ArrayLike<number>,
  { context, chunks, signal }: Pick<ScoreOptions, 'context' | 'chunks' | 'signal'>,
): Promise<WindowTally[]> {
  const bos = built.tokenizer.addsBos ? built.tokenizer.bosId : undefined
  const count = Math.min(chunks, Math.floor(ids.length / context))
  const tallies: WindowTally[] = []
  for (let window = 0; window < count; window++) {
    const own = Array.from({ length: context }, (_, at) => ids[window * context + at]!)
    tallies.push(await scoreWindow(own, forwardRows(built), { first: Math.floor(context / 2), bos, signal }))
  }
  return tallies
}
