// The memory of products of codes, and where its operands, sums and rows are.

import { roundUp } from '../../../../core/abi/encodings.ts'
import { type CodeKernels, MAX_DEPTH, type Operand, PANEL } from './code-kernels.ts'

/** Threads write panels of f64 sums, which are a cache line. */
const ALIGNMENT = 64

export const columnsOf = (width: number): number => roundUp(width, PANEL)

/** Parts of a depth over which codes can be multiplied. */
export const blocksOf = (depth: number): readonly { readonly first: number; readonly count: number }[] =>
  Array.from({ length: Math.ceil(depth / MAX_DEPTH) }, (_, block) => ({
    first: block * MAX_DEPTH,
    count: Math.min(MAX_DEPTH, depth - block * MAX_DEPTH),
  }))

/** Hands out addresses, one after another. */
export class CodeSpace {
  /** The first free byte. */
  end: number

  constructor(start: number) {
    this.end = roundUp(start, ALIGNMENT)
  }

  /** The address of `count` numbers of 4 or 8 bytes. */
  numbers(count: number, bytes: 4 | 8): number {
    const at = this.end
    this.end += roundUp(count * bytes, ALIGNMENT)
    return at
  }

  operand(width: number, depth: number): Operand {
    const columns = columnsOf(width)
    const pairs = Math.ceil(depth / 2)
    return {
      panels: columns / PANEL,
      pairs,
      codes: this.numbers(columns * pairs, 4),
      scales: this.numbers(columns, 8),
    }
  }
}

export interface CodeMemory {
  readonly kernels: CodeKernels
  /** Where this thread may allocate. Nothing is cleared. */
  readonly space: CodeSpace
  readonly f32: Float32Array
  readonly f64: Float64Array
}

export const codeMemory = (buffer: ArrayBufferLike, kernels: CodeKernels, start: number): CodeMemory => ({
  kernels,
  space: new CodeSpace(start),
  f32: new Float32Array(buffer),
  f64: new Float64Array(buffer),
})
