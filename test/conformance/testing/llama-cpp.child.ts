// llama.cpp in its own process. In: messages, each with a GGUF file, ids and the addon's path. Out: an answer
// to each: every row's probabilities, or an encoder's vector or score.
//
// The addon of node-llama-cpp does not expose logits, but it does expose the probabilities of all tokens at
// temperature 1. Their logarithms are the logits plus one constant per row.
import { type Addon, type Model, openAddonModel, startAddon } from './llama-cpp-addon.ts'

export interface ReferenceOrder {
  readonly modelPath: string
  readonly addonPath: string
  readonly tokens: readonly number[]
  /** The requested result of an encoder: its pooled vector, or a reranker's score. Default: probabilities. */
  readonly pooled?: 'vector' | 'score' | undefined
}
/** Alternating ids and probabilities, one list per row; for an encoder, one list of values. */
export interface ReferenceAnswer {
  readonly rows?: readonly (readonly number[])[]
  readonly failure?: string
}

const log: string[] = []
let started: Promise<Addon> | undefined

async function run({ modelPath, addonPath, ...asked }: ReferenceOrder): Promise<ReferenceAnswer> {
  started ??= startAddon(addonPath, (text) => log.push(text))
  const addon = await started
  const model = await openAddonModel(addon, modelPath).catch((error: Error) => {
    throw new Error(`${error.message}: ${log.slice(-5).join(' ')}`)
  })
  try {
    return await answerOf(addon, model, asked)
  } finally {
    await model.dispose()
  }
}

async function answerOf(
  addon: Addon,
  model: Model,
  { tokens, pooled }: Pick<ReferenceOrder, 'tokens' | 'pooled'>,
): Promise<ReferenceAnswer> {
  const context = new addon.AddonContext(model, {
    contextSize: 512,
    batchSize: 512,
    sequences: 1,
    flashAttention: false,
    threads: 1,
    embeddings: pooled !== undefined,
    ranking: pooled === 'score',
  })
  if (!(await context.init()))
    throw new Error(`llama.cpp cannot create a context: ${log.slice(-5).join(' ')}`)
  try {
    if (pooled !== undefined) {
      context.initBatch(tokens.length)
      context.addToBatch(
        0,
        0,
        Uint32Array.from(tokens),
        Uint32Array.from(tokens, (_, index) => index),
      )
      await context.decodeBatch()
      return { rows: [[...context.getEmbedding(tokens.length, pooled === 'score' ? 1 : undefined)]] }
    }
    const sampler = new addon.AddonSampler(model)
    sampler.applyConfig({ temperature: 0 })
    const rows: number[][] = []
    for (const [position, token] of tokens.entries()) {
      context.initBatch(1)
      const [row = 0] = context.addToBatch(0, position, Uint32Array.of(token), Uint32Array.of(0))
      await context.decodeBatch()
      rows.push([...(await context.sampleToken(row, sampler, true))[1]])
    }
    return { rows }
  } finally {
    await context.dispose()
  }
}

process.on('message', async (order: ReferenceOrder) => {
  const answer = await run(order).catch((error): ReferenceAnswer => ({ failure: String(error) }))
  process.send?.(answer)
})
// The parent process has exited.
process.on('disconnect', () => process.exit())
