// Runs native llama.cpp in its own process, which answers prompts with greedy tokens and timings.
// The addon of node-llama-cpp is called directly, because its JavaScript would only add overhead.
import {
  type Context,
  openAddonModel,
  type Sampler,
  startAddon,
} from '../../../../test/conformance/testing/llama-cpp-addon.ts'
import { CONTEXT, type Run } from '../engines.ts'
import { promptIds } from '../prompts.ts'
import { heldBytes } from './memory.ts'

export interface NativeOrder {
  readonly modelPath: string
  /** The addon's file. */
  readonly addonPath: string
  readonly threads: number
  /** Maximum number of texts at once. Default 1. */
  readonly sequences?: number
  /** Positions of all texts together. Default `CONTEXT`. */
  readonly contextSize?: number
}
export type NativeRequest =
  | { readonly type: 'load'; readonly order: NativeOrder }
  /** `ids`: the prompt's tokens, for models with a vocabulary other than the benches'. */
  | {
      readonly type: 'run'
      readonly prompt: string
      readonly ids?: readonly number[] | undefined
      readonly decode: number
    }
  /** Reads the prompts one by one, then decodes all texts in the same batches. */
  | { readonly type: 'together'; readonly prompts: readonly (readonly number[])[]; readonly decode: number }
export interface NativeAnswer {
  readonly loadMs?: number
  /** Memory of the process before the model was loaded. */
  readonly baseBytes?: number | undefined
  readonly run?: Run
  /** Time from the first batch after the prompts to the last. */
  readonly togetherMs?: number
  readonly failure?: string
}

/** llama.cpp's own default. */
const BATCH = 512
const NONE = new Uint32Array(0)

let context: Context
let sampler: Sampler

async function load({
  modelPath,
  addonPath,
  threads,
  sequences = 1,
  contextSize = CONTEXT,
}: NativeOrder): Promise<NativeAnswer> {
  const addon = await startAddon(addonPath, () => {})
  const baseBytes = await heldBytes([process.pid])
  const started = performance.now()
  const model = await openAddonModel(addon, modelPath)
  context = new addon.AddonContext(model, {
    contextSize,
    batchSize: BATCH,
    sequences,
    flashAttention: 'auto',
    threads,
  })
  if (!(await context.init())) throw new Error('llama.cpp cannot create a context')
  sampler = new addon.AddonSampler(model)
  sampler.applyConfig({ temperature: 0 })
  return { loadMs: performance.now() - started, baseBytes }
}

/** Tokens of one text, the first at `position`. */
interface Part {
  readonly sequence: number
  readonly position: number
  readonly tokens: Uint32Array
}

async function run(ids: readonly number[], decode: number): Promise<Run> {
  const tokens = Uint32Array.from(ids)
  const started = performance.now()
  let row = 0
  for (let at = 0; at < tokens.length; at += BATCH) {
    const part = { sequence: 0, position: at, tokens: tokens.subarray(at, at + BATCH) }
    ;[row = 0] = await step([part], at + BATCH >= tokens.length)
  }
  const said = [await context.sampleToken(row, sampler)]
  const first = performance.now()
  while (said.length < decode) {
    const position = tokens.length + said.length - 1
    ;[row = 0] = await step([{ sequence: 0, position, tokens: Uint32Array.from(said.slice(-1)) }])
    said.push(await context.sampleToken(row, sampler))
  }
  const decodeMs = performance.now() - first
  context.disposeSequence(0)
  const prefillMs = first - started
  return { promptTokens: tokens.length, prefillMs, decodedTokens: said.length, decodeMs, ids: said }
}

async function runTogether(prompts: readonly (readonly number[])[], decode: number): Promise<number> {
  const last: number[] = []
  for (const [sequence, ids] of prompts.entries()) {
    const [row = 0] = await step([{ sequence, position: 0, tokens: Uint32Array.from(ids) }])
    last.push(await context.sampleToken(row, sampler))
  }
  const started = performance.now()
  for (let said = 0; said < decode; said++) {
    const parts = prompts.map((ids, sequence) => ({
      sequence,
      position: ids.length + said,
      tokens: Uint32Array.of(last[sequence]!),
    }))
    for (const [sequence, row] of (await step(parts)).entries())
      last[sequence] = await context.sampleToken(row, sampler)
  }
  const ms = performance.now() - started
  for (const sequence of prompts.keys()) context.disposeSequence(sequence)
  return ms
}

/** Runs one batch. Returns the row of the logits after each part. */
async function step(parts: readonly Part[], wantsLogits = true): Promise<number[]> {
  context.initBatch(parts.reduce((sum, { tokens }) => sum + tokens.length, 0))
  const rows = parts.flatMap(({ sequence, position, tokens }) => {
    const wanted = wantsLogits ? Uint32Array.of(tokens.length - 1) : NONE
    return [...context.addToBatch(sequence, position, tokens, wanted)]
  })
  await context.decodeBatch()
  return rows
}

process.on('message', async (request: NativeRequest) => {
  const answer = (message: NativeAnswer) => process.send?.(message)
  try {
    if (request.type === 'load') answer(await load(request.order))
    else if (request.type === 'together')
      answer({ togetherMs: await runTogether(request.prompts, request.decode) })
    else answer({ run: await run(request.ids ?? promptIds(request.prompt), request.decode) })
  } catch (error) {
    answer({ failure: error instanceof Error ? error.message : String(error) })
  }
})
// The parent process has exited.
process.on('disconnect', () => process.exit())
