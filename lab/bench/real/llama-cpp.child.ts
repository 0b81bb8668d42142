// Runs llama.cpp in its own process: greedy ids, each with the most likely alternatives, and
// log-probabilities of given tokens.
//
// The addon exposes probabilities of all tokens, not logits; logarithms of probabilities differ from logits
// by one constant per row.
import {
  type Context,
  openAddonModel,
  type Sampler,
  startAddon,
} from '../../../test/conformance/testing/llama-cpp-addon.ts'
import type { Answer, Candidate, Order } from './reference.ts'

/** How many of the most likely tokens are reported. */
const KEPT = 16
let context: Context
let sampler: Sampler

async function load(order: Extract<Order, { type: 'load' }>): Promise<Answer> {
  const addon = await startAddon(order.addonPath!, () => {})
  const model = await openAddonModel(addon, order.modelPath)
  context = new addon.AddonContext(model, {
    contextSize: order.context,
    batchSize: order.context,
    sequences: 1,
    flashAttention: false,
    threads: order.threads,
  })
  if (!(await context.init())) throw new Error('llama.cpp cannot create a context')
  sampler = new addon.AddonSampler(model)
  sampler.applyConfig({ temperature: 0 })
  return {}
}

/** Ids and probabilities alternate; the most likely comes first. */
async function rowOf(row: number): Promise<number[]> {
  return (await context.sampleToken(row, sampler, true))[1]
}

async function decode(
  position: number,
  tokens: readonly number[],
  wanted: readonly number[],
): Promise<Uint32Array> {
  context.initBatch(tokens.length)
  const rows = context.addToBatch(0, position, Uint32Array.from(tokens), Uint32Array.from(wanted))
  await context.decodeBatch()
  return rows
}

async function greedy(prompt: readonly number[], count: number): Promise<Answer> {
  const found: Candidate[][] = []
  let [row = 0] = await decode(0, prompt, [prompt.length - 1])
  while (found.length < count) {
    const pairs = await rowOf(row)
    const best = Array.from({ length: KEPT }, (_, at) => ({
      id: pairs[2 * at]!,
      logProbability: Math.log(pairs[2 * at + 1]!),
    }))
    found.push(best)
    const id = best[0]!.id
    if (found.length < count) [row = 0] = await decode(prompt.length + found.length - 1, [id], [0])
  }
  context.disposeSequence(0)
  return { greedy: found }
}

async function window(tokens: readonly number[], targets: readonly number[], from: number): Promise<Answer> {
  const wanted = tokens.map((_, at) => at).filter((at) => at >= from && at < tokens.length - 1)
  const rows = await decode(0, tokens, wanted)
  const logProbabilities: number[] = []
  for (const [index, at] of wanted.entries()) {
    const pairs = await rowOf(rows[index]!)
    const target = targets[at + 1]!
    for (let pair = 0; pair < pairs.length; pair += 2)
      if (pairs[pair] === target) logProbabilities.push(Math.log(pairs[pair + 1]!))
  }
  context.disposeSequence(0)
  if (logProbabilities.length !== wanted.length) throw new Error('llama.cpp omitted a token')
  return { logProbabilities }
}

async function answer(order: Order): Promise<Answer> {
  if (order.type === 'load') return load(order)
  if (order.type === 'greedy') return greedy(order.prompt, order.count)
  if (order.type === 'tokenize' || order.type === 'chat' || order.type === 'rows')
    throw new Error(`the addon cannot answer ${order.type}; use --python`)
  return window(order.tokens, order.targets, order.from)
}

process.on('message', async (order: Order) => {
  process.send?.(await answer(order).catch((error): Answer => ({ failure: String(error) })))
})
// The parent process has exited.
process.on('disconnect', () => process.exit())
