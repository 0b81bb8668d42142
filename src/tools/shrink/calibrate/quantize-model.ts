// Quantises a model on calibration windows, and returns the pack's contents and each matrix's loss.

import { matrixBytes, type PackedEncoding } from '../../../core/abi/encodings.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import type { PackContents, PackTensor } from '../../../core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import type { FactorOptions } from '../matrix/factor.ts'
import { rtn } from '../matrix/grid.ts'
import { chooseFormats } from '../matrix/mixed.ts'
import { readMatrix } from './gram.ts'
import { headName, planEncodings, solveHead } from './solve-head.ts'
import { type SolveOptions, type SolveTask, solveProducts } from './solve-products.ts'
import type { Known, SolverCrew } from './solver/solver-crew.ts'
import { type Surveyed, survey } from './survey.ts'
import { DoneMatrices, matricesOf } from './work-files.ts'

export interface QuantizeOptions extends Omit<FactorOptions, 'dense'>, SolveOptions<MatrixReport> {
  /** `rtn` rounds each weight to its nearest code; it needs no windows unless formats are mixed. */
  readonly method: 'rtn' | 'gptq'
  /** `mixed`: each product gets the format that the budget allows. `keep`: all keep the model's own. */
  readonly format: Format | 'mixed' | 'keep'
  /** Formats of individual matrices, by name; not with `mixed` or `keep`. */
  readonly formats?: ReadonlyMap<string, Format> | undefined
  /** Maximum bytes of the pack's tensors; `mixed` only. */
  readonly budgetBytes?: number | undefined
  /** Codes of the logits matrix, which `gptq` solves. Default: unchanged. */
  readonly head?: Format | undefined
}

interface QuantizedModel {
  readonly contents: PackContents
  readonly matrices: readonly MatrixReport[]
  /** Codes of the logits matrix in the kernels' layout, if requested. */
  readonly head?: (() => Promise<Uint8Array>) | undefined
}

/**
 * The loss of quantising a matrix on the calibration text: sum ((v - stored) x)^2, where v are the optimal
 * weights for the inputs at that point.
 */
export interface MatrixReport {
  readonly name: string
  readonly shape: readonly [number, number]
  readonly method: 'rtn' | 'gptq'
  readonly format: Format
  /** Absent for `rtn`. */
  readonly loss?: number | undefined
  /** The loss with each weight rounded to its nearest code. */
  readonly lossBefore?: number | undefined
  /** Number of inputs that were zero throughout the text. */
  readonly dead?: number | undefined
}

/**
 * The model must be prepared for a pack. Throws `unsupported` for a model without matrices to quantise or a
 * Hessian that cannot be solved, and what `walk` throws.
 */
export async function quantizeModel(
  prepared: PreparedModel,
  options: QuantizeOptions,
): Promise<QuantizedModel> {
  const { method, signal, head } = options
  const matrices = options.format === 'keep' ? [] : matricesOf(prepared)
  const surveyed = await surveyFor(prepared, options)
  const contents = await packContents(prepared, options.card)
  const formats =
    options.format === 'mixed'
      ? mixedFormats(contents.tensors, surveyed, options.budgetBytes ?? 0)
      : options.formats
  const formatOf = (name: string) => formats?.get(name) ?? fallback(options.format)
  const done = new DoneMatrices(options.work, options.onMatrix)
  const job: Job = { prepared, options, done, formatOf }
  if (method === 'gptq' && matrices.length > 0) await solveAll(job)
  for (const name of matrices) {
    signal.throwIfAborted()
    if (!(await done.has(name))) await roundMatrix(job, name)
  }
  const tensors = contents.tensors.map((tensor) =>
    matrices.includes(tensor.name) ? codedTensor(tensor, formatOf(tensor.name), done) : tensor,
  )
  const made = { ...contents, tensors }
  if (method !== 'gptq' || head === undefined) return { contents: made, matrices: done.reports(matrices) }
  const name = headName(prepared)
  if (!(await done.has(name))) await solveLogits(job, matrices, head)
  return { contents: made, matrices: done.reports([...matrices, name]), head: () => done.bytes(name) }
}

