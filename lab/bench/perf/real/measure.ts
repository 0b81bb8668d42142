// Measures one model with one number of threads: all engines load it, then take turns.
import { openAsBlob } from 'node:fs'
import { basename, dirname } from 'node:path'
import { openModel } from '../../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../../src/core/base/bytes.ts'
import { createTokenizer } from '../../../../src/core/text/tokenize/read/create.ts'
import { modelPathOf } from '../../real/model-path.ts'
import { packageOf } from '../catalogue.ts'
import { type EngineKind, isHalfbyte } from '../engines.ts'
import { waitForQuiet } from '../host/quiet.ts'
import type { Runner } from '../host/runner.ts'
import type { Site } from '../host/site.ts'
import { within } from '../host/within.ts'
import { startWith } from '../start.ts'
import { decodeRate, prefillRate } from '../summary.ts'
import type { RealRow } from './results.ts'

interface RealOrder {
  /** A name that `npm run setup` knows, or a file. */
  readonly model: string
  readonly threads: number
  readonly kinds: readonly EngineKind[]
  /** Tokens of a prompt, and tokens decoded by Halfbyte and by native llama.cpp. */
  readonly prompt: number
  readonly decode: number
  readonly rounds: number
  /** Text from which prompts are cut. */
  readonly text: string
}

/** Tokens decoded by other engines in pages, which take up to a second for each. */
const SLOW_DECODE = 8
/** An engine that takes longer than this for a warm-up of two tokens is not measured. */
const WARM_UP_SECONDS = 180

interface Player {
  readonly kind: EngineKind
  readonly title: string
  readonly runner: Runner
  readonly prefill: number[]
  readonly decode: number[]
  failure?: string
}
/** A different part of the text for every round, so that no engine finds it in a cache. */
type PromptAt = (round: number) => { text: string; ids: number[] }

export async function measureModel(order: RealOrder, site: Site): Promise<RealRow[]> {
  const { model, threads, prompt, rounds, kinds } = order
  const promptAt = await promptsOf(order)
  const rows: RealRow[] = []
  const players: Player[] = []
  const about = { model, threads, prompt }
  try {
    for (const kind of kinds) {
      const title = `${kind.title} ${(await packageOf(kind))?.version ?? ''}`.trim()
      const runner = await started(kind, order, site, promptAt(0)).catch((error: Error) => error)
      if (runner instanceof Error) {
        const failure = runner.message.split('\n')[0]
        console.log(`${title}: ${failure}`)
        rows.push({ ...about, engine: kind.name, title, prefill: [], decode: [], failure })
        continue
      }
      players.push({ kind, title, runner, prefill: [], decode: [] })
      console.log(`${title}, ${model}, ${threads} threads: loaded in ${(runner.loadMs / 1000).toFixed(1)} s`)
    }
    for (let round = 1; round <= rounds; round++) {
      for (const player of players) {
        if (player.failure === undefined) await playRound(player, order, promptAt(round))
      }
    }
    for (const { kind, title, runner, prefill, decode, failure } of players) {
      await runner.resume()
      const memoryBytes = await runner.memoryBytes().catch(() => undefined)
      const { loadMs } = runner
      rows.push({ ...about, engine: kind.name, title, loadMs, memoryBytes, prefill, decode, failure })
    }
    return rows
  } finally {
    for (const { runner } of players) await runner.close()
  }
}

/** Loads and warms up an engine, and pauses it. */
async function started(
  kind: EngineKind,
  { model, threads }: RealOrder,
  site: Site,
  prompt: ReturnType<PromptAt>,
): Promise<Runner> {
  const runner = await start(kind, modelPathOf(model), threads, site)
  try {
    await within(WARM_UP_SECONDS, runner.run(prompt.text, 2, prompt.ids))
    await runner.pause()
    return runner
  } catch (error) {
    await runner.close()
    throw error
  }
}

const start = (kind: EngineKind, path: string, threads: number, site: Site): Promise<Runner> =>
  startWith(kind, threads, site, {
    path,
    served: async () => ({ modelUrl: `${site.add('real', dirname(path))}/${basename(path)}` }),
    state: { layers: 0, kvHeads: 0, headDim: 0 },
  })

async function playRound(player: Player, { decode: asked, model }: RealOrder, prompt: ReturnType<PromptAt>) {
  const { kind, title, runner, prefill, decode } = player
  const isSlow = kind.place === 'page' && !isHalfbyte(kind)
  await waitForQuiet(1000)
  await runner.resume()
  const run = await runner
    .run(prompt.text, isSlow ? SLOW_DECODE : asked, prompt.ids)
    .catch((error: Error) => error)
  await runner.pause()
  if (run instanceof Error) {
    if (isHalfbyte(kind)) throw run
    player.failure = run.message.split('\n')[0] ?? ''
    console.log(`${title}, ${model}: ${player.failure}`)
    return
  }
  prefill.push(prefillRate(run))
  decode.push(decodeRate(run))
  const [read, said] = [prefill, decode].map((rates) => rates.at(-1)!.toFixed(1))
  console.log(`${title}, ${model}: ${run.promptTokens} tokens, ${read} and ${said} tok/s`)
}

async function promptsOf({ model, prompt: length, text }: RealOrder): Promise<PromptAt> {
  const path = modelPathOf(model)
  const { tokenizer: data } = await openModel([blobSource(basename(path), await openAsBlob(path))])
  if (data === undefined) throw new Error(`${model} has no tokenizer`)
  const tokenizer = createTokenizer(data)
  const words = text.split(/\s+/)
  const idsOf = (prompt: string) => tokenizer.encode(prompt, { addSpecial: true })
  return (round) => {
    const start = 1000 + 500 * round
    let prompt = words[start]!
    // A word takes at least one token.
    for (const word of words.slice(start + 1, start + length)) {
      if (idsOf(prompt).length >= length) break
      prompt = `${prompt} ${word}`
    }
    return { text: prompt, ids: idsOf(prompt) }
  }
}
