// Chooses each product's sparsity to lose the least within a budget, and predicts the pruned model.

import { matrixBytes, type SparseBase } from '../../../core/abi/encodings.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { CostFormat, Costs } from '../../../core/weights/sparse/cost-table.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { allocate, type SparsityChoice, type SparsityItem } from '../prune/allocate.ts'
import type { PruneModelOptions } from './prune-model.ts'
import { type Lost, SPARSITIES, surveySparsities } from './survey-sparsity.ts'

/** A limit on what the model may take or lose. */
export type SparsityBudget =
  /** Target speedup of all pruned products together over dense; at least 1. */
  | { readonly kind: 'speed'; readonly times: number }
  /** Decoding speed of a single conversation. `restMs`: time of a token outside the products. */
  | { readonly kind: 'tokens'; readonly perSecond: number; readonly restMs: number }
  /** Maximum bytes of all the pack's tensors. */
  | { readonly kind: 'bytes'; readonly most: number }
  /** Mean share of energy that the matrices' products may lose; gives the fastest model within it. */
  | { readonly kind: 'loss'; readonly share: number }

export interface AllocateOptions extends PruneModelOptions {
  readonly format: SparseBase
  readonly sparseFormat: CostFormat
  readonly budget: SparsityBudget
  readonly costs: Costs
}

/** What is predicted about the pruned model. */
export interface Prediction {
  /** Speedup of its products over dense. */
  readonly speed: number
  /** Absent if the costs do not include the rest of a token. */
  readonly tokensPerSecond?: number | undefined
  readonly denseTokensPerSecond?: number | undefined
  /** Upper bound on the bytes of all the pack's tensors. */
  readonly bytes: number
  /** Mean share of energy lost by the matrices' products. */
  readonly loss: number
  /** Share of these products' weights that are dropped. */
  readonly dropped: number
}

export interface Allocation {
  /** Sparsity by matrix. */
  readonly sparsities: ReadonlyMap<string, number>
  /** Matrices to store without their zeros. */
  readonly sparse: ReadonlySet<string>
  readonly prediction: Prediction
}

interface Choice extends SparsityChoice {
  readonly ms: number
  readonly bytes: number
  readonly share: number
  readonly isSparse: boolean
}

/**
 * Surveys the products in the float model, and resumes an interrupted survey. Throws `unsupported` for a
 * budget out of reach or a matrix without a cost, and what `walk` throws.
 */
export async function allocateSparsity(
  prepared: PreparedModel,
  options: AllocateOptions,
): Promise<Allocation> {
  const products = await surveySparsities(prepared, options)
  const pruned = new Set(products.flatMap(({ names }) => names))
  const { tensors } = await packContents(prepared)
  const fixedBytes = tensors.reduce((sum, { name, bytes }) => sum + (pruned.has(name) ? 0 : bytes), 0)
  const items = products.map((product) => itemOf(product, options))
  const denseMs = items.reduce((sum, { choices }) => sum + choices[0]!.ms, 0)
  const limit = limitOf(options, { denseMs, fixedBytes, matrices: pruned.size })
  const chosen = allocate(items, limit)
  const of = ({ names: [first = ''] }: Lost) => chosen.get(first)!
  const sum = (what: (choice: Choice, product: Lost) => number) =>
    products.reduce((total, product) => total + what(of(product), product), 0)
  const ms = sum((choice) => choice.ms)
  const rest = options.costs.restMs
  return {
    sparsities: new Map(
      products.flatMap((product) => product.names.map((name) => [name, of(product).sparsity] as const)),
    ),
    sparse: new Set(products.flatMap((product) => (of(product).isSparse ? product.names : []))),
    prediction: {
      speed: denseMs / ms,
      tokensPerSecond: rest === undefined ? undefined : 1000 / (rest + ms),
      denseTokensPerSecond: rest === undefined ? undefined : 1000 / (rest + denseMs),
      bytes: fixedBytes + sum((choice) => choice.bytes),
      loss: sum((choice) => choice.share) / (pruned.size || 1),
      dropped: sum(({ sparsity }, { n, k }) => sparsity * n * k) / (sum((_, { n, k }) => n * k) || 1),
    },
  }
}

/**
 * `cost` is what the budget limits; `loss` is what is minimised within it. Losses are squared, because one
 * matrix that loses much harms a model more than several that lose little.
 */
function itemOf(
  product: Lost,
  { budget, costs, format, sparseFormat }: AllocateOptions,
): SparsityItem<Choice> {
  const { n, k, names, shares, bytes } = product
  const denseMs = costs.timeOf(n, k, undefined, 1)
  const denseBytes = bytes[0] ?? matrixBytes(format, n, k)
  const choices = SPARSITIES.map((sparsity, index): Choice => {
    const sparseMs =
      sparsity === 0 ? Number.POSITIVE_INFINITY : costs.timeOf(n, k, sparseFormat, 1 - sparsity)
    const sparseBytes = bytes[index] ?? denseBytes
    const isSparse = sparsity > 0 && (budget.kind === 'bytes' ? sparseBytes < denseBytes : sparseMs < denseMs)
    const share = shares[index] ?? 0
    const own = isSparse ? { ms: sparseMs, bytes: sparseBytes } : { ms: denseMs, bytes: denseBytes }
    const cost = { speed: own.ms, tokens: own.ms, bytes: own.bytes, loss: share }[budget.kind]
    return { sparsity, share, isSparse, ...own, cost, loss: budget.kind === 'loss' ? own.ms : share * share }
  })
  return { name: names[0] ?? '', choices }
}

/**
 * A safety margin, because masks are chosen again on the pruned model's inputs, and the same number of units
 * may then take a few more bytes.
 */
const BYTES_MARGIN = 0.995

interface Whole {
  readonly denseMs: number
  readonly fixedBytes: number
  readonly matrices: number
}

/** The limit on the summed costs of all products. */
function limitOf({ budget }: AllocateOptions, whole: Whole): number {
  switch (budget.kind) {
    case 'speed':
      return whole.denseMs / budget.times
    case 'tokens': {
      const { perSecond, restMs } = budget
      const left = 1000 / perSecond - restMs
      if (left > 0) return left
      throw new HalfbyteError(
        'unsupported',
        `${perSecond} tokens per second leave ${(1000 / perSecond).toPrecision(3)} ms for a token, but the unpruned part takes ${restMs.toPrecision(3)} ms; choose fewer than ${Math.floor(1000 / restMs)}`,
        { perSecond, restMs },
      )
    }
    case 'bytes': {
      const left = budget.most - whole.fixedBytes
      if (left > 0) return left * BYTES_MARGIN
      throw new HalfbyteError(
        'unsupported',
        `the unpruned part takes ${whole.fixedBytes} bytes but the limit for the pack is ${budget.most}; raise --size`,
        { bytes: whole.fixedBytes, most: budget.most },
      )
    }
    case 'loss':
      return budget.share * whole.matrices
    default:
      return budget satisfies never
  }
}
