// Quantises a model on calibration windows, and gives the contents of the pack and the loss of each matrix.

import { matrixBytes, type PackedEncoding } from '../../abi/encodings.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { bufferSource, filledSource } from '../../base/bytes.ts'
import { packContents } from '../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../engine/load/prepare.ts'
import type { PackContents, PackTensor } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import type { FactorOptions } from '../matrix/factor.ts'
import { rtn } from '../matrix/grid.ts'
import { chooseFormats } from '../matrix/mixed.ts'
import { readMatrix, readVector } from './gram.ts'
import type { Importance } from './importance-file.ts'
import { headName, planEncodings, solveHead } from './solve-head.ts'
import { type SolveOptions, type SolveTask, solveProducts } from './solve-products.ts'
import type { Known, SolverCrew } from './solver/solver-crew.ts'
import { type Surveyed, survey } from './survey.ts'
import { DoneMatrices, matricesOf } from './work-files.ts'

/** Factors of a matrix's columns, and divisors of its rows. */
interface Factors {
  columns?: readonly number[]
  rows?: readonly number[]
}

/** Matrices are scaled while they are read. */
export async function scaledModel(
  prepared: PreparedModel,
  surveyed: readonly Surveyed[],
  signal: AbortSignal,
): Promise<PreparedModel> {
  const weights = new Map(prepared.weights)
  const factors = new Map<string, Factors>()
  const factorsOf = (name: string): Factors => {
    const own = factors.get(name) ?? {}
    factors.set(name, own)
    return own
  }
  for (const { parts, scaling } of surveyed) {
    if (scaling === undefined || scaling.exponent === 0) continue
    const { scales, producer } = scaling
    for (const name of parts) factorsOf(name).columns = scales
    if (producer.matrix !== undefined) factorsOf(producer.matrix).rows = scales
    for (const name of producer.vectors) {
      const tensor = weightOf(weights, name)
      const values = await readVector(tensor, signal)
      weights.set(
        name,
        floats(
          tensor,
          values.map((value, i) => value / scales[i]!),
        ),
      )
    }
  }
  for (const [name, own] of factors) weights.set(name, scaledMatrix(weightOf(weights, name), own, signal))
  return { ...prepared, weights }
}

function floats({ name, shape }: TensorInfo, values: Float32Array): TensorInfo {
  const source = bufferSource(name, new Uint8Array(values.buffer as ArrayBuffer))
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size }
}

function scaledMatrix(tensor: TensorInfo, { columns, rows }: Factors, signal: AbortSignal): TensorInfo {
  const { name, shape } = tensor
  const [n = 0, k = 0] = shape
  const source = filledSource(name, n * k * 4, async (target, offset) => {
    const values = await readMatrix(tensor, signal)
    for (let at = 0; at < values.length; at++) {
      const factor = (columns?.[at % k] ?? 1) / (rows?.[Math.floor(at / k)] ?? 1)
      values[at] = values[at]! * factor
    }
    target.set(new Uint8Array(values.buffer, offset, target.length))
  })
  return { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size, like: tensor.dtype }
}

export interface QuantizeOptions extends Omit<FactorOptions, 'dense'>, SolveOptions<MatrixReport> {
  /**
   * `rtn`: each weight to its nearest code; it needs no windows unless formats are mixed. `awq`: the same
   * after inputs were scaled.
   */
  readonly method: 'rtn' | 'gptq' | 'awq'
  /** `mixed`: each product has the format that the budget allows it. */
  readonly format: Format | 'mixed'
  /** Formats of single matrices, by name; not with `mixed`. */
  readonly formats?: ReadonlyMap<string, Format> | undefined
  /** Most bytes of the pack's tensors; `mixed` only. */
  readonly budgetBytes?: number | undefined
  /**
   * How much an error in each input of a matrix counts; for `rtn` with formats of 4 bits. A matrix that it
   * does not name is rounded as if all inputs counted the same.
   */
  readonly importance?: Importance | undefined
  /** Codes of the logits matrix, which `gptq` solves. Default: it is left as it is. */
  readonly head?: Format | undefined
}

export interface QuantizedModel {
  readonly contents: PackContents
  readonly matrices: readonly MatrixReport[]
  /** Codes of the logits matrix in the kernels' layout, if they were asked for. */
  readonly head?: (() => Promise<Uint8Array>) | undefined
}

