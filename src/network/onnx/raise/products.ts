// Products of rows and matrices, recorded so that some columns can be split off into a product of their own.
import type { GraphBuilder } from '../../../core/graph/builder.ts'
import type { Value, WeightRef } from '../../../core/graph/ir.ts'
import type { StoredRuns, WeightTable } from './weights/weight-table.ts'

interface Product {
  readonly input: Value
  readonly weight: WeightRef
  readonly bias: WeightRef | undefined
}

export class Products {
  readonly #b: GraphBuilder
  readonly #weights: WeightTable
  readonly #made = new Map<Value, Product>()

  constructor(b: GraphBuilder, weights: WeightTable) {
    this.#b = b
    this.#weights = weights
  }

  linear(label: string, input: Value, weight: WeightRef, bias?: WeightRef): Value {
    const made = this.#b.linear(label, input, weight, bias)
    this.#made.set(made, { input, weight, bias })
    return made
  }

  /**
   * Columns of a product as a separate product. If nothing else reads the whole product, the plan omits it.
   * `runs`: starts and counts of columns. Undefined for rows that do not come from a product.
   */
  columns(label: string, value: Value, runs: StoredRuns): Value | undefined {
    const product = this.#made.get(value)
    if (product?.weight.parts.length !== 1) return undefined
    const { input, weight, bias } = product
    const part = (whole: WeightRef) => this.#weights.rowsOf(whole, runs)
    return this.linear(label, input, part(weight), bias && part(bias))
  }
}
