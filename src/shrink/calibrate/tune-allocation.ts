// Changes the sparsity of single products within a budget, as long as the whole model loses less on the text.
// Measured losses are a work file, so a run that was stopped can continue.
import { weightOf } from '../../arch/tensors/names.ts'
import { parseJson } from '../../base/json.ts'
import { buildModel } from '../../engine/load/build-model.ts'
import { type PreparedModel, prepareModel } from '../../engine/load/prepare.ts'
import { scoreWindow } from '../../evaluate/perplexity.ts'
import { type Chosen, type SparsityChoice, type SparsityItem, tune } from '../prune/allocate.ts'
import { type Lost, SPARSITIES, type SurveyOptions, surveyed } from './survey-sparsity.ts'
import { readWork } from './work-files.ts'

export interface Tuning {
  /** Most rounds, each of which measures up to four losses for every product. */
  readonly rounds: number
  /** Called with the number of losses that are known. */
  readonly onLoss?: ((done: number) => void) | undefined
}

export interface TuneAllocationOptions<Choice extends SparsityChoice> extends SurveyOptions {
  readonly tuning: Tuning
  /** With its codes. */
  readonly products: readonly Lost[]
  /** Of each product, with a choice for each of SPARSITIES. */
  readonly items: readonly SparsityItem<Choice>[]
  /** What the costs of all choices may add up to. */
  readonly limit: number
  /** Within the limit. */
  readonly start: ReadonlyMap<string, Choice>
}

const LOSSES = 'tuned.losses'

/**
 * Begins at `start`, or at the least sparsity that is within the limit for all products alike, whichever
 * loses less. Throws what loading and running the model throw, and the signal's reason.
 */
export async function tuneAllocation<Choice extends SparsityChoice>(
  prepared: PreparedModel,
  options: TuneAllocationOptions<Choice>,
): Promise<ReadonlyMap<string, Choice>> {
  const { items, limit, work } = options
  const { rounds, onLoss } = options.tuning
  const whole = await wholeModel(prepared, options)
  const known = await knownLosses(options)
  const lossOf = async (chosen: Chosen): Promise<number> => {
    const key = chosen.join()
    const loss = known.get(key) ?? (await lossWith(whole, chosen, options))
    if (!known.has(key)) {
      known.set(key, loss)
      await work.write(LOSSES, [new TextEncoder().encode(JSON.stringify([...known]))])
    }
    onLoss?.(known.size)
    return loss
  }
  let start: Chosen = items.map(({ name, choices }) => choices.indexOf(options.start.get(name)!))
  const even = evenly(items, limit)
  if (even !== undefined && (await lossOf(even)) < (await lossOf(start))) start = even
  const { chosen } = await tune(items, { budget: limit, start, rounds, lossOf })
  return new Map(items.map(({ name, choices }, at) => [name, choices[chosen[at]!]!]))
}

async function knownLosses({ work }: Pick<SurveyOptions, 'work'>): Promise<Map<string, number>> {
  const bytes = await readWork(work, LOSSES)
  return new Map(
    bytes === undefined ? [] : (parseJson(new TextDecoder().decode(bytes)) as [string, number][]),
  )
}

/** The same sparsity for all. */
function evenly(items: readonly SparsityItem[], limit: number): Chosen | undefined {
  for (const index of SPARSITIES.keys()) {
    const cost = items.reduce((sum, { choices }) => sum + choices[index]!.cost, 0)
    if (cost <= limit) return items.map(() => index)
  }
  return undefined
}

/** The model to run: the windows' context, each matrix as it is prepared. */
export async function wholeModel(
  prepared: PreparedModel,
  { windows, signal, format }: Pick<SurveyOptions, 'windows' | 'signal' | 'format'>,
): Promise<PreparedModel> {
  const plain = await prepareModel(prepared.file, {
    weights: format === 'w4_g32' ? 'w4' : 'w8',
    contextLength: windows[0]?.length ?? 1,
    beyondTraining: true,
    signal,
  })
  const weights = new Map(
    [...plain.weights].map(([name, tensor]) => [name, prepared.weights.get(name) ?? tensor]),
  )
  return { ...plain, weights }
}

/**
 * Mean loss of a token of the windows, in nats, where product i has the codes of SPARSITIES[chosen[i]] and
 * the others those of `whole`.
 */
export async function lossWith(
  whole: PreparedModel,
  chosen: Chosen,
  options: SurveyOptions & Pick<TuneAllocationOptions<SparsityChoice>, 'products'>,
): Promise<number> {
  const { products, windows, host, signal, threads } = options
  const weights = new Map(whole.weights)
  for (const [at, { names, k }] of products.entries()) {
    if (chosen[at] === 0) continue
    for (const name of names) {
      const [n = 0] = weightOf(whole.weights, name).shape
      weights.set(name, await surveyed(options, name, chosen[at]!, [n, k]))
    }
  }
  const hooks = { signal, onProgress: () => undefined }
  const built = await buildModel({ ...whole, weights }, { host, threads, build: 'auto' }, hooks)
  try {
    let sum = 0
    let count = 0
    for (const ids of windows) {
      const sequence = built.newSequence()
      const own = await scoreWindow(
        ids,
        async (tokens, onLogits) => {
          sequence.setTokens(tokens)
          await built.scheduler.forward({ sequence, logits: 'all', onLogits, signal })
        },
        { first: 0, signal },
      ).finally(() => sequence.release())
      sum += own.sum
      count += own.count
    }
    return sum / count
  } finally {
    await built.dispose()
  }
}
