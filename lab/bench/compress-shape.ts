// Measures the cost of quantising or pruning: processor time of each matrix in the first layers of a model,
// and an estimate for all layers and 128 windows, in processor and wall-clock time.
//
//   npx node lab/bench/compress-shape.ts quantize [--windows 8] [--layers 2] [--drift 0.5] [--sweeps 8]
//     [--threads 2] [--model model.gguf --calibration text.txt]
//   npx node lab/bench/compress-shape.ts prune [--windows 8] [--pattern sv32] [--sparsity 0.5]
// Without --model: the 0.5B shape with random weights. Windows have 512 tokens. The time for statistics grows
// with the number of windows, the time for solving does not. `quantize` also prints the loss of each matrix.
import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { Command } from 'commander'
import { openModel } from '../../src/core/arch/open-model.ts'
import { type ByteSource, blobSource } from '../../src/core/base/bytes.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { calibrationOption, readWindows } from '../../src/tools/cli/compress/compressing.ts'
import { loadSolver, nodeHost, startSolver } from '../../src/tools/cli/node-host.ts'
import { real, whole } from '../../src/tools/cli/options.ts'
import { pruneModel } from '../../src/tools/shrink/calibrate/prune-model.ts'
import { quantizeModel } from '../../src/tools/shrink/calibrate/quantize-model.ts'
import { memoryWork } from '../../src/tools/shrink/calibrate/work-files.ts'
import { DEFAULT_DAMP } from '../../src/tools/shrink/matrix/factor.ts'
import { parsePattern } from '../../src/tools/shrink/prune/mask.ts'
import { safetensorsFiles } from '../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'

const TOKENS = 512
const ASKED = { windows: 128, layers: 24 }

const command = new Command('compress-shape')
  .argument('<what>', 'quantize or prune')
  .option('--windows <n>', 'windows of 512 tokens', whole(1), 8)
  .option('--layers <n>', 'layers of the model', whole(1), 2)
  .option('--drift <x>', 'quantize: share of earlier errors that is compensated for', real(0, 1), 0.5)
  .option('--pattern <value>', 'prune: pattern of the weights that are dropped', 'sv32')
  .option('--sparsity <x>', 'prune: share that is dropped', real(0, 1), 0.5)
  .option('--sweeps <n>', 'maximum number of sweeps over solved codes', whole(0), 8)
  .option('--threads <n>', 'threads', whole(1), 2)
  .addOption(calibrationOption())
  .option('--model <path>', 'a model in GGUF; with --calibration')
  .parse()
const values = command.opts<{
  readonly windows: number
  readonly layers: number
  readonly drift: number
  readonly pattern: string
  readonly sparsity: number
  readonly sweeps: number
  readonly threads: number
  readonly model?: string
  readonly calibration?: string
}>()
const positionals = command.args
const [what] = positionals
if (what !== 'quantize' && what !== 'prune') throw new Error('choose quantize or prune')
const count = values.windows
const layers = values.layers

/** Random weights in the 0.5B shape. */
function randomSources(): readonly ByteSource[] {
  const model = randomLlama({
    seed: 1,
    layers,
    heads: 14,
    kvHeads: 2,
    headDim: 64,
    intermediate: 4864,
    contextLength: TOKENS,
  })
  // Every 64th input of a norm is 15 times as large as the others, as in trained models, because scales
  // depend on it.
  if (what === 'quantize')
    for (const [name, { values: gains }] of model.weights)
      if (/layernorm/.test(name)) for (let i = 7; i < gains.length; i += 64) gains[i] = gains[i]! * 15
  return safetensorsFiles(model).map((file) => blobSource(file.name, file))
}

const POLICY = { weights: 'w4', forPack: true } as const
const { prepared, windows } =
  values.model === undefined
    ? {
        prepared: await prepareModel(await openModel(randomSources()), POLICY),
        windows: Array.from({ length: count }, (_, w) =>
          Array.from({ length: TOKENS }, (_, i) => (7 * w + 5 * i * i + 3 * i) % 250),
        ),
      }
    : await givenModel(values.model, values.calibration ?? '')

