// Sparsity by product. In: a prepared model, calibration windows, how much faster its products shall be. Out:
// the sparsity of each matrix that loses least at that speed, by measured times of the kernels.

import type { SparseBase } from '../../abi/encodings.ts'
import { weightOf } from '../../arch/tensors/names.ts'
import { parseJson } from '../../base/json.ts'
import type { InputStats } from '../../compress/hessian.ts'
import { allocate, type SparsityChoice, type SparsityItem } from '../../compress/prune/allocate.ts'
import { prune, pruneBytes, pruneLoss } from '../../compress/prune/prune.ts'
import { kernelTime } from '../../weights/sparse/choose.ts'
import type { PreparedModel } from '../load/prepare.ts'
import type { PruneModelOptions } from './prune-model.ts'
import { readMatrix } from './read-matrix.ts'
import { factorOf, widestFirst } from './solve-products.ts'
import { type Product, walk } from './walk.ts'
import { prefixed, readWork } from './work-files.ts'

const SPARSITIES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]

export interface AllocateOptions extends PruneModelOptions {
  readonly format: SparseBase
  /** How many times as fast as dense all pruned products together shall be. */
  readonly speed: number
  readonly sparseFormat: 'sb84' | 'sv32'
}

/**
 * Products are surveyed in the float model; a survey that was stopped goes on. What a product loses counts as
 * a share of its energy. Throws `unsupported` for a speed out of reach, and what `walk` throws.
 */
export async function allocateSparsity(
  prepared: PreparedModel,
  options: AllocateOptions,
): Promise<ReadonlyMap<string, number>> {
  const { work, format, sparseFormat, speed } = options
  await walk(prepared, {
    ...{ ...options, drift: false },
    work: prefixed(work, 'allocation-'),
    async visit(product, stats) {
      if ((await work.open(fileOf(product.parts[0]?.name))) !== undefined) return undefined
      const lost = await lossesOf(prepared, product, await stats(), options)
      await work.write(fileOf(product.parts[0]?.name), [new TextEncoder().encode(JSON.stringify(lost))])
      return undefined
    },
  })
  const items: SparsityItem[] = []
  const parts = new Map<string, readonly string[]>()
  let whole = 0
  for (const { ref } of prepared.plan.slots) {
    const [first] = ref.parts
    const bytes = await readWork(work, fileOf(first?.name))
    if (first === undefined || bytes === undefined) continue
    const { shares, size, names } = parseJson(new TextDecoder().decode(bytes)) as Lost
    parts.set(first.name, names)
    whole += size * kernelTime(format, undefined, 1)
    const choices = SPARSITIES.map((sparsity, index): SparsityChoice => {
      const kept = sparsity === 0 ? undefined : sparseFormat
      return { sparsity, cost: size * kernelTime(format, kept, 1 - sparsity), loss: shares[index] ?? 0 }
    })
    items.push({ name: first.name, choices })
  }
  const chosen = allocate(items, whole / speed)
  return new Map(
    [...chosen].flatMap(([name, { sparsity }]) =>
      (parts.get(name) ?? []).map((part) => [part, sparsity] as const),
    ),
  )
}

/** What a product loses at each of SPARSITIES. */
interface Lost {
  readonly names: readonly string[]
  /** Weights of all parts. */
  readonly size: number
  /** Of its energy. */
  readonly shares: readonly number[]
}

const fileOf = (first: string | undefined): string => `${first}.losses`

async function lossesOf(
  prepared: PreparedModel,
  product: Product,
  stats: InputStats,
  options: AllocateOptions,
): Promise<Lost> {
  const { solver, damp, host, signal } = options
  const { parts, k } = product
  const factor = await factorOf(product, stats, pruneBytes, { solver, damp })
  const losses = new Float64Array(SPARSITIES.length)
  let energy = 0
  for (const part of widestFirst(product)) {
    const weights = await readMatrix(weightOf(prepared.weights, part.name), signal)
    energy += pruneLoss(weights, new Float64Array(weights.length), part.n, stats)
    for (const [index, sparsity] of SPARSITIES.entries()) {
      if (sparsity === 0) continue
      const { values } = prune(weights, part.n, k, { ...options, sparsity }, { stats, factor })
      losses[index]! += pruneLoss(weights, values, part.n, stats)
      await host.yieldTask()
      signal.throwIfAborted()
    }
  }
  return {
    names: parts.map((part) => part.name),
    size: parts.reduce((sum, { n }) => sum + n * k, 0),
    shares: [...losses].map((loss) => (energy > 0 ? loss / energy : 0)),
  }
}
