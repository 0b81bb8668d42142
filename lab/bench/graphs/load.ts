// Measures what a network costs before its first result, beside onnxruntime-web. In: ONNX files of packages
// (`packaged.py` downloads them). Out: a table of times on one thread.
//
//   npm run build && node lab/bench/graphs/load.ts FILE.onnx ... [--rounds 5] [--clock | --planning]
// Each engine runs each file in a process of its own, which has loaded a small graph before, so that starting
// the engine does not count. The engines take turns. *Load* opens the file, *first* is the first run minus a
// later one: plans, compiled functions and laid out weights. onnxruntime-web does this in its load. *Stored*
// is a second visit: the graph and its plans are in the store on disk. *Planning*, always by the clock, is
// the share of a first visit without the laying out of weights and the run: the graph is read and simplified,
// the program planned, its functions emitted and compiled.
import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { toOrt } from '../../../src/network/compile/staged/ort-tensors.ts'
import { modelBytes } from '../../../src/network/onnx/testing/write-model.ts'
import type { NetworkTensor, Network as SourceNetwork } from '../../../src/node-network.ts'
import { whole } from '../../../src/tools/cli/options.ts'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import { spread, spreadText } from '../spread.ts'
import { packagedInputs, packagedName } from './packaged.ts'

/** The built library, because stripping types from a module that is needed later would count as its load. */
const { Network }: { readonly Network: typeof SourceNetwork } = await import(
  new URL('../../../dist/node-network.js', import.meta.url).href
)

interface Times {
  readonly load: number
  readonly first: number
  readonly later: number
  /** By the clock: planning here, a session's load in onnxruntime-web. */
  readonly planning: number
}
const ENGINES = ['halfbyte', 'stored', 'onnxruntime-web'] as const
type Engine = (typeof ENGINES)[number]
const LATER = 3

const command = new Command('load')
  .argument('<files...>', 'ONNX files')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 5)
  .option('--clock', 'measures by the clock, which needs a quiet machine, instead of processor time', false)
  .option('--planning', "compares planning with onnxruntime-web's load, which needs a quiet machine", false)
  .option('--engine <name>', 'measures one engine once, and writes JSON')
  .option('--address <url>', 'the server that has the graph, for the engine "stored"', '')
  .parse()
const { rounds, clock, planning, engine, address } = command.opts<{
  readonly rounds: number
  readonly clock: boolean
  readonly planning: boolean
  readonly engine?: Engine
  readonly address: string
}>()

/** How long V8 may still compile in the background what ran before a measurement. */
const SETTLING_MS = 100

const settled = () => new Promise((resolve) => setTimeout(resolve, SETTLING_MS))

/** Processor ms of all threads, because V8 compiles in the background, or ms of the clock. */
async function timed<T>(work: () => Promise<T>, byClock = clock): Promise<readonly [number, T]> {
  await settled()
  const [start, before] = [process.cpuUsage(), performance.now()]
  const made = await work()
  const after = performance.now()
  const { user, system } = process.cpuUsage(start)
  return [byClock ? after - before : (user + system) / 1000, made]
}

/** The spans of planning that are made until `end`, which returns their sum in ms. */
function planningSpans(): { readonly end: () => Promise<number> } {
  let sum = 0
  const observer = new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (PLANNING.has(name)) sum += duration
  })
  observer.observe({ type: 'measure' })
  return {
    async end() {
      await settled()
      observer.disconnect()
      return sum
    },
  }
}

/** The names that the library gives its spans. */
const PLANNING: ReadonlySet<string> = new Set(
  [
    'read the graph',
    'simplify the graph',
    'read the plan',
    'plan the program',
    'emit the functions',
    'compile the functions',
  ].map((name) => `halfbyte: ${name}`),
)

const TINY = modelBytes({
  nodes: [{ op: 'Tanh', inputs: ['x'], outputs: ['y'] }],
  inputs: ['x'],
  outputs: ['y'],
})
const TINY_INPUT: NetworkTensor = { dtype: 'f32', dims: [2], data: Float32Array.of(1, 2) }

async function halfbyte(bytes: Uint8Array, path: string): Promise<Times> {
  const fileOf = (each: Uint8Array) => new File([new Uint8Array(each)], 'model.onnx')
  const tiny = await Network.load(fileOf(TINY))
  await tiny.run({ x: TINY_INPUT })
  const file = fileOf(bytes)
  return times(() => Network.load(file), path)
}

