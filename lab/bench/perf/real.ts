// npm run perf:real measures prefill, decode, load and memory of Halfbyte, native llama.cpp and wllama,
// interleaved, on a GGUF model with its own vocabulary.
import { openAsBlob } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, dirname } from 'node:path'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { createTokenizer } from '../../../src/core/text/tokenize/read/create.ts'
import { needs } from '../needs.ts'
import { modelPathOf } from '../real/model-path.ts'
import { spread, spreadText } from '../spread.ts'
import { addonPath, packageOf } from './catalogue.ts'
import { ENGINES, type EngineKind } from './engines.ts'
import { waitForQuiet } from './host/quiet.ts'
import { type Runner, runInPage, runNative } from './host/runner.ts'
import { openSite, type Site } from './host/site.ts'

const NAMES = ['halfbyte', 'llama.cpp', 'wllama-3', 'wllama-2']
const options = new Command('perf:real')
  .description('Compares Halfbyte with llama.cpp and wllama on one real GGUF file.')
  .option('--model <file>', 'a GGUF file, or the name of one from "npm run setup"', 'tinyllama')
  .requiredOption('--text <file>', 'text from which prompts are cut')
  .option('--threads <list>', 'thread counts', '1,2')
  .option('--peer <list>', 'engines', NAMES.join(','))
  .option('--prompt <n>', 'approximate tokens of a prompt', Number, 64)
  .option('--decode <n>', 'tokens decoded', Number, 32)
  .option('--rounds <n>', 'rounds per engine', Number, 5)
  .option('--json <file>', 'file for the figures', 'build/perf/real.json')
  .parse()
  .opts<{
    model: string
    text: string
    threads: string
    peer: string
    prompt: number
    decode: number
    rounds: number
    json: string
  }>()

needs({ chromium: true })

interface Row {
  readonly engine: string
  readonly threads: number
  readonly loadMs: number
  readonly memoryBytes: number | undefined
  /** Tokens per second of each round. */
  readonly prefill: readonly number[]
  readonly decode: readonly number[]
}
interface Player {
  readonly kind: EngineKind
  readonly title: string
  readonly runner: Runner
  readonly prefill: number[]
  readonly decode: number[]
  /** A peer whose round failed is skipped in later ones. */
  hasFailed: boolean
}

const modelPath = modelPathOf(options.model)
const blob = await openAsBlob(modelPath)
const { tokenizer: data } = await openModel([blobSource(basename(modelPath), blob)])
if (data === undefined) throw new Error('the model has no tokenizer')
const tokenizer = createTokenizer(data)
const text = await readFile(options.text, 'utf8')
const kinds = ENGINES.filter(({ name }) => options.peer.split(',').includes(name))
const machine = `${cpus().length} x ${cpus()[0]?.model}`
const rows: Row[] = []
const site = await openSite()
try {
  for (const threads of options.threads.split(',').map(Number)) {
    rows.push(...(await measure(threads, site)))
    // Saved after each round, so that an interrupted run keeps its results.
    await mkdir(dirname(options.json), { recursive: true })
    await writeFile(
      options.json,
      `${JSON.stringify({ machine, model: basename(modelPath), rows }, null, 2)}\n`,
    )
    console.log(table())
  }
} finally {
  await site.close()
}

async function measure(threads: number, served: Site): Promise<Row[]> {
  const players: Player[] = []
  try {
    for (const kind of kinds) {
      const runner = await start(kind, threads, served).catch((error: Error) => {
        console.log(`${kind.title}: ${error.message.split('\n')[0]}`)
      })
      if (runner === undefined) continue
      const version = (await packageOf(kind))?.version ?? ''
      await runner.run(promptAt(0).text, 2, promptAt(0).ids)
      await runner.pause()
      players.push({
        kind,
        title: `${kind.title} ${version}`.trim(),
        runner,
        prefill: [],
        decode: [],
        hasFailed: false,
      })
      console.log(`${kind.title}, ${threads} threads: loaded in ${(runner.loadMs / 1000).toFixed(1)} s`)
    }
    for (let round = 1; round <= options.rounds; round++) {
      for (const player of players) if (!player.hasFailed) await oneRun(player, round)
    }
    const found: Row[] = []
    for (const { title, runner, prefill, decode } of players) {
      await runner.resume()
      const memoryBytes = await runner.memoryBytes().catch(() => undefined)
      found.push({ engine: title, threads, loadMs: runner.loadMs, memoryBytes, prefill, decode })
    }
    return found
  } finally {
    for (const { runner } of players) await runner.close()
  }
}

async function oneRun(player: Player, round: number): Promise<void> {
  const { kind, runner, prefill, decode } = player
  const { text: prompt, ids } = promptAt(round)
  await waitForQuiet(1000)
  await runner.resume()
  const run = await runner.run(prompt, options.decode, ids).catch((error: Error) => {
    if (kind.packageName === undefined) throw error
    console.log(`${kind.name} failed in round ${round}: ${error.message.split('\n')[0]}`)
  })
  await runner.pause()
  if (run === undefined) {
    player.hasFailed = true
    return
  }
  prefill.push((1000 * run.promptTokens) / run.prefillMs)
  decode.push((1000 * (run.decodedTokens - 1)) / run.decodeMs)
  const [read, said] = [prefill.at(-1)!, decode.at(-1)!].map((rate) => rate.toFixed(1))
  console.log(`${kind.name} round ${round}: ${run.promptTokens} tokens, ${read} and ${said} tok/s`)
}

async function start(kind: EngineKind, threads: number, served: Site): Promise<Runner> {
  const found = await packageOf(kind)
  if (kind.packageName !== undefined && found === undefined)
    throw new Error(`${kind.packageName} is not installed`)
  if (kind.place === 'process') {
    return runNative({ modelPath, addonPath: addonPath(found!), threads })
  }
  const modelUrl = `${served.add('real', dirname(modelPath))}/${basename(modelPath)}`
  const packageUrl = found && served.add(kind.name, found.folder)
  const state = { layers: 0, kvHeads: 0, headDim: 0 }
  return runInPage(served.url, { engine: kind.name, threads, state, packageUrl, modelUrl })
}

/** A different part of the text for every round, so that no engine finds it in a cache. */
function promptAt(round: number): { text: string; ids: number[] } {
  const start = 1000 + 500 * round
  // A word takes at least one token.
  const words = text.split(/\s+/).slice(start, start + options.prompt)
  let prompt = words[0]!
  for (const word of words.slice(1)) {
    if (tokenizer.encode(prompt, { addSpecial: true }).length >= options.prompt) break
    prompt = `${prompt} ${word}`
  }
  return { text: prompt, ids: tokenizer.encode(prompt, { addSpecial: true }) }
}

function table(): string {
  const rate = (values: readonly number[]) => (values.length === 0 ? 'failed' : spreadText(spread(values)))
  return [
    `${machine}, ${basename(modelPath)}, prompts of about ${options.prompt}, ${options.decode} decoded, at most ${options.rounds} rounds`,
    '',
    '| threads | engine | prefill tok/s | decode tok/s | load s | memory MB | rounds |',
    '| --: | --- | --: | --: | --: | --: | --: |',
    ...rows.map(({ engine, threads, loadMs, memoryBytes, prefill, decode }) => {
      const memory = memoryBytes === undefined ? '' : (memoryBytes / 1e6).toFixed(0)
      return `| ${threads} | ${engine} | ${rate(prefill)} | ${rate(decode)} | ${(loadMs / 1000).toFixed(1)} | ${memory} | ${prefill.length} |`
    }),
  ].join('\n')
}
