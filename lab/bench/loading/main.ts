// npm run bench:loading measures how much memory and time loading a model takes in Chromium, from an address,
// from storage and from files, as a table and JSON.
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Command, Option } from 'commander'
import { BENCH_FOLDER, modelFile, packFile } from '../model-file.ts'
import { needs } from '../needs.ts'
import { serveBench } from '../server.ts'
import { SHAPES } from '../shapes.ts'
import { spread } from '../spread.ts'
import type { BareRead } from './bare.worker.ts'
import { bundlePage, serveBundle, serveFiles } from './bundle.ts'
import type { Kept, Loaded, Rested } from './page.ts'
import { forgetPeak, held, renderers } from './processes.ts'
import { Exchange, newProfile, removeProfile, visit } from './visitor.ts'

const SOURCES = ['address', 'store', 'file'] as const
type Source = (typeof SOURCES)[number]

const options = new Command('bench:loading')
  .description(
    'Memory and time of loading a model in Chromium, and of its first word: from an address, from storage, from files.',
  )
  .option('--shape <name>', SHAPES.map(({ name }) => name).join(', '), 'qwen2.5-0.5b')
  .option('--model <path>', 'a .gguf or .hbm file, or the folder of a model, instead of a random model')
  .option('--gguf', 'the random model as GGUF, repacked while it is loaded; default: as a pack')
  .addOption(new Option('--sources <list...>', 'where to load from').choices(SOURCES).default(SOURCES))
  .option('--rounds <n>', 'rounds, each with its own browser profile', Number, 3)
  .option('--threads <n>', 'threads', Number, 2)
  .option(
    '--kept',
    'also measure the memory still in use after a first load, once the browser has collected garbage (20 s each)',
  )
  .option('--json <file>', 'file for the figures', 'build/bench/loading.json')
  .parse()
  .opts<{
    shape: string
    model?: string
    gguf?: true
    sources: readonly Source[]
    rounds: number
    threads: number
    kept?: true
    json: string
  }>()
needs({ chromium: true })

/** The time and memory of one load, above the idle page. */
interface Figures extends Loaded {
  readonly idleBytes: number
  readonly peakBytes: number
  /** After garbage collection, with the model loaded. */
  readonly keptBytes?: number
}

interface Round {
  /** Keyed by the label in the table. */
  readonly loads: Readonly<Record<string, Figures>>
  readonly bare?: BareRead
}

const shape = SHAPES.find(({ name }) => name === options.shape)
if (shape === undefined) throw new Error(`there is no shape ${options.shape}`)
const model =
  options.model !== undefined
    ? pathToFileURL(resolve(options.model))
    : options.gguf === true
      ? await modelFile(shape)
      : await packFile(shape)
const isFolder = (await stat(model)).isDirectory()
const folder = isFolder ? new URL(`${model.href}/`) : new URL('.', model)
const names = isFolder ? await namesIn(folder) : [decodeURIComponent(basename(model.pathname))]
const sizes = await Promise.all(names.map(async (name) => (await stat(new URL(name, folder))).size))
const size = sizes.reduce((sum, each) => sum + each, 0)
const exchange = new Exchange()
await bundlePage()
const server = await serveBench(undefined, serveBundle(serveFiles(folder, names, exchange.middleware)))
const page = new URL('bundle/index.html', server.url).href
const urls = names.map((name) => new URL(`model/${encodeURIComponent(name)}`, server.url).href)
const address = isFolder ? new URL('model/', server.url).href : urls[0]!

