// The cost of pruning. In: a pattern, a number of windows. Out: processor seconds of each matrix of the first
// layers of the 0.5B shape, what 24 layers and 128 windows would take, and masks of single weights.
//
// npx node bench/sparse/prune-shape.ts --windows 8 [--layers 2] [--pattern sv32] [--sparsity 0.5] [--threads
// 2]
//
// Weights are random; windows are 512 tokens. Statistics grow with the windows, solving does not.
import { parseArgs } from 'node:util'
import { blobSource } from '../../src/base/bytes.ts'
import { loadSolver, nodeHost, startSolver } from '../../src/cli/node-host.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { openModel } from '../../src/formats/open-model.ts'
import { pruneModel } from '../../src/shrink/calibrate/prune-model.ts'
import { memoryWork } from '../../src/shrink/calibrate/work-files.ts'
import { DEFAULT_DAMP } from '../../src/shrink/matrix/factor.ts'
import { parsePattern } from '../../src/shrink/prune/mask.ts'
import { safetensorsFiles } from '../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'

const TOKENS = 512
const ASKED = { windows: 128, layers: 24 }

const { values } = parseArgs({
  options: {
    windows: { type: 'string', default: '8' },
    layers: { type: 'string', default: '2' },
    pattern: { type: 'string', default: 'sv32' },
    sparsity: { type: 'string', default: '0.5' },
    sweeps: { type: 'string', default: '8' },
    threads: { type: 'string', default: '2' },
  },
})
const count = Number(values.windows)
const layers = Number(values.layers)

const model = randomLlama({
  seed: 1,
  layers,
  heads: 14,
  kvHeads: 2,
  headDim: 64,
  intermediate: 4864,
  contextLength: TOKENS,
})
const sources = safetensorsFiles(model).map((file) => blobSource(file.name, file))
const prepared = await prepareModel(await openModel(sources), { weights: 'w4', forPack: true })
const windows = Array.from({ length: count }, (_, w) =>
  Array.from({ length: TOKENS }, (_, i) => (7 * w + 5 * i * i + 3 * i) % 250),
)

const processor = () => process.cpuUsage().user / 1e6
const spent = { running: 0, solving: 0, work: 0, single: 0 }
let last = processor()
function take(kind: 'running' | 'solving'): number {
  const now = processor()
  const own = now - last
  spent[kind] += own
  last = now
  return own
}
let seen = ''
const started = performance.now()
await pruneModel(prepared, {
  method: 'obs',
  pattern: parsePattern(values.pattern),
  sparsity: Number(values.sparsity),
  format: 'w4_g32',
  damp: DEFAULT_DAMP,
  drift: 0,
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
  onMatrix({ name, shape, work }) {
    // What the last window took is counted with the first matrix after it.
    const own = take('solving')
    const [n, k] = shape
    spent.work += work
    spent.single += (n * k ** 3) / 48
    console.log(`${name} [${shape}]: ${own.toFixed(1)} s, ${(work / 1e9).toFixed(0)} billion multiply-adds`)
  },
})
take('running')
const minutes = (seconds: number) => `${(seconds / 60).toFixed(0)} min`
const whole = ASKED.layers / layers
console.log(
  `${count} windows: running ${spent.running.toFixed(0)} s, solving ${spent.solving.toFixed(0)} s of processor time; ` +
    `${((performance.now() - started) / 1000).toFixed(0)} s of clock; resident ${(process.resourceUsage().maxRSS / 1e6).toFixed(2)} GB`,
)
console.log(
  `for ${ASKED.layers} layers and ${ASKED.windows} windows: running ${minutes((spent.running / count) * ASKED.windows * whole)}, ` +
    `solving ${minutes(spent.solving * whole)} of processor time`,
)
console.log(
  `masks of single weights at 50 %: ${((spent.single * whole) / 1e12).toFixed(1)} trillion multiply-adds for ${ASKED.layers} layers, ` +
    `${(spent.single / spent.work).toFixed(0)} times as many; at the speed above ${((spent.solving * whole * spent.single) / spent.work / 3600).toFixed(0)} h`,
)