/** The first layers of a model in GGUF, and windows of the text. */
async function givenModel(path: string, text: string) {
  const file = await openModel([blobSource(basename(path), await openAsBlob(path))])
  const key = `${file.metadata.get('general.architecture')}.block_count`
  const metadata = new Map([...file.metadata, [key, layers] as const])
  const isKept = (name: string) => Number(/^blk\.(\d+)\./.exec(name)?.[1] ?? 0) < layers
  const tensors = new Map([...file.tensors].filter(([name]) => isKept(name)))
  const prepared = await prepareModel({ ...file, metadata, tensors }, POLICY)
  return { prepared, windows: await readWindows(text, prepared, { windows: count, context: TOKENS }) }
}

/** Processor and wall-clock time in seconds. */
type Seconds = readonly [number, number]
const seconds = (): Seconds => [process.cpuUsage().user / 1e6, performance.now() / 1000]
const spent: Record<'running' | 'solving', Seconds> = { running: [0, 0], solving: [0, 0] }
let last = seconds()
const take = (kind: keyof typeof spent): Seconds => {
  const now = seconds()
  const own: Seconds = [now[0] - last[0], now[1] - last[1]]
  spent[kind] = [spent[kind][0] + own[0], spent[kind][1] + own[1]]
  last = now
  return own
}
let seen = ''
let solved = 0
/** Multiply-adds for the masks in use, and for masks of single weights. */
const masks = { work: 0, single: 0 }
const settings = {
  format: 'w4_g32',
  drift: values.drift,
  sweeps: values.sweeps,
  windows,
  work: memoryWork(),
  host: nodeHost(),
  threads: values.threads,
  signal: new AbortController().signal,
  solver: await loadSolver(),
  startSolver,
  onProgress({ what, done, total }: { what: string; done: number; total: number }) {
    if (done === total - 1 || what !== seen) take('running')
    seen = what
  },
  onMatrix({
    name,
    shape: [n, k],
    work = 0,
    loss,
    lossBefore = 0,
  }: {
    name: string
    shape: readonly [number, number]
    work?: number
    loss?: number | undefined
    lossBefore?: number | undefined
  }) {
    // The time of the last window is counted with the first matrix after it.
    const [own] = take('solving')
    solved++
    masks.work += work
    masks.single += (n * k ** 3) / 48
    const done = work === 0 ? '' : `, ${(work / 1e9).toFixed(0)} billion multiply-adds`
    const left =
      loss === undefined ? '' : `, loss ${loss.toPrecision(6)}, rounded ${lossBefore.toPrecision(6)}`
    console.log(`${name} [${n},${k}]: ${own.toFixed(1)} s${done}${left}`)
  },
} as const
if (what === 'quantize') await quantizeModel(prepared, { ...settings, method: 'gptq' })
else {
  const pattern = parsePattern(values.pattern)
  const sparsity = values.sparsity
  await pruneModel(prepared, { ...settings, method: 'obs', pattern, sparsity, damp: DEFAULT_DAMP })
}
take('running')

const scale = ASKED.layers / layers
const grown = (ASKED.windows / count) * scale
const minutes = (value: number) => `${(value / 60).toFixed(0)} min`
console.log(
  `${solved} matrices, ${count} windows: running ${spent.running[0].toFixed(0)} s, solving ${spent.solving[0].toFixed(0)} s of processor time, ` +
    `${spent.running[1].toFixed(0)} and ${spent.solving[1].toFixed(0)} s of clock; resident ${(process.resourceUsage().maxRSS / 1e6).toFixed(2)} GB`,
)
for (const [index, kind] of ['processor', 'clock'].entries()) {
  const running = spent.running[index]! * grown
  const solving = spent.solving[index]! * scale
  console.log(
    `${ASKED.layers} layers, ${ASKED.windows} windows, of ${kind} time: running ${minutes(running)}, solving ${minutes(solving)}, together ${minutes(running + solving)}`,
  )
}
if (what === 'prune') {
  const hours = (spent.solving[0] * scale * masks.single) / masks.work / 3600
  console.log(
    `masks of single weights at 50 %: ${((masks.single * scale) / 1e12).toFixed(1)} trillion multiply-adds for ${ASKED.layers} layers, ` +
      `${(masks.single / masks.work).toFixed(0)} times as many; at the speed above ${hours.toFixed(0)} h`,
  )
}