async function namesIn(place: URL): Promise<string[]> {
  const entries = await readdir(place, { withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/** Opens the page in its own browser, and calls `work` with the process id of that browser. */
async function inBrowser<T>(profile: string, work: (pid: number) => Promise<T>): Promise<T> {
  exchange.reset()
  const visitor = visit(page, profile)
  try {
    await exchange.idle()
    return await work(visitor.pid)
  } finally {
    await visitor.close()
  }
}

/** Loads `times` times in the same page, one after the other. */
async function loads(pid: number, from: Source, cache: 'opfs' | 'none', times: number): Promise<Figures[]> {
  const pids = await renderers(pid)
  const idle = new Map<number, number>()
  for (const each of pids) idle.set(each, (await held(each)).now)
  const found: Figures[] = []
  for (let time = 0; time < times; time++) {
    for (const each of pids) await forgetPeak(each)
    const { threads } = options
    const kind = from === 'file' ? 'files' : 'address'
    const loaded = await exchange.run<Loaded>({ type: 'load', from: kind, url: address, cache, threads })
    const above = (what: 'now' | 'peak') =>
      Promise.all(pids.map(async (each) => (await held(each))[what] - (idle.get(each) ?? 0)))
    const grown = await above('peak')
    const peakBytes = Math.max(...grown)
    const idleBytes = idle.get(pids[grown.indexOf(peakBytes)] ?? 0) ?? 0
    const isRested = options.kept === true && time === 0
    if (isRested) await exchange.run<Rested>({ type: 'rest' })
    const kept = isRested && { keptBytes: Math.max(...(await above('now'))) }
    found.push({ ...loaded, peakBytes, idleBytes, ...kept })
    await exchange.run<Kept>({ type: 'unload' })
  }
  return found
}

async function round(): Promise<Round> {
  const profile = await newProfile()
  const found: Record<string, Figures> = {}
  const both = async (from: Source, cache: 'opfs' | 'none') => {
    const [first, second] = await inBrowser(profile, (pid) => loads(pid, from, cache, 2))
    found[`${from}, first load of a browser`] = first!
    found[`${from}, again in the same page`] = second!
  }
  try {
    let bare: BareRead | undefined
    if (options.sources.includes('address')) await both('address', 'none')
    if (options.sources.includes('store')) {
      const [stored] = await inBrowser(profile, (pid) => loads(pid, 'address', 'opfs', 1))
      found['address, storing it'] = stored!
      await both('store', 'opfs')
      bare = await inBrowser(profile, () => exchange.run<BareRead>({ type: 'bare' }))
    }
    if (options.sources.includes('file')) {
      await inBrowser(profile, () => exchange.run<Kept>({ type: 'keep', urls }))
      await both('file', 'none')
    }
    return { loads: found, ...(bare && { bare }) }
  } finally {
    await removeProfile(profile)
  }
}

const rounds: Round[] = []
try {
  for (let index = 0; index < options.rounds; index++) rounds.push(await round())
} finally {
  await server.close()
}

const MB = 1e6
const cell = (values: readonly number[], digits = 0) => {
  const { median, min, max } = spread(values)
  return `${median.toFixed(digits)} (${min.toFixed(digits)}-${max.toFixed(digits)})`
}
function keptCells(figures: readonly Figures[]): string[] {
  if (options.kept === undefined) return []
  const rested = figures.flatMap(({ keptBytes, peakBytes }) =>
    keptBytes === undefined ? [] : [{ keptBytes, peakBytes }],
  )
  if (rested.length === 0) return ['', '']
  return [
    cell(rested.map(({ keptBytes }) => keptBytes / MB)),
    cell(
      rested.map(({ keptBytes, peakBytes }) => peakBytes / keptBytes),
      2,
    ),
  ]
}
const rate = (ms: number) => size / MB / (ms / 1000)
const lines = [
  `${basename(options.model ?? options.shape)}, ${(size / MB).toFixed(1)} MB, ${options.threads} threads, ${options.rounds} rounds, median (min-max)`,
  '',
  `| from | load, ms | weights into memory, MB/s | first word, ms | peak above the idle page, MB |${options.kept ? ' kept, MB | peak / kept |' : ''}`,
  `| --- | --: | --: | --: | --: |${options.kept ? ' --: | --: |' : ''}`,
  ...Object.keys(rounds[0]?.loads ?? {}).map((key) => {
    const figures = rounds.flatMap(({ loads }) => loads[key] ?? [])
    const cells = [
      cell(figures.map(({ totalMs }) => totalMs)),
      cell(figures.map(({ weightsMs }) => rate(weightsMs))),
      cell(figures.map(({ firstWordMs }) => firstWordMs)),
      cell(figures.map(({ peakBytes }) => peakBytes / MB)),
      ...keptCells(figures),
    ]
    return `| ${key} | ${cells.join(' | ')} |`
  }),
]
const bare = rounds.flatMap((each) => each.bare ?? [])
if (bare.length > 0) {
  const bareRate = (of: (read: BareRead) => number) =>
    cell(bare.map((read) => read.bytes / MB / (of(read) / 1000)))
  lines.push(
    '',
    `bare reads of the largest stored file, MB/s: ${bareRate(({ freshMs }) => freshMs)} into fresh memory, ` +
      `${bareRate(({ reusedMs }) => reusedMs)} into one buffer, ${bareRate(({ slicesMs }) => slicesMs)} by slices`,
  )
}
console.log(lines.join('\n'))
await mkdir(BENCH_FOLDER, { recursive: true })
const about = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}`,
  command: ['npm run bench:loading --', ...process.argv.slice(2)].join(' '),
}
await writeFile(options.json, `${JSON.stringify({ ...about, size, rounds }, undefined, 2)}\n`)
