// npm run perf:real measures prefill, decode, load and memory of Halfbyte, native llama.cpp and wllama,
// interleaved, on real GGUF models with their own vocabularies, and writes the README's figures.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, dirname } from 'node:path'
import { Command } from 'commander'
import { needs } from '../../needs.ts'
import { replaceBetweenMarkers } from '../docs.ts'
import { ENGINES, type EngineKind } from '../engines.ts'
import { ownVersion, PAGE, writeFigures } from '../figures.ts'
import { openPage } from '../host/runner.ts'
import { openSite } from '../host/site.ts'
import { measureModel } from './measure.ts'
import { type RealResults, type RealRow, readResults, stillValid } from './results.ts'
import { markdown, REAL_DOCS, readmeText, withLeastRatio } from './tables.ts'

/** Tokens of a prompt and of a reply: few for large models, because wllama takes up to a second per token. */
const MODELS: Readonly<Record<string, readonly [prompt: number, decode: number]>> = {
  smollm2: [64, 24],
  'gemma3-270m': [64, 24],
  'qwen2.5-coder-0.5b': [64, 24],
  'qwen2.5-coder-1.5b': [32, 16],
  tinyllama: [24, 16],
}
const PEERS = ['halfbyte', 'halfbyte-simd128', 'llama.cpp', 'wllama-3']

const README = new URL('../../../../README.md', import.meta.url)

const options = new Command('perf:real')
  .description('Compares Halfbyte with llama.cpp and wllama on real GGUF files.')
  .option('--model <list>', 'GGUF files, or names of models from "npm run setup"', Object.keys(MODELS).join())
  .option('--text <file>', 'text from which prompts are cut, of at least 4,000 words')
  .option('--threads <list>', 'thread counts', '1,2')
  .option('--peer <list>', 'engines', PEERS.join())
  .option('--prompt <n>', 'tokens of a prompt; default: by model', Number)
  .option('--decode <n>', 'tokens decoded; default: by model', Number)
  .option('--rounds <n>', 'rounds per engine', Number, 5)
  .option('--json <file>', 'file for the figures', 'build/perf/real.json')
  .option('--resume', 'keep the rows in the file and measure the missing ones')
  .option('--report', 'only write the tables, without measuring')
  .option('--docs', 'write the figures into README.md, lab/measurements')
  .parse()
  .opts<{
    model: string
    text?: string
    threads: string
    peer: string
    prompt?: number
    decode?: number
    rounds: number
    json: string
    resume?: true
    report?: true
    docs?: true
  }>()

const results = options.report ? await readResults(options.json) : await measure()
if (results === undefined) throw new Error(`there are no results in ${options.json}`)
console.log(markdown(results))
if (options.docs) await writeDocs(results)

async function measure(): Promise<RealResults> {
  needs({ chromium: true })
  if (options.text === undefined) throw new Error('--text must name a file from which prompts are cut')
  const text = await readFile(options.text, 'utf8')
  const site = await openSite()
  try {
    const { version: browser, close } = await openPage(site.url)
    await close()
    const machine = `${cpus().length} x ${cpus()[0]?.model}`
    const now = { fingerprint: site.fingerprint, machine, browser }
    const rows = [...(options.resume ? stillValid(await readResults(options.json), now) : [])]
    for (const model of options.model.split(',')) {
      for (const threads of options.threads.split(',').map(Number)) {
        const [prompt, decode] = MODELS[model] ?? [64, 24]
        const order = {
          model,
          threads,
          kinds: missingKinds(model, threads, rows),
          prompt: options.prompt ?? prompt,
          decode: options.decode ?? decode,
          rounds: options.rounds,
          text,
        }
        rows.push(...(await measureModel(order, site)))
        await save({ ...now, rows })
      }
    }
    return await save({ ...now, rows })
  } finally {
    await site.close()
  }
}

function missingKinds(model: string, threads: number, rows: readonly RealRow[]): readonly EngineKind[] {
  const asked = options.peer.split(',')
  const isMeasured = (row: RealRow) => row.model === model && row.threads === threads
  const measured = new Set(rows.filter(isMeasured).map(({ engine }) => engine))
  return ENGINES.filter(({ name }) => asked.includes(name) && !measured.has(name))
}

/** Saved after each model, so that an interrupted run keeps its results. */
async function save(part: Pick<RealResults, 'fingerprint' | 'machine' | 'browser' | 'rows'>) {
  const isShown = (arg: string) => !['--docs', '--resume'].includes(arg)
  const command = [
    'npm run perf:real --',
    ...process.argv
      .slice(2)
      .filter(isShown)
      .map((arg) => basename(arg)),
  ].join(' ')
  const saved: RealResults = { version: await ownVersion(), ...part, date: new Date().toISOString(), command }
  await mkdir(dirname(options.json), { recursive: true })
  await writeFile(options.json, `${JSON.stringify(saved, null, 2)}\n`)
  return saved
}

async function writeDocs(saved: RealResults): Promise<void> {
  await writeFigures({ models: saved })
  await writeFile(PAGE, replaceBetweenMarkers(await readFile(PAGE, 'utf8'), markdown(saved), REAL_DOCS))
  const readme = replaceBetweenMarkers(await readFile(README, 'utf8'), readmeText(saved), REAL_DOCS)
  await writeFile(README, withLeastRatio(readme, saved))
}
