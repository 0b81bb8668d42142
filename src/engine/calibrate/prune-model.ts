// Pruning a model. In: a prepared model, a method and a pattern, calibration windows. Out: the contents of a
// pack whose matrices have zeros, and what each cost.

import { weightOf } from '../../arch/tensors/names.ts'
import { decode } from '../../compress/codes/coded-matrix.ts'
import { layMatrix } from '../../compress/codes/lay.ts'
import type { FactorOptions } from '../../compress/factor.ts'
import type { InputStats } from '../../compress/hessian.ts'
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
import { targetsOf, turned } from '../../compress/targets.ts'
import type { PackContents } from '../../formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { packContents } from '../load/pack-model.ts'
import type { PreparedModel } from '../load/prepare.ts'
import { DoneMatrices, matricesOf } from './done-matrices.ts'
import { readMatrix } from './read-matrix.ts'
import { factorOf, type SolveOptions, solveProducts } from './solve-products.ts'
import { walk } from './walk.ts'

/** Drift: only methods that update weights make up for it. */
export interface PruneModelOptions
  extends PruneOptions,
    Pick<FactorOptions, 'damp'>,
    SolveOptions<PrunedReport> {
  /** How what is left is stored. */
  readonly format: 'f32' | PrunedFormat
  /** The sparsity of single matrices; the others have `sparsity`. */
  readonly sparsities?: ReadonlyMap<string, number> | undefined
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
  const encoding = format === 'f32' ? 'rows' : format
  const visit = solveProducts({
    ...{ done, encodingOf: () => encoding },
    know: async (product, stats) => {
      const { damp, solver } = options
      const factor = await factorOf(product, stats, pruneBytes, { damp, solver })
      return { stats, factor }
    },
    solve: ({ name, n, k, known }) => pruneMatrix(job, name, n, k, known),
  })
  if (windows.length > 0) await walk(prepared, { ...options, drift: hasDrift(options), visit })
  const tensors = new Map<string, TensorInfo>()
  for (const name of names) {
    signal.throwIfAborted()
    const [n = 0, k = 0] = weightOf(prepared.weights, name).shape
    if (!(await done.has(name))) {
      if (options.method !== 'magnitude') continue
      await pruneMatrix(job, name, n, k)
    }
    tensors.set(name, await done.tensor(name, encoding, n, k))
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

async function pruneMatrix(
  { prepared, options, done }: Job,
  name: string,
  n: number,
  k: number,
  known?: Known,
): Promise<void> {
  const { method, format, host, signal } = options
  const weights = await readMatrix(weightOf(prepared.weights, name), signal)
  const targets = known && hasDrift(options) ? driftedTargets(weights, n, k, known, options.drift) : weights
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

function driftedTargets(
  weights: Float32Array,
  n: number,
  k: number,
  { stats, factor }: Known,
  share: number,
): Float64Array {
  const drift = stats.drift && turned(stats.drift, k, factor.dense)
  return targetsOf(weights, n, k, { drift, behind: stats.behind }, factor, share)
}

const costOf = (weights: Float32Array, stored: ArrayLike<number>, n: number, stats: InputStats) => ({
  loss: pruneLoss(weights, stored, n, stats),
  energy: pruneLoss(weights, new Float64Array(weights.length), n, stats),
})