async function times(open: () => Promise<SourceNetwork>, path: string): Promise<Times> {
  await settled()
  const spans = planningSpans()
  const [load, network] = await timed(open)
  const inputs = packagedInputs(path, network.inputs)
  const found = await runs(() => network.run(inputs))
  const measured = { load, ...found, planning: await spans.end() }
  await network.dispose()
  return measured
}

/** An earlier process has filled the store, whose folder `HALFBYTE_HOME` names. */
async function stored(_: Uint8Array, path: string): Promise<Times> {
  const open = (name: string) => Network.load(address + name)
  const tiny = await open('tiny.onnx')
  await tiny.run({ x: TINY_INPUT })
  await tiny.dispose()
  return times(() => open('model.onnx'), path)
}

async function onnxruntime(bytes: Uint8Array, path: string): Promise<Times> {
  env.wasm.numThreads = 1
  const open = (each: Uint8Array) =>
    InferenceSession.create(each, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const tiny = await open(TINY)
  await tiny.run({ x: new Tensor('float32', [1, 2], [2]) })
  const [load, session] = await timed(() => open(bytes), clock || planning)
  const own = await Network.load(new File([new Uint8Array(bytes)], 'model.onnx'))
  const feeds = Object.fromEntries(
    Object.entries(packagedInputs(path, own.inputs)).map(([name, tensor]) => [name, toOrt(Tensor, tensor)]),
  )
  return { load, ...(await runs(() => session.run(feeds))), planning: load }
}

async function runs(run: () => Promise<unknown>): Promise<Pick<Times, 'first' | 'later'>> {
  const [first] = await timed(run)
  const later: number[] = []
  for (let at = 0; at < LATER; at++) later.push((await timed(run))[0])
  const best = Math.min(...later)
  return { first: first - best, later: best }
}

async function measured(name: Engine, path: string, { server, home }: Visits): Promise<Times> {
  const how = clock ? ['--clock'] : planning ? ['--planning'] : []
  const own = ['--engine', name, '--address', server.address, ...how]
  const args = [import.meta.filename, path, ...own]
  const env = { ...process.env, HALFBYTE_HOME: home, HALFBYTE_NO_STORE: '' }
  const { stdout } = await promisify(execFile)(process.execPath, args, { env })
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Times
}

/** A server that has the graph, and the folder of its store. */
interface Visits {
  readonly server: FileServer
  readonly home: string
}

async function visited<T>(path: string, work: (visits: Visits) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'halfbyte-load-'))
  const server = await serveFiles({ 'tiny.onnx': TINY, 'model.onnx': await readFile(path) })
  server.behaviour.etag = '"1"'
  try {
    await measured('stored', path, { server, home })
    return await work({ server, home })
  } finally {
    await server.close()
    await rm(home, { recursive: true })
  }
}

if (engine !== undefined) {
  const [path = ''] = command.args
  const bytes = new Uint8Array(await readFile(path))
  console.log(JSON.stringify(await { halfbyte, stored, 'onnxruntime-web': onnxruntime }[engine](bytes, path)))
  process.exit(0)
}
console.log(
  planning
    ? '| graph | planning, ms | stored | onnxruntime-web: load | planning, times as fast | stored |'
    : '| graph | load, ms | first, ms | both | stored: load, ms | first, ms | both | onnxruntime-web: load, ms | first, ms | both | times as fast | stored |',
)
console.log(`|---|${'--:|'.repeat(planning ? 5 : 11)}`)
for (const path of command.args) {
  const found: Record<Engine, Times[]> = { halfbyte: [], stored: [], 'onnxruntime-web': [] }
  await visited(path, async (visits) => {
    for (let round = 0; round < rounds; round++)
      for (const name of ENGINES) found[name].push(await measured(name, path, visits))
  })
  const cells = ENGINES.map((name) => {
    const of = (pick: (times: Times) => number) => spread(found[name].map(pick))
    if (planning) return [of((times) => times.planning)]
    return [of(({ load }) => load), of(({ first }) => first), of(({ load, first }) => load + first)]
  })
  const [first, second, peer] = cells.map((each) => each.at(-1)!.median) as [number, number, number]
  const ratios = [peer / first, peer / second].map((ratio) => ratio.toFixed(2))
  console.log(
    `| ${[packagedName(path), ...cells.flat().map((each) => spreadText(each)), ...ratios].join(' | ')} |`,
  )
}
