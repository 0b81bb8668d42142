// Measures which scores choose the better mask, by the energy that products lose when OBS's update is applied
// after masks of three kinds. One line of JSON per matrix and pattern.
//
//   npx node lab/bench/sparse/saliency.ts MODEL CALIBRATION.jsonl [--windows 24] [--context 256]
//     [--runs 2:4,0.5,sb84@0.5] [--matrices 42] [--damp 0.01]
//
// C: H = C^T C, lower triangle, inputs in the model's order.
//
//   single      w_j^2 / [H^-1]_jj: each weight as if it were dropped alone (OBS)
//   later       (C_jj w_j)^2: as if all inputs before j stayed, and those after j compensated for it
//   sequence    the same with w_j as the weights dropped before it have changed it (SparseGPT)
import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { weightOf } from '../../../src/core/arch/tensors/names.ts'
import { modelTokenizer } from '../../../src/engine/load/model-text.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { openModelFiles } from '../../../src/tools/cli/files.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { real, whole } from '../../../src/tools/cli/options.ts'
import { calibrationWindows } from '../../../src/tools/shrink/calibrate/calibration-windows.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { walk } from '../../../src/tools/shrink/calibrate/walk.ts'
import { memoryWork } from '../../../src/tools/shrink/calibrate/work-files.ts'
import { type Factor, factorize } from '../../../src/tools/shrink/matrix/factor.ts'
import type { InputStats } from '../../../src/tools/shrink/matrix/hessian.ts'
import { groupTasks, solveGroup } from '../../../src/tools/shrink/prune/group-tasks.ts'
import { inverseOf } from '../../../src/tools/shrink/prune/inverse.ts'
import { type Mask, maskOf } from '../../../src/tools/shrink/prune/mask.ts'
import { plainScores, prune, pruneLoss } from '../../../src/tools/shrink/prune/prune-matrix.ts'
import { type PruningRun, pruningRun } from './pruning-run.ts'

const command = new Command('saliency')
  .argument('<model>', 'model')
  .argument('<calibration>', 'lines of JSON with texts')
  .option('--windows <n>', 'windows of the calibration text', whole(1), 24)
  .option('--context <n>', 'tokens of a window', whole(2), 256)
  .option('--runs <value>', 'sparsities or patterns, separated by commas', '2:4,0.5,sb84@0.5')
  .option('--matrices <n>', 'number of matrices', whole(1), 1000)
  .option('--damp <x>', 'damping', real(0), 0.01)
  .parse()
const values = command.opts<{
  readonly windows: number
  readonly context: number
  readonly runs: string
  readonly matrices: number
  readonly damp: number
}>()
const positionals = command.args
const [model = '', calibration = ''] = positionals
/** Thrown to end the walk after the last matrix. */
const ending = new AbortController()
const { signal } = new AbortController()
const host = nodeHost()

const runs = values.runs.split(',').map(pruningRun)

interface Matrix {
  readonly weights: Float32Array
  readonly n: number
  readonly k: number
  readonly stats: InputStats
  readonly factor: Factor
  readonly inverse: Float64Array
}

/** The share of a product's energy that is lost after OBS's update, by mask. */
function lost(
  matrix: Matrix,
  { pattern, sparsity }: PruningRun,
): Record<'single' | 'later' | 'sequence', number> {
  const { weights, n, k, stats } = matrix
  const energy = pruneLoss(weights, new Float64Array(n * k), n, stats)
  const share = (values: Float64Array) => pruneLoss(weights, values, n, stats) / energy
  const options = { pattern, sparsity, scope: 'matrix' } as const
  return {
    single: share(prune(weights, n, k, { ...options, method: 'obs' }, matrix).values),
    later: share(updated(matrix, laterMask(matrix, options))),
    sequence: share(prune(weights, n, k, { ...options, method: 'sparsegpt-obs' }, matrix).values),
  }
}

function laterMask(
  { weights, n, k, factor }: Matrix,
  { pattern, sparsity }: Pick<PruningRun, 'pattern' | 'sparsity'>,
): Mask {
  const roots = Float64Array.from({ length: k }, (_, j) => factor.triangle[j * (k + 1)]! ** 2)
  return maskOf(plainScores(weights, n, k, pattern, roots), n, k, pattern, sparsity, 'matrix')
}

function updated({ weights, n, k, factor, inverse }: Matrix, mask: Mask): Float64Array {
  const values = new Float64Array(n * k)
  for (const task of groupTasks(weights, mask, { isUpdated: true })) {
    const own = solveGroup(task, factor, inverse).values
    for (const [at, row] of task.rows.entries()) values.set(own.subarray(at * k, (at + 1) * k), row * k)
  }
  return values
}

const files = await openModelFiles(model, { signal, onProgress: () => undefined })
const prepared = await prepareModel(await openModel(files.sources, signal), {
  weights: 'f32',
  forPack: true,
  signal,
})
const texts = readFileSync(calibration, 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => ({ form: 'text', text: [JSON.parse(line).text as string] }) as const)
const windows = await calibrationWindows(texts, modelTokenizer(prepared.file, prepared.plan.logits.width), {
  windows: values.windows,
  length: values.context,
})
let left = values.matrices
await walk(prepared, {
  windows,
  host,
  signal: ending.signal,
  threads: 1,
  work: memoryWork(),
  async visit({ name, parts, k }, stats) {
    const found = await stats()
    const factor = factorize(name, found, { damp: values.damp })
    const inverse = inverseOf(factor, 'inverse')
    for (const part of parts) {
      if (left <= 0) break
      left--
      const weights = await readMatrix(weightOf(prepared.weights, part.name), signal)
      const matrix = { weights, n: part.n, k, stats: found, factor, inverse }
      for (const run of runs) {
        const shares = lost(matrix, run)
        process.stdout.write(`${JSON.stringify({ matrix: part.name, run: run.name, ...shares })}\n`)
      }
    }
    if (left <= 0) ending.abort()
    return undefined
  },
}).catch((error: unknown) => {
  if (!ending.signal.aborted) throw error
})
await files.close()
