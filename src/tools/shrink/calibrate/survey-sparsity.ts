// Measures what each product loses at ten sparsities. Results are work files, so an interrupted run can be
// resumed.

import { matrixBytes, type SparseBase } from '../../../core/abi/encodings.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { parseJson } from '../../../core/base/json.ts'
import { type CostFormat, keptBytes } from '../../../core/weights/sparse/cost-table.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { factorize } from '../matrix/factor.ts'
import type { InputStats } from '../matrix/hessian.ts'
import { inverseOf } from '../prune/inverse.ts'
import { prune, pruneBytes, pruneLoss } from '../prune/prune-matrix.ts'
import { readMatrix } from './gram.ts'
import type { PruneModelOptions } from './prune-model.ts'
import { widestFirst } from './solve-products.ts'
import { openSolver } from './solver/solver-module.ts'
import { type Product, walk } from './walk.ts'
import { prefixed, readWork } from './work-files.ts'

export const SPARSITIES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9] as const

/** What a product loses. */
export interface Lost {
  /** Names of its matrices. */
  readonly names: readonly string[]
  /** Total outputs of all matrices. */
  readonly n: number
  readonly k: number
  /** Shares of energy lost, summed over the product's matrices, at each of SPARSITIES. */
  readonly shares: readonly number[]
  /** Bytes of all matrices, at each of SPARSITIES; the first is dense. */
  readonly bytes: readonly number[]
}

interface SurveyOptions extends PruneModelOptions {
  readonly format: SparseBase
  readonly sparseFormat: CostFormat
}

/** In the plan's order. Throws what `walk` throws. */
export async function surveySparsities(
  prepared: PreparedModel,
  options: SurveyOptions,
): Promise<readonly Lost[]> {
  const { work } = options
  await walk(prepared, {
    ...options,
    drift: false,
    work: prefixed(work, 'allocation-'),
    async visit(product, stats) {
      const file = fileOf(product.parts[0]?.name)
      if ((await work.open(file)) !== undefined) return undefined
      const lost = await lossesOf(prepared, product, await stats(), options)
      await work.write(file, [new TextEncoder().encode(JSON.stringify(lost))])
      return undefined
    },
  })
  const found: Lost[] = []
  for (const { ref } of prepared.plan.slots) {
    const bytes = await readWork(work, fileOf(ref.parts[0]?.name))
    if (bytes !== undefined) found.push(parseJson(new TextDecoder().decode(bytes)) as Lost)
  }
  return found
}

const fileOf = (first: string | undefined): string => `${first}.losses`

async function lossesOf(
  prepared: PreparedModel,
  product: Product,
  stats: InputStats,
  options: SurveyOptions,
): Promise<Lost> {
  const { solver, damp, host, signal, format, sparseFormat } = options
  const { parts, k } = product
  const widest = Math.max(...parts.map(({ n }) => n))
  const dense = solver && openSolver(solver, pruneBytes(widest, k))
  const factor = factorize(product.name, stats, { damp, dense })
  const known = { stats, factor, inverse: inverseOf(factor, 'inverse') }
  const losses = new Float64Array(SPARSITIES.length)
  const bytes = new Float64Array(SPARSITIES.length)
  for (const part of widestFirst(product)) {
    const weights = await readMatrix(weightOf(prepared.weights, part.name), signal)
    const energy = pruneLoss(weights, new Float64Array(weights.length), part.n, stats)
    bytes[0]! += matrixBytes(format, part.n, k)
    for (const [index, sparsity] of SPARSITIES.entries()) {
      if (sparsity === 0) continue
      const { values, mask } = prune(weights, part.n, k, { ...options, sparsity }, known)
      if (energy > 0) losses[index]! += pruneLoss(weights, values, part.n, stats) / energy
      bytes[index]! += keptBytes(mask.kept, part.n, k, format, sparseFormat)
      await host.yieldTask()
      signal.throwIfAborted()
    }
  }
  return {
    names: parts.map((part) => part.name),
    n: parts.reduce((sum, { n }) => sum + n, 0),
    k,
    shares: [...losses],
    bytes: [...bytes],
  }
}
