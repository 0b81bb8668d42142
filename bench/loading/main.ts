// The loading bench: npm run bench:loading. In: options. Out: how much memory and time loading a model takes
// in Chromium, cold and warm, as a table and JSON.
import { mkdir, stat, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { pathToFileURL } from 'node:url'
import { Command } from 'commander'
import { BENCH_FOLDER, modelFile, packFile } from '../model-file.ts'
import { serveBench } from '../server.ts'
import { SHAPES } from '../shapes.ts'
import { spread } from '../spread.ts'
import type { BareRead } from './bare.worker.ts'
import { bundlePage, serveBundle } from './bundle.ts'
import type { Loaded } from './page.ts'
import { forgetPeak, held, renderers } from './processes.ts'
import { Exchange, newProfile, removeProfile, visit } from './visitor.ts'

const options = new Command('bench:loading')
  .description('Memory and time of loading a model in Chromium: from the network, and from storage.')
  .option('--shape <name>', SHAPES.map(({ name }) => name).join(', '), 'qwen2.5-0.5b')
  .option('--model <file>', 'a .gguf or .hbm file instead of a random model')
  .option('--gguf', 'the random model as GGUF, repacked while it is loaded; default: as a pack')
  .option('--rounds <n>', 'rounds, each with a browser profile of its own', Number, 3)
  .option('--threads <n>', 'threads', Number, 2)
  .option('--json <file>', 'where the figures go', 'build/bench/loading.json')
  .parse()
  .opts<{
    shape: string
    model?: string
    gguf?: true
    rounds: number
    threads: number
    json: string
  }>()

/** What one load took above the idle page. */
interface Figures extends Loaded {
  readonly idleBytes: number
  readonly peakBytes: number
}

interface Round {
  readonly cold: Figures
  readonly warm: Figures
  readonly bare: BareRead
}

const shape = SHAPES.find(({ name }) => name === options.shape)
if (shape === undefined) throw new Error(`there is no shape ${options.shape}`)
const model =
  options.model !== undefined
    ? pathToFileURL(options.model)
    : options.gguf === true
      ? await modelFile(shape)
      : await packFile(shape)
const { size } = await stat(model)
const exchange = new Exchange()
await bundlePage()
const server = await serveBench(model, serveBundle(exchange.middleware))
const page = new URL('bundle/index.html', server.url).href

async function round(): Promise<Round> {
  const profile = await newProfile()
  const load = async (): Promise<Figures> => {
    exchange.reset()
    const visitor = visit(page, profile)
    try {
      await exchange.idle()
      const pids = await renderers(visitor.pid)
      const idle = new Map<number, number>()
      for (const pid of pids) {
        await forgetPeak(pid)
        idle.set(pid, (await held(pid)).now)
      }
      const job = { type: 'load', url: server.modelUrl, threads: options.threads } as const
      const loaded = await exchange.run<Loaded>(job)
      const grown = await Promise.all(pids.map(async (pid) => (await held(pid)).peak - (idle.get(pid) ?? 0)))
      const peakBytes = Math.max(...grown)
      return { ...loaded, peakBytes, idleBytes: idle.get(pids[grown.indexOf(peakBytes)] ?? 0) ?? 0 }
    } finally {
      await visitor.close()
    }
  }
  const readBare = async (): Promise<BareRead> => {
    exchange.reset()
    const visitor = visit(page, profile)
    try {
      return await exchange.run<BareRead>({ type: 'bare' })
    } finally {
      await visitor.close()
    }
  }
  try {
    return { cold: await load(), warm: await load(), bare: await readBare() }
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
const row = (label: string, values: readonly number[], unit: string, digits = 0) => {
  const { median, min, max } = spread(values)
  return `| ${label} | ${median.toFixed(digits)} ${unit} | ${min.toFixed(digits)} to ${max.toFixed(digits)} |`
}
const rate = (ms: number) => size / MB / (ms / 1000)
const lines = [
  `${options.model ?? options.shape}, ${(size / MB).toFixed(1)} MB, ${options.threads} threads, ${options.rounds} rounds`,
  '',
  '| | median | least to most |',
  '|---|---|---|',
  row(
    'idle page',
    rounds.map(({ warm }) => warm.idleBytes / MB),
    'MB',
  ),
  row(
    'peak above it, cold',
    rounds.map(({ cold }) => cold.peakBytes / MB),
    'MB',
  ),
  row(
    'peak above it, warm',
    rounds.map(({ warm }) => warm.peakBytes / MB),
    'MB',
  ),
  row(
    'the same, less the file',
    rounds.map(({ warm }) => (warm.peakBytes - size) / MB),
    'MB',
  ),
  row(
    'load, cold',
    rounds.map(({ cold }) => cold.totalMs),
    'ms',
  ),
  row(
    'load, warm',
    rounds.map(({ warm }) => warm.totalMs),
    'ms',
  ),
  row(
    'weights into memory, warm',
    rounds.map(({ warm }) => rate(warm.weightsMs)),
    'MB/s',
  ),
  row(
    'bare read into fresh memory',
    rounds.map(({ bare }) => rate(bare.freshMs)),
    'MB/s',
  ),
  row(
    'bare read into one buffer',
    rounds.map(({ bare }) => rate(bare.reusedMs)),
    'MB/s',
  ),
  row(
    'bare slices of the file',
    rounds.map(({ bare }) => rate(bare.slicesMs)),
    'MB/s',
  ),
  row(
    'warm by fresh',
    rounds.map(({ warm, bare }) => (100 * bare.freshMs) / warm.weightsMs),
    '%',
  ),
]
console.log(lines.join('\n'))
await mkdir(BENCH_FOLDER, { recursive: true })
const about = {
  date: new Date().toISOString(),
  machine: `${cpus().length} x ${cpus()[0]?.model}`,
  command: ['npm run bench:loading --', ...process.argv.slice(2)].join(' '),
}
await writeFile(options.json, `${JSON.stringify({ ...about, size, rounds }, undefined, 2)}\n`)
