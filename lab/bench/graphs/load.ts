// Measures what a network costs before its first result, beside onnxruntime-web. In: ONNX files of packages
// (`packaged.py` downloads them). Out: a table of processor times on one thread.
//
//   npm run build && node lab/bench/graphs/load.ts FILE.onnx ... [--rounds 5]
// Each engine runs each file in a process of its own, which has loaded a small graph before, so that starting
// the engine does not count. The engines take turns. *Load* opens the file, *first* is the first run minus a
// later one: plans, compiled functions and laid out weights. onnxruntime-web does this in its load.
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { Command } from 'commander'
import { env, InferenceSession, Tensor } from 'onnxruntime-web'
import { toOrt } from '../../../src/network/compile/staged/ort-tensors.ts'
import { modelBytes } from '../../../src/network/onnx/testing/write-model.ts'
import type { NetworkTensor, Network as SourceNetwork } from '../../../src/node-network.ts'
import { whole } from '../../../src/tools/cli/options.ts'
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
}
const ENGINES = ['halfbyte', 'onnxruntime-web'] as const
type Engine = (typeof ENGINES)[number]
const LATER = 3

const command = new Command('load')
  .argument('<files...>', 'ONNX files')
  .option('--rounds <n>', 'rounds; medians are shown', whole(1), 5)
  .option('--engine <name>', 'measures one engine once, and writes JSON')
  .parse()
const { rounds, engine } = command.opts<{ readonly rounds: number; readonly engine?: Engine }>()

/** Processor ms of all threads, because V8 compiles in the background. */
async function timed<T>(work: () => Promise<T>): Promise<readonly [number, T]> {
  const start = process.cpuUsage()
  const made = await work()
  const { user, system } = process.cpuUsage(start)
  return [(user + system) / 1000, made]
}

const TINY = modelBytes({
  nodes: [{ op: 'Tanh', inputs: ['x'], outputs: ['y'] }],
  inputs: ['x'],
  outputs: ['y'],
})
const TINY_INPUT: NetworkTensor = { dtype: 'f32', dims: [2], data: Float32Array.of(1, 2) }

async function halfbyte(bytes: Uint8Array, path: string): Promise<Times> {
  const open = (each: Uint8Array) => Network.load(new File([new Uint8Array(each)], 'model.onnx'))
  const tiny = await open(TINY)
  await tiny.run({ x: TINY_INPUT })
  const [load, network] = await timed(() => open(bytes))
  const inputs = packagedInputs(path, network.inputs)
  return { load, ...(await runs(() => network.run(inputs))) }
}

async function onnxruntime(bytes: Uint8Array, path: string): Promise<Times> {
  env.wasm.numThreads = 1
  const open = (each: Uint8Array) =>
    InferenceSession.create(each, { executionProviders: ['wasm'], logSeverityLevel: 4 })
  const tiny = await open(TINY)
  await tiny.run({ x: new Tensor('float32', [1, 2], [2]) })
  const [load, session] = await timed(() => open(bytes))
  const own = await Network.load(new File([new Uint8Array(bytes)], 'model.onnx'))
  const feeds = Object.fromEntries(
    Object.entries(packagedInputs(path, own.inputs)).map(([name, tensor]) => [name, toOrt(Tensor, tensor)]),
  )
  return { load, ...(await runs(() => session.run(feeds))) }
}

async function runs(run: () => Promise<unknown>): Promise<Pick<Times, 'first' | 'later'>> {
  const [first] = await timed(run)
  const later: number[] = []
  for (let at = 0; at < LATER; at++) later.push((await timed(run))[0])
  const best = Math.min(...later)
  return { first: first - best, later: best }
}

function measured(name: Engine, path: string): Times {
  const args = [import.meta.filename, path, '--engine', name]
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${name} on ${path}: ${stderr.slice(-500)}`)
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Times
}

if (engine !== undefined) {
  const [path = ''] = command.args
  const bytes = new Uint8Array(await readFile(path))
  console.log(JSON.stringify(await (engine === 'halfbyte' ? halfbyte : onnxruntime)(bytes, path)))
  process.exit(0)
}
console.log(
  '| graph | load, ms | first, ms | both | onnxruntime-web: load, ms | first, ms | both | times as fast |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|--:|')
for (const path of command.args) {
  const found: Record<Engine, Times[]> = { halfbyte: [], 'onnxruntime-web': [] }
  for (let round = 0; round < rounds; round++)
    for (const name of ENGINES) found[name].push(measured(name, path))
  const cells = ENGINES.map((name) => {
    const of = (pick: (times: Times) => number) => spread(found[name].map(pick))
    return {
      load: of((each) => each.load),
      first: of((each) => each.first),
      both: of((each) => each.load + each.first),
    }
  })
  const shown = cells.flatMap(({ load, first, both }) => [load, first, both].map((each) => spreadText(each)))
  const ratio = cells[1]!.both.median / cells[0]!.both.median
  console.log(`| ${[packagedName(path), ...shown, ratio.toFixed(2)].join(' | ')} |`)
}
