// Slots. In: weights as nodes name them, each weight's encoding. Out: one slot for each, with its size in
// linear memory.

import type { PackedEncoding } from '../../abi/encodings.ts'
import { isSparse, matrixBytes, ROW_PADDING, roundUp, sparseTableBytes } from '../../abi/encodings.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { memo } from '../../base/memo.ts'
import type { WeightPart, WeightRef } from '../ir.ts'
import { type EncodingOf, encodingOfWeight } from '../passes/split.ts'
import type { WeightSlot } from './plan.ts'
import { floatStride } from './strides.ts'

/** Bytes of the strips of a weight in a sparse encoding. They depend on where its zeros are. */
export type StripBytesOf = (name: string) => number

export class Slots {
  readonly all: WeightSlot[] = []
  readonly #encodingOf: EncodingOf
  readonly #stripBytesOf: StripBytesOf | undefined
  readonly #indices = new Map<string, number>()

  constructor(encodingOf: EncodingOf, stripBytesOf: StripBytesOf | undefined) {
    this.#encodingOf = encodingOf
    this.#stripBytesOf = stripBytesOf
  }

  /** The slot of a weight. A weight has the same slot wherever it is used. */
  of(ref: WeightRef): { readonly slot: number; readonly encoding: PackedEncoding } {
    const key = ref.parts.map(({ name }) => name).join(' ')
    const encoding = encodingOfWeight(ref, this.#encodingOf)
    const slot = memo(this.#indices, key, () => {
      const n = ref.parts.reduce((sum, part) => sum + roundUp(part.n, ROW_PADDING), 0)
      const table = isSparse(encoding) ? sparseTableBytes(n) : 0
      const bytes = ref.parts.reduce((sum, part) => sum + this.#bytesOf(ref, part, encoding), table)
      return this.all.push({ ref, encoding, n, bytes }) - 1
    })
    return { slot, encoding }
  }

  #bytesOf({ kind, k }: WeightRef, { name, n }: WeightPart, encoding: PackedEncoding): number {
    if (kind === 'vector') return floatStride(n)
    if (!isSparse(encoding)) return matrixBytes(encoding, n, k)
    if (this.#stripBytesOf !== undefined) return this.#stripBytesOf(name)
    throw new HalfbyteError('internal', `nobody knows how long ${name} is as ${encoding}`)
  }
}
