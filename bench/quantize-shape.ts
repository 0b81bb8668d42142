// The cost of quantising. In: a shape, a number of windows. Out: processor seconds of each product of the
// first two layers, and what 24 layers and 128 windows would take, of processor and clock.
//
//   npx node bench/quantize-shape.ts --windows 8 [--drift 0] [--sweeps 0] [--threads 2]
//
// Weights are random. Every 64th input of a norm is 15 times as large as the others, as in trained models.
// Windows are 512 tokens. Statistics grow with the windows, solving does not.
import { parseArgs } from 'node:util'
import { blobSource } from '../src/base/bytes.ts'
import { loadSolver, nodeHost, startSolver } from '../src/cli/node-host.ts'
import { prepareModel } from '../src/engine/load/prepare.ts'
import { openModel } from '../src/formats/open-model.ts'
import { quantizeModel } from '../src/shrink/calibrate/quantize-model.ts'
import { memoryWork } from '../src/shrink/calibrate/work-files.ts'
import { safetensorsFiles } from '../test/conformance/testing/model-files.ts'
import { randomLlama } from '../test/conformance/testing/random-llama.ts'

const LAYERS = 2
const TOKENS = 512
const ASKED = { windows: 128, layers: 24 }

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '8' },
    drift: { type: 'string', default: '0.5' },
    sweeps: { type: 'string', default: '8' },
    threads: { type: 'string', default: '2' },
  },
})
const count = Number(values.windows)

const model = randomLlama({
  seed: 1,
  layers: LAYERS,
  heads: 14,
  kvHeads: 2,
  headDim: 64,
  intermediate: 4864,
  contextLength: TOKENS,
})
for (const [name, { values: gains }] of model.weights)
  if (/layernorm/.test(name)) for (let i = 7; i < gains.length; i += 64) gains[i] = gains[i]! * 15

const sources = safetensorsFiles(model).map((file) => blobSource(file.name, file))
const prepared = await prepareModel(await openModel(sources), { weights: 'w4', forPack: true })
const windows = Array.from({ length: count }, (_, w) =>
  Array.from({ length: TOKENS }, (_, i) => (7 * w + 5 * i * i + 3 * i) % 250),
)

/** Seconds of the processor and of the clock. */
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
await quantizeModel(prepared, {
  method: 'gptq',
  format: 'w4_g32',
  drift: Number(values.drift),
  sweeps: Number(values.sweeps),
  windows,
  work: memoryWork(),
  host: nodeHost(),
  threads: Number(values.threads),
  signal: new AbortController().signal,
  solver: await loadSolver(),
  startSolver,
  onProgress({ what, done, total }) {
    if (done === total - 1 || what !== seen) take('running')
    seen = what
  },
  onMatrix({ name, shape }) {
    // What the last window took is counted with the first matrix after it.
    const [own] = take('solving')
    solved++
    console.log(`${name} [${shape}]: ${own.toFixed(1)} s`)
  },
})
take('running')
const layers = ASKED.layers / LAYERS
const grown = (ASKED.windows / count) * layers
const minutes = (value: number) => `${(value / 60).toFixed(0)} min`
console.log(
  `${solved} matrices, ${count} windows: running ${spent.running[0].toFixed(0)} s, solving ${spent.solving[0].toFixed(0)} s of processor time, ` +
    `${spent.running[1].toFixed(0)} and ${spent.solving[1].toFixed(0)} s of clock; resident ${(process.resourceUsage().maxRSS / 1e6).toFixed(2)} GB`,
)
for (const [index, what] of ['processor', 'clock'].entries()) {
  const running = spent.running[index]! * grown
  const solving = spent.solving[index]! * layers
  console.log(
    `${ASKED.layers} layers, ${ASKED.windows} windows, of ${what} time: running ${minutes(running)}, solving ${minutes(solving)}, together ${minutes(running + solving)}`,
  )
}
