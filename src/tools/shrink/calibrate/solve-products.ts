// Solves every unfinished matrix of a model, product by product, with a pool of threads.

import type { PackedEncoding } from '../../../core/abi/encodings.ts'
import type { PackCard } from '../../../engine/load/pack-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import type { InputStats } from '../matrix/hessian.ts'
import { crewOf, type SolverCrew } from './solver/solver-crew.ts'
import { type Product, type WalkOptions, walk } from './walk.ts'
import type { DoneMatrices } from './work-files.ts'

/** The settings that all methods share. */
export interface SolveOptions<Report> extends Omit<WalkOptions, 'visit' | 'drift' | 'crew'> {
  /**
   * The share of the inputs' drift, caused by matrices compressed earlier, that a matrix compensates for.
   * With 0, the float model is not run alongside.
   */
  readonly drift: number
  /** Maximum sweeps over the codes after solving. */
  readonly sweeps: number
  readonly card?: PackCard | undefined
  /** Called when a matrix is done. */
  readonly onMatrix?: ((report: Report) => void) | undefined
}

/** A matrix of a product, with its input statistics and the data shared by the product's matrices. */
export interface SolveTask<Known> {
  readonly name: string
  readonly n: number
  readonly k: number
  readonly stats: InputStats
  readonly known: Known
}

interface SolveProducts<Report extends { readonly name: string }, Known> {
  readonly done: DoneMatrices<Report>
  /** Called once for each unfinished product. */
  readonly know: (crew: SolverCrew, product: Product, stats: InputStats) => Promise<Known>
  readonly encodingOf: (name: string) => PackedEncoding | 'rows'
  /** Stores the matrix in `done`. */
  readonly solve: (crew: SolverCrew, task: SolveTask<Known>) => Promise<void>
}

/** The widest first, because the others fit into the memory that it used. */
export const widestFirst = ({ parts }: Product): Product['parts'] =>
  parts.toSorted((left, right) => right.n - left.n)

/** Walks the model with one pool. Throws what `walk`, `know` and `solve` throw. */
export async function solveProducts<Report extends { readonly name: string }, Known>(
  prepared: PreparedModel,
  options: SolveOptions<Report>,
  how: SolveProducts<Report, Known>,
): Promise<void> {
  const crew = crewOf(options)
  try {
    await walk(prepared, { ...options, crew, drift: options.drift > 0, visit: visitor(crew, how) })
  } finally {
    crew.dispose()
  }
}

function visitor<Report extends { readonly name: string }, Known>(
  crew: SolverCrew,
  { done, know, encodingOf, solve }: SolveProducts<Report, Known>,
): WalkOptions['visit'] {
  return async (product, stats) => {
    const { parts, k } = product
    const areDone = await Promise.all(parts.map(({ name }) => done.has(name)))
    if (areDone.includes(false)) {
      const found = await stats()
      const known = await know(crew, product, found)
      for (const { name, n } of widestFirst(product)) await solve(crew, { name, n, k, stats: found, known })
    }
    return new Map(
      await Promise.all(
        parts.map(async ({ name, n }) => [name, await done.tensor(name, encodingOf(name), n, k)] as const),
      ),
    )
  }
}
