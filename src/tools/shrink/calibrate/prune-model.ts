// Prunes a model on calibration windows, and returns the pack's contents and each matrix's loss.

import { weightOf } from '../../../core/arch/tensors/names.ts'
import type { PackContents } from '../../../core/formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { decode } from '../codes/coded-matrix.ts'
import { layMatrix } from '../codes/lay.ts'
import type { FactorOptions } from '../matrix/factor.ts'
import { rtn } from '../matrix/grid.ts'
import type { InputStats } from '../matrix/hessian.ts'
import type { PrunedFormat } from '../prune/group-tasks.ts'
import { droppedShare } from '../prune/mask.ts'
import {
  isObsUpdated,
  type PruneMethod,
  type PruneOptions,
  prune,
  pruneBytes,
  pruneLoss,
  pruning,
} from '../prune/prune-matrix.ts'
import { readMatrix } from './gram.ts'
import { type SolveOptions, type SolveTask, solveProducts, widestFirst } from './solve-products.ts'
import type { KnownForGroups, SolverCrew } from './solver/solver-crew.ts'
import { DoneMatrices, matricesOf } from './work-files.ts'

export interface PruneModelOptions
  extends PruneOptions,
    Pick<FactorOptions, 'damp'>,
    Omit<SolveOptions<PrunedReport>, 'drift'> {
  /** The format of the remaining weights. */
  readonly format: 'f32' | PrunedFormat
  /** The sparsity of individual matrices; the others have `sparsity`. */
  readonly sparsities?: ReadonlyMap<string, number> | undefined
}

export interface PrunedReport {
  readonly name: string
  readonly shape: readonly [number, number]
  readonly method: PruneMethod
  readonly format: PruneModelOptions['format']
  /** Share of dropped weights. */
  readonly dropped: number
  /** sum ((w - stored) x)^2 on the calibration text; absent without one. */
  readonly loss?: number | undefined
  /** sum (w x)^2. */
  readonly energy?: number | undefined
  /** Multiply-adds of the OBS update. */
  readonly work: number
}

interface PrunedModel {
  readonly contents: PackContents
  /** What was pruned, by name. */
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly matrices: readonly PrunedReport[]
}

/**
 * The model must be prepared for a pack with `format`'s policy. Magnitude needs no windows. Only magnitude
 * prunes matrices that no product of the walk reads, such as experts. Throws `unsupported` for a model
 * without matrices or a Hessian that cannot be solved, and what `walk` throws.
 */
export async function pruneModel(prepared: PreparedModel, options: PruneModelOptions): Promise<PrunedModel> {
  const { windows, signal, format } = options
  const names = matricesOf(prepared)
  const done = new DoneMatrices(options.work, options.onMatrix)
  const job: Job = { prepared, options, done }
  const encoding = format === 'f32' ? 'rows' : format
  if (windows.length > 0) await solveAll(job, encoding)
  const tensors = new Map<string, TensorInfo>()
  for (const name of names) {
    signal.throwIfAborted()
    const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
    if (!(await done.has(name))) {
      if (options.method !== 'magnitude') continue
      await pruneByMagnitude(job, name, n, k)
    }
    tensors.set(name, await done.tensor(name, encoding, n, k))
  }
  const weights = new Map([...prepared.weights, ...tensors])
  const contents = await packContents(
    { ...prepared, weights, plan: planIn(prepared, tensors, format) },
    options.card,
  )
  return { contents, tensors, matrices: done.reports(names) }
}

/**
 * Rows with masks of their own would each need a factor to solve codes, about k^3 / 3 multiply-adds per row.
 * Rounding to eight bits loses little and keeps zeros.
 */
const isRounded = ({ format, pattern }: PruneModelOptions): boolean =>
  format === 'w8_g32' && pattern.rows === 1

/**
 * For a file with fewer bits, the plan has other encodings, in which pruned matrices would be quantised
 * again.
 */
function planIn(
  { plan }: PreparedModel,
  pruned: ReadonlyMap<string, TensorInfo>,
  encoding: PruneModelOptions['format'],
): PreparedModel['plan'] {
  const slots = plan.slots.map((slot) =>
    slot.ref.parts.every(({ name }) => pruned.has(name)) ? { ...slot, encoding } : slot,
  )
  return { ...plan, slots }
}

interface Job {
  readonly prepared: PreparedModel
  readonly options: PruneModelOptions
  readonly done: DoneMatrices<PrunedReport>
}

function solveAll(job: Job, encoding: PrunedFormat | 'rows'): Promise<void> {
  const { prepared, options, done } = job
  const { damp, method } = options
  return solveProducts(
    prepared,
    { ...options, drift: 0 },
    {
      done,
      encodingOf: () => encoding,
      know(crew, product, stats) {
        const [widest] = widestFirst(product)
        const bytes = pruneBytes(widest?.n ?? 0, product.k)
        return crew.knowForGroups(product.name, stats, { damp, bytes, withInverse: isObsUpdated(method) })
      },
      solve: (crew, task) => pruneMatrix(job, crew, task),
    },
  )
}

async function pruneMatrix(job: Job, crew: SolverCrew, task: SolveTask<KnownForGroups>): Promise<void> {
  const { prepared, options } = job
  const { name, n, k, stats, known } = task
  const { format, sweeps } = options
  const weights = await readMatrix(weightOf(prepared.weights, name), options.signal)
  const coding = format === 'f32' || isRounded(options) ? undefined : { format, sweeps }
  const steps = pruning(weights, n, k, { ...optionsOf(options, name), coding }, { stats, ...known })
  const { values, mask, work, coded } = await crew.solveGroups(steps, known)
  const own = format === 'f32' ? undefined : (coded ?? rtn(values, n, k, format))
  const stored = own === undefined ? Float32Array.from(values) : decode(own)
  await keep(job, name, [n, k], own === undefined ? (stored as Float32Array) : layMatrix(own), {
    dropped: droppedShare(mask),
    work,
    ...costOf(weights, stored, n, stats),
  })
}

/** Prunes by magnitude, which needs no statistics. */
async function pruneByMagnitude(job: Job, name: string, n: number, k: number): Promise<void> {
  const { prepared, options } = job
  const { format } = options
  const weights = await readMatrix(weightOf(prepared.weights, name), options.signal)
  const { values, mask } = prune(weights, n, k, optionsOf(options, name))
  const stored = format === 'f32' ? Float32Array.from(values) : layMatrix(rtn(values, n, k, format))
  await keep(job, name, [n, k], stored, { dropped: droppedShare(mask), work: 0 })
}

const optionsOf = (options: PruneModelOptions, name: string): PruneOptions => ({
  ...options,
  sparsity: options.sparsities?.get(name) ?? options.sparsity,
})

async function keep(
  { options, done }: Job,
  name: string,
  shape: PrunedReport['shape'],
  stored: Uint8Array | Float32Array,
  report: Omit<PrunedReport, 'name' | 'shape' | 'method' | 'format'>,
): Promise<void> {
  const { method, format, host, signal } = options
  const bytes = new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength)
  await done.keep(bytes, { name, shape, method, format, ...report })
  await host.yieldTask()
  signal.throwIfAborted()
}

const costOf = (weights: Float32Array, stored: ArrayLike<number>, n: number, stats: InputStats) => ({
  loss: pruneLoss(weights, stored, n, stats),
  energy: pruneLoss(weights, new Float64Array(weights.length), n, stats),
})
