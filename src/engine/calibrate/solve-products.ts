// Solving products. In: what makes one matrix smaller. Out: a visitor of the walk that does so with every
// matrix of a product that is not done, under one factor.

import type { PackedEncoding } from '../../abi/encodings.ts'
import { type Factor, type FactorOptions, factorize } from '../../compress/factor.ts'
import type { InputStats } from '../../compress/hessian.ts'
import type { PackCard } from '../load/pack-model.ts'
import type { DoneMatrices } from './done-matrices.ts'
import { openSolver } from './solver/solver-module.ts'
import type { Product, WalkOptions } from './walk.ts'

/** What every way to make a model smaller is told. */
export interface SolveOptions<Report> extends Omit<WalkOptions, 'visit' | 'drift'> {
  /**
   * By how much of what inputs have drifted, behind matrices that were made smaller before, a matrix makes up
   * for. 0: the float model is not run beside the other.
   */
  readonly drift: number
  /** Most sweeps over the codes after they were solved. */
  readonly sweeps: number
  /** wasm/solve, compiled. Default: solvers compute in TypeScript. */
  readonly solver?: WebAssembly.Module | undefined
  readonly card?: PackCard | undefined
  /** Called when a matrix is done. */
  readonly onMatrix?: ((report: Report) => void) | undefined
}

/** A matrix of a product, what its inputs are like, and what the matrices of the product share. */
export interface SolveTask<Known> {
  readonly name: string
  readonly n: number
  readonly k: number
  readonly stats: InputStats
  readonly known: Known
}

export interface SolveProducts<Report extends { readonly name: string }, Known> {
  readonly done: DoneMatrices<Report>
  /** Called once for a product that is not done. */
  readonly know: (product: Product, stats: InputStats) => Promise<Known>
  readonly encodingOf: (name: string) => PackedEncoding | 'rows'
  /** Leaves the matrix with `done`. */
  readonly solve: (task: SolveTask<Known>) => Promise<void>
}

/** The factor of a product, in a memory that has room for the widest of its matrices. */
export async function factorOf(
  { name, parts, k }: Product,
  stats: InputStats,
  bytes: (n: number, k: number) => number,
  { solver, ...options }: Omit<FactorOptions, 'dense'> & { readonly solver: WebAssembly.Module | undefined },
): Promise<Factor> {
  const widest = Math.max(...parts.map(({ n }) => n))
  const dense = solver && openSolver(solver, bytes(widest, k))
  return factorize(name, stats, { ...options, dense })
}

/** The widest first: the others find room where it was. */
export const widestFirst = ({ parts }: Product): Product['parts'] =>
  parts.toSorted((left, right) => right.n - left.n)

export function solveProducts<Report extends { readonly name: string }, Known>({
  done,
  know,
  encodingOf,
  solve,
}: SolveProducts<Report, Known>): WalkOptions['visit'] {
  return async (product, stats) => {
    const { parts, k } = product
    const areDone = await Promise.all(parts.map(({ name }) => done.has(name)))
    if (areDone.includes(false)) {
      const found = await stats()
      const known = await know(product, found)
      for (const { name, n } of widestFirst(product)) await solve({ name, n, k, stats: found, known })
    }
    return new Map(
      await Promise.all(
        parts.map(async ({ name, n }) => [name, await done.tensor(name, encodingOf(name), n, k)] as const),
      ),
    )
  }
}