/** The hidden states come from the compressed model, in its own encodings. */
async function solveLogits(job: Job, matrices: readonly string[], format: Format): Promise<void> {
  const { prepared, options, done, formatOf } = job
  const weights = new Map(prepared.weights)
  const planned = planEncodings(prepared)
  const encodings = new Map<string, PackedEncoding>()
  for (const name of matrices) {
    const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
    weights.set(name, await done.tensor(name, formatOf(name), n, k))
    encodings.set(name, formatOf(name))
  }
  const encodingOf = (name: string): PackedEncoding => encodings.get(name) ?? planned(name)
  const { bytes, ...found } = await solveHead(prepared, weights, encodingOf, { ...options, format })
  const name = headName(prepared)
  const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
  await done.keep(bytes, { name, shape: [n, k], method: 'gptq', format, ...found })
}

/** The encoding of matrices that no product of the walk reads, such as experts. */
const fallback = (format: QuantizeOptions['format']): Format =>
  format === 'mixed' || format === 'keep' ? 'w4_g32' : format

async function surveyFor(prepared: PreparedModel, options: QuantizeOptions): Promise<readonly Surveyed[]> {
  return options.format === 'mixed' ? survey(prepared, options) : []
}

/** Formats by matrix. The bytes of all other weights are subtracted from the budget first. */
function mixedFormats(
  tensors: readonly PackTensor[],
  surveyed: readonly Surveyed[],
  budgetBytes: number,
): ReadonlyMap<string, Format> {
  const shapes = new Map(tensors.map(({ name, shape }) => [name, shape]))
  const known = new Set(surveyed.flatMap(({ parts }) => parts))
  const fixed = tensors.reduce((sum, { name, bytes }) => sum + (known.has(name) ? 0 : bytes), 0)
  const bytesOf = (parts: readonly string[], format: Format) =>
    parts.reduce((sum, name) => {
      const [n = 0, k = 0] = shapes.get(name) ?? []
      return sum + matrixBytes(format, n, k)
    }, 0)
  const products = surveyed.map(({ parts, losses }) => {
    const [name = ''] = parts
    const bytes = {
      w4_g32: bytesOf(parts, 'w4_g32'),
      w4m_g32: bytesOf(parts, 'w4m_g32'),
      w8_g32: bytesOf(parts, 'w8_g32'),
    }
    return { name, losses, bytes }
  })
  const chosen = chooseFormats(products, budgetBytes - fixed)
  return new Map(
    surveyed.flatMap(({ parts }) =>
      parts.map((name) => [name, chosen.get(parts[0] ?? '') ?? 'w4_g32'] as const),
    ),
  )
}

interface Job {
  readonly prepared: PreparedModel
  readonly options: QuantizeOptions
  readonly done: DoneMatrices<MatrixReport>
  readonly formatOf: (name: string) => Format
}

const solveAll = (job: Job): Promise<void> =>
  solveProducts(job.prepared, job.options, {
    done: job.done,
    encodingOf: job.formatOf,
    know: (crew, { name }, stats) => crew.know(name, stats, job.options),
    solve: (crew, task) => solveMatrix(job, crew, task),
  })

async function solveMatrix(job: Job, crew: SolverCrew, task: SolveTask<Known>): Promise<void> {
  const { prepared, options, done } = job
  const { name, n, k, stats, known } = task
  const weights = await readMatrix(weightOf(prepared.weights, name), options.signal)
  const { sweeps, drift: share } = options
  const format = job.formatOf(name)
  const slab = { n, k, weights, behind: stats.behind, options: { format, sweeps, share } }
  const { coded, loss, lossBefore } = await crew.solve(slab, known)
  await done.keep(layMatrix(coded), {
    name,
    shape: [n, k],
    method: 'gptq',
    format,
    loss,
    lossBefore,
    dead: known.factor.dead,
  })
  await options.host.yieldTask()
  options.signal.throwIfAborted()
}

async function roundMatrix(job: Job, name: string): Promise<void> {
  const tensor = weightOf(job.prepared.weights, name)
  const [n = 0, k = 0] = tensor.shape
  const format = job.formatOf(name)
  const coded = rtn(await readMatrix(tensor, job.options.signal), n, k, format)
  await job.done.keep(layMatrix(coded), { name, shape: [n, k], method: 'rtn', format })
  await job.options.host.yieldTask()
}

function codedTensor(
  { name, shape }: PackTensor,
  format: Format,
  done: DoneMatrices<MatrixReport>,
): PackTensor {
  const [n = 0, k = 0] = shape
  async function* data() {
    yield await done.bytes(name)
  }
  return { name, encoding: format, shape, bytes: matrixBytes(format, n, k), data }
}
