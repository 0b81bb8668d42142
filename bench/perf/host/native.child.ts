// Runs native llama.cpp in a process of its own, which answers prompts with greedy tokens and times.
//
// The addon of node-llama-cpp is called directly: its JavaScript would only cost time.
import {
  type Context,
  openAddonModel,
  type Sampler,
  startAddon,
} from '../../../test/conformance/testing/llama-cpp-addon.ts'
import { CONTEXT, type Run } from '../engines.ts'
import { promptIds } from '../prompts.ts'
import { heldBytes } from './memory.ts'

export interface NativeOrder {
  readonly modelPath: string
  /** The addon's file. */
  readonly addonPath: string
  readonly threads: number
  /** Most texts at once. Default 1. */
  readonly sequences?: number
  /** Positions of all texts together. Default `CONTEXT`. */
  readonly contextSize?: number
}
export type NativeRequest =
  | { readonly type: 'load'; readonly order: NativeOrder }
  /** `ids`: the prompt's tokens, for models with another vocabulary than the benches'. */
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
  /** What the process held before the model. */
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
  if (!(await context.init())) throw new Error('llama.cpp cannot make a context')
  sampler = new addon.AddonSampler(model)
  sampler.applyConfig({ temperature: 0 })
  return { loadMs: performance.now() - started, baseBytes }
}

async function run(ids: readonly number[], decode: number): Promise<Run> {
  const tokens = Uint32Array.from(ids)
  const started = performance.now()
  let row = 0
  for (let at = 0; at < tokens.length; at += BATCH) {
    const part = tokens.subarray(at, at + BATCH)
    row = await step(0, at, part, at + BATCH >= tokens.length)
  }
  const said = [await context.sampleToken(row, sampler)]
  const first = performance.now()
  while (said.length < decode) {
    row = await step(0, tokens.length + said.length - 1, Uint32Array.from(said.slice(-1)), true)
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
    const row = await step(sequence, 0, Uint32Array.from(ids), true)
    last.push(await context.sampleToken(row, sampler))
  }
  const started = performance.now()
  for (let said = 0; said < decode; said++) {
    context.initBatch(prompts.length)
    const rows = prompts.map(
      (ids, sequence) =>
        context.addToBatch(
          sequence,
          ids.length + said,
          Uint32Array.of(last[sequence]!),
          Uint32Array.of(0),
        )[0]!,
    )
    await context.decodeBatch()
    for (const [sequence, row] of rows.entries()) last[sequence] = await context.sampleToken(row, sampler)
  }
  const ms = performance.now() - started
  for (const sequence of prompts.keys()) context.disposeSequence(sequence)
  return ms
}

async function step(
  sequence: number,
  position: number,
  tokens: Uint32Array,
  wantsLogits: boolean,
): Promise<number> {
  context.initBatch(tokens.length)
  const rows = context.addToBatch(
    sequence,
    position,
    tokens,
    wantsLogits ? Uint32Array.of(tokens.length - 1) : NONE,
  )
  await context.decodeBatch()
  return rows[0] ?? 0
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
// The parent process is gone.
process.on('disconnect', () => process.exit())
