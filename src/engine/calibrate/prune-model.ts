// Pruning a model. In: a prepared model, a method and a pattern, calibration windows. Out: the contents of a
// pack whose matrices have zeros, and what each cost.

import { weightOf } from '../../arch/tensors/names.ts'
import { decode } from '../../compress/coded-matrix.ts'
import { type FactorOptions, factorize } from '../../compress/factor.ts'
import type { InputStats } from '../../compress/hessian.ts'
import { layMatrix } from '../../compress/lay.ts'
import { codeKept, type PrunedFormat } from '../../compress/prune/joint.ts'
import { droppedShare } from '../../compress/prune/mask.ts'
import {
  type Known,
  type PruneMethod,
  type PruneOptions,
  prune,
  pruneBytes,
  pruneLoss,
} from '../../compress/prune/prune.ts'
import { rtn } from '../../compress/rtn.ts'
import { targetsOf } from '../../compress/targets.ts'
import type { PackContents } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { type PackCard, packContents } from '../load/pack-model.ts'
import type { PreparedModel } from '../load/prepare.ts'
import { DoneMatrices, matricesOf } from './done-matrices.ts'
import { readMatrix } from './read-matrix.ts'
import { openSolver } from './solver-module.ts'
import { type WalkOptions, walk } from './walk.ts'

export interface PruneModelOptions
  extends PruneOptions,
    Pick<FactorOptions, 'damp'>,
    Omit<WalkOptions, 'visit' | 'drift'> {
  /** How what is left is stored. */
  readonly format: 'f32' | PrunedFormat
  /** The sparsity of single matrices; the others have `sparsity`. */
  readonly sparsities?: ReadonlyMap<string, number> | undefined
  /** By how much of what inputs have drifted a matrix makes up for; methods that update weights only. */
  readonly drift: number
  /** Most sweeps over the codes after they were solved. */
  readonly sweeps: number
  /** wasm/solve, compiled. Default: solvers compute in TypeScript. */
  readonly solver?: WebAssembly.Module | undefined
  readonly card?: PackCard | undefined
  /** Called when a matrix is done. */
  readonly onMatrix?: ((report: PrunedReport) => void) | undefined
}

export interface PrunedReport {
  readonly name: string
  readonly shape: readonly [number, number]
  readonly method: PruneMethod
  readonly format: PruneModelOptions['format']
  /** Share of weights that are dropped. */
  readonly dropped: number
  /** sum ((w - stored) x)^2 on the calibration text; absent without one. */
  readonly loss?: number | undefined
  /** sum (w x)^2. */
  readonly energy?: number | undefined
  /** Multiply-adds of OBS's update. */
  readonly work: number
}

export interface PrunedModel {
  readonly contents: PackContents
  /** What was pruned, by name. */
  readonly tensors: ReadonlyMap<string, TensorInfo>
  readonly matrices: readonly PrunedReport[]
}

/**
 * Prepared for a pack in the policy of `format`. Magnitude needs no windows. Matrices that no product of the
 * walk reads, such as experts, are left whole, except by magnitude. Throws `unsupported` for a model without
 * matrices or a Hessian that cannot be solved, and what `walk` throws.
 */
export async function pruneModel(prepared: PreparedModel, options: PruneModelOptions): Promise<PrunedModel> {
  const { windows, signal, format } = options
  const names = matricesOf(prepared)
  const done = new DoneMatrices(options.work, options.onMatrix)
  const job: Job = { prepared, options, done }
  if (windows.length > 0) await walk(prepared, { ...options, drift: hasDrift(options), visit: visitor(job) })
  const tensors = new Map<string, TensorInfo>()
  for (const name of names) {
    signal.throwIfAborted()
    const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
    if (!(await done.has(name))) {
      if (options.method !== 'magnitude') continue
      await pruneMatrix(job, name, n, k)
    }
    tensors.set(name, await done.tensor(name, format === 'f32' ? 'rows' : format, n, k))
  }
  const weights = new Map([...prepared.weights, ...tensors])
  const contents = await packContents({ ...prepared, weights }, options.card)
  return { contents, tensors, matrices: done.reports(names) }
}

/** Methods that only drop weights do not aim at other ones. */
const hasDrift = ({ drift, method }: PruneModelOptions): boolean =>
  drift > 0 && (method === 'obs' || method === 'sparsegpt')

interface Job {
  readonly prepared: PreparedModel
  readonly options: PruneModelOptions
  readonly done: DoneMatrices<PrunedReport>
}

function visitor(job: Job): WalkOptions['visit'] {
  const { options, done } = job
  return async (product, stats) => {
    const { parts, k } = product
    const areDone = await Promise.all(parts.map(({ name }) => done.has(name)))
    if (areDone.includes(false)) {
      const found = await stats()
      const most = Math.max(...parts.map(({ n }) => n))
      const dense = options.solver && (await openSolver(options.solver, pruneBytes(most, k)))
      const factor = factorize(product.name, found, { damp: options.damp, dense })
      // The widest first: the others find room where it was.
      for (const { name, n } of parts.toSorted((left, right) => right.n - left.n))
        await pruneMatrix(job, name, n, k, { stats: found, factor })
    }
    const encoding = options.format === 'f32' ? 'rows' : options.format
    return new Map(
      await Promise.all(
        parts.map(async ({ name, n }) => [name, await done.tensor(name, encoding, n, k)] as const),
      ),
    )
  }
}

async function pruneMatrix(
  { prepared, options, done }: Job,
  name: string,
  n: number,
  k: number,
  known?: Known,
): Promise<void> {
  const { method, format, host, signal } = options
  const weights = await readMatrix(weightOf(prepared.weights, name), signal)
  const targets =
    known && hasDrift(options) ? targetsOf(weights, n, k, known.stats, known.factor, options.drift) : weights
  const sparsity = options.sparsities?.get(name) ?? options.sparsity
  const { values, mask, work } = prune(targets, n, k, { ...options, sparsity }, known)
  const coded =
    format === 'f32'
      ? undefined
      : known === undefined
        ? rtn(values, n, k, format)
        : codeKept(values, mask, format, known.factor, options)
  const stored = coded === undefined ? Float32Array.from(values) : decode(coded)
  await done.keep(coded === undefined ? new Uint8Array((stored as Float32Array).buffer) : layMatrix(coded), {
    ...{ name, shape: [n, k], method, format, dropped: droppedShare(mask), work },
    ...(known && costOf(weights, stored, n, known.stats)),
  })
  await host.yieldTask()
  signal.throwIfAborted()
}

const costOf = (weights: Float32Array, stored: ArrayLike<number>, n: number, stats: InputStats) => ({
  loss: pruneLoss(weights, stored, n, stats),
  energy: pruneLoss(weights, new Float64Array(weights.length), n, stats),
})