/**
 * What quantising a matrix cost on the calibration text: sum ((v - stored) x)^2, where v are the weights that
 * would be best for the inputs as they are by then.
 */
export interface MatrixReport {
  readonly name: string
  readonly shape: readonly [number, number]
  readonly method: 'rtn' | 'gptq' | 'awq'
  readonly format: Format
  /** AWQ's exponent; absent where inputs cannot be scaled. */
  readonly exponent?: number | undefined
  /** Inputs counted by an importance matrix. */
  readonly weighted?: true | undefined
  /** Absent for `rtn` and `awq`. */
  readonly loss?: number | undefined
  /** The loss with each weight rounded to its nearest code. */
  readonly lossBefore?: number | undefined
  /** Inputs that were zero in all of the text. */
  readonly dead?: number | undefined
}

/**
 * Prepared for a pack. Throws `unsupported` for a model without matrices to quantise or a Hessian that cannot
 * be solved, and what `walk` throws.
 */
export async function quantizeModel(
  prepared: PreparedModel,
  options: QuantizeOptions,
): Promise<QuantizedModel> {
  const { method, signal, head } = options
  const matrices = matricesOf(prepared)
  const surveyed = await surveyFor(prepared, options)
  const own = method === 'awq' ? await scaledModel(prepared, surveyed, signal) : prepared
  const contents = await packContents(own, options.card)
  const formats =
    options.format === 'mixed'
      ? mixedFormats(contents.tensors, surveyed, options.budgetBytes ?? 0)
      : options.formats
  const formatOf = (name: string) => formats?.get(name) ?? fallback(options.format)
  const done = new DoneMatrices(options.work, options.onMatrix)
  const job: Job = { prepared: own, options, done, formatOf, surveyed }
  if (method === 'gptq') await solveAll(job)
  for (const name of matrices) {
    signal.throwIfAborted()
    if (!(await done.has(name))) await roundMatrix(job, name)
  }
  const tensors = contents.tensors.map((tensor) =>
    matrices.includes(tensor.name) ? codedTensor(tensor, formatOf(tensor.name), done) : tensor,
  )
  const made = { ...contents, tensors }
  if (method !== 'gptq' || head === undefined) return { contents: made, matrices: done.reports(matrices) }
  const name = headName(own)
  if (!(await done.has(name))) await solveLogits(job, matrices, head)
  return { contents: made, matrices: done.reports([...matrices, name]), head: () => done.bytes(name) }
}

/** The hidden states are those of the compressed model, in the codes that it runs in. */
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

/** Of matrices that no product of the walk reads, such as experts. */
const fallback = (format: Format | 'mixed'): Format => (format === 'mixed' ? 'w4_g32' : format)

async function surveyFor(prepared: PreparedModel, options: QuantizeOptions): Promise<readonly Surveyed[]> {
  const { method, format } = options
  if (method !== 'awq' && format !== 'mixed') return []
  return survey(prepared, {
    ...options,
    scaledFor: method === 'awq' ? fallback(format) : undefined,
    withLosses: format === 'mixed',
  })
}

/** Formats by matrix. The bytes of all other weights are taken off the budget first. */
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
  const products = surveyed.flatMap(({ parts, losses }) => {
    const [name = ''] = parts
    const bytes = {
      w4_g32: bytesOf(parts, 'w4_g32'),
      w4m_g32: bytesOf(parts, 'w4m_g32'),
      w8_g32: bytesOf(parts, 'w8_g32'),
    }
    return losses === undefined ? [] : [{ name, losses, bytes }]
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
  readonly surveyed: readonly Surveyed[]
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
  const isScaled = job.options.method === 'awq'
  const own = isScaled ? job.surveyed.find(({ parts }) => parts.includes(name)) : undefined
  const format = job.formatOf(name)
  const given = format === 'w8_g32' ? undefined : job.options.importance?.get(name)
  const importance = own === undefined ? given : Float64Array.from(own.importance)
  const coded = rtn(await readMatrix(tensor, job.options.signal), n, k, format, importance)
  const method = own === undefined ? 'rtn' : 'awq'
  const exponent = own?.scaling?.exponent
  await job.done.keep(layMatrix(coded), {
    name,
    shape: [n, k],
    method,
    format,
    exponent,
    weighted: given && true,
  })
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
