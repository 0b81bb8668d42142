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
export interface NativeAnswer {
  readonly loadMs?: number
  /** What the process held before the model. */
  readonly baseBytes?: number | undefined
  readonly run?: Run
  readonly failure?: string
}

/** llama.cpp's own default. */
const BATCH = 512
const NONE = new Uint32Array(0)

let context: Context
let sampler: Sampler

async function load({ modelPath, addonPath, threads }: NativeOrder): Promise<NativeAnswer> {
  const addon = await startAddon(addonPath, () => {})
  const baseBytes = await heldBytes([process.pid])
  const started = performance.now()
  const model = await openAddonModel(addon, modelPath)
  context = new addon.AddonContext(model, {
    contextSize: CONTEXT,
    batchSize: BATCH,
    sequences: 1,
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
    row = await step(at, part, at + BATCH >= tokens.length)
  }
  const said = [await context.sampleToken(row, sampler)]
  const first = performance.now()
  while (said.length < decode) {
    row = await step(tokens.length + said.length - 1, Uint32Array.from(said.slice(-1)), true)
    said.push(await context.sampleToken(row, sampler))
  }
  const decodeMs = performance.now() - first
  context.disposeSequence(0)
  const prefillMs = first - started
  return { promptTokens: tokens.length, prefillMs, decodedTokens: said.length, decodeMs, ids: said }
}

async function step(position: number, tokens: Uint32Array, wantsLogits: boolean): Promise<number> {
  context.initBatch(tokens.length)
  const rows = context.addToBatch(0, position, tokens, wantsLogits ? Uint32Array.of(tokens.length - 1) : NONE)
  await context.decodeBatch()
  return rows[0] ?? 0
}

process.on('message', async (request: NativeRequest) => {
  const answer = (message: NativeAnswer) => process.send?.(message)
  try {
    if (request.type === 'load') answer(await load(request.order))
    else answer({ run: await run(request.ids ?? promptIds(request.prompt), request.decode) })
  } catch (error) {
    answer({ failure: error instanceof Error ? error.message : String(error) })
  }
})
// The parent process is gone.
process.on('disconnect', () => process.exit())
