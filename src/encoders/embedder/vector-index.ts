// Exact vector search. In: vectors in f32. Out: those with the largest dot products with a query.
//
// A vector is kept in f32 and as 8-bit codes c: x = s c + e with a scale s. A query is q = t d + f in the
// same form. The product of the codes is computed in integers, and by the Cauchy-Schwarz inequality
//
//   |q·x - s t (c·d)|  =  |q·e + f·(s c)|  <=  |q| |e| + |f| |s c|
//
// Only vectors whose upper bound reaches the k-th largest lower bound can be among the best k. Those are
// scored again from f32, so the result equals that of a full search in f32.

import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { checkValue, whole } from '../../core/base/options/option-kinds.ts'
import { readIndex, writeIndex } from './index-bytes.ts'

/** A vector that a search has found. */
export interface FoundVector {
  /** The id that `add` returned. */
  readonly id: number
  /** The dot product with the query; equals the cosine if both have length 1. */
  readonly score: number
}

const MAX_DIMENSIONS = 65_536
const MAX_CODE = 127
/** Covers the rounding of every sum here, as a fraction of the vectors' lengths. */
const ROUNDING = 1e-9

/**
 * Vectors of the same length in memory, with five bytes per value. A search visits all of them and returns
 * exactly the result of a full search in f32; equal scores are sorted by id. Designed for up to about 100,000
 * vectors.
 *
 * ```ts
 * const index = new VectorIndex(embedder.model.dimensions)
 * const ids = index.add((await embedder.embed(passages)).vectors)
 * const { vectors } = await embedder.embed(['How tall are giraffes?'], { kind: 'query' })
 * const best = index.search(vectors[0], 5)
 * ```
 */
export class VectorIndex {
  /** Length of the vectors. */
  readonly dimensions: number
  // Rows are dense: the last row takes the place of a removed one.
  private readonly ids: number[] = []
  private readonly rows = new Map<number, number>()
  private nextId = 0
  private values = new Float32Array(0)
  private codes = new Int8Array(0)
  /** [row][scale, length of the rounding error e, length of s c] */
  private bounds = new Float64Array(0)

  /** Throws `unsupported` if `dimensions` is not a whole number from 1 to 65,536. */
  constructor(dimensions: number) {
    checkValue('dimensions', dimensions, whole(1, MAX_DIMENSIONS))
    this.dimensions = dimensions
  }

  /** Number of vectors. */
  get size(): number {
    return this.ids.length
  }

  /**
   * Adds copies of vectors and returns an id for each. Ids start at 0, and removed ones are not reused.
   *
   * Throws `unsupported` for a vector of the wrong length or with a value that is not finite, and
   * `out-of-memory`; nothing is added then.
   */
  add(vectors: readonly Float32Array[]): number[] {
    for (const [at, vector] of vectors.entries()) this.check(`vectors[${at}]`, vector)
    this.reserve(this.size + vectors.length)
    return vectors.map((vector) => this.place(this.nextId++, this.size, vector))
  }

  /** Removes a vector. Returns false if there is none with this id. */
  remove(id: number): boolean {
    const row = this.rows.get(id)
    if (row === undefined) return false
    const last = this.size - 1
    if (row !== last) this.place(this.ids[last] as number, row, this.row(last))
    this.ids.length = last
    this.rows.delete(id)
    return true
  }

  /**
   * The `k` vectors with the largest dot products, best first; all if there are fewer.
   *
   * Throws `unsupported` for an invalid query, like `add`, and for a `k` that is not a whole number of at
   * least 1.
   */
  search(query: Float32Array, k: number): FoundVector[] {
    this.check('query', query)
    checkValue('k', k, whole(1))
    const codes = new Int8Array(this.dimensions)
    const [scale, lost] = encode(query, codes)
    const length = Math.sqrt(product(query, query))
    const { bounds } = this
    const lowers = new Float64Array(this.size)
    const uppers = new Float64Array(this.size)
    for (let row = 0; row < this.size; row++) {
      const rowScale = bounds[3 * row] as number
      const rowLost = bounds[3 * row + 1] as number
      const rowKept = bounds[3 * row + 2] as number
      const middle = scale * rowScale * this.codeProduct(codes, row)
      const margin = length * rowLost + lost * rowKept + ROUNDING * length * (rowKept + rowLost)
      lowers[row] = middle - margin
      uppers[row] = middle + margin
    }
    const least = k < this.size ? (lowers.sort()[this.size - k] as number) : Number.NEGATIVE_INFINITY
    const found: FoundVector[] = []
    for (const [row, upper] of uppers.entries())
      if (upper >= least) found.push({ id: this.ids[row] as number, score: product(query, this.row(row)) })
    return found.sort((a, b) => b.score - a.score || a.id - b.id).slice(0, k)
  }

  /** The index as bytes, for a file or a browser database. */
  toBytes(): ArrayBuffer {
    const { dimensions, nextId, ids } = this
    return writeIndex({ dimensions, nextId, ids, values: this.values.subarray(0, this.size * dimensions) })
  }

  /** Reads what `toBytes` wrote. Throws `format` for other bytes. */
  static fromBytes(bytes: ArrayBuffer | Uint8Array): VectorIndex {
    const viewed = bytes instanceof ArrayBuffer ? new Uint8Array(bytes) : bytes
    const { dimensions, nextId, ids, values } = readIndex(viewed, MAX_DIMENSIONS)
    const index = new VectorIndex(dimensions)
    index.reserve(ids.length)
    for (const [row, id] of ids.entries())
      index.place(id, row, values.subarray(row * dimensions, (row + 1) * dimensions))
    index.nextId = nextId
    return index
  }

  private check(name: string, vector: unknown): asserts vector is Float32Array {
    const { dimensions } = this
    if (!(vector instanceof Float32Array) || vector.length !== dimensions)
      throw wrongOption(
        name,
        vector instanceof Float32Array ? `a Float32Array of ${vector.length}` : vector,
        `a Float32Array of ${dimensions} values, as the index has`,
      )
    const at = vector.findIndex((value) => !Number.isFinite(value))
    if (at >= 0) throw wrongOption(`${name}[${at}]`, vector[at], 'a finite number')
  }

  private row(row: number): Float32Array {
    return this.values.subarray(row * this.dimensions, (row + 1) * this.dimensions)
  }

  /**
   * Allocates memory for `count` rows, or twice as many as before if that is more, so that adding one by one
   * stays cheap.
   */
  private reserve(count: number): void {
    const { dimensions } = this
    const room = this.bounds.length / 3
    if (count <= room) return
    const rows = Math.max(count, 2 * room)
    try {
      const values = new Float32Array(rows * dimensions)
      const codes = new Int8Array(rows * dimensions)
      const bounds = new Float64Array(3 * rows)
      values.set(this.values)
      codes.set(this.codes)
      bounds.set(this.bounds)
      Object.assign(this, { values, codes, bounds })
    } catch (cause) {
      const bytes = 5 * rows * dimensions
      throw new HalfbyteError(
        'out-of-memory',
        `an index of ${rows} vectors needs ${bytes} bytes of memory, more than is free; add fewer vectors, or shorter ones`,
        { bytes },
        { cause },
      )
    }
  }

  /** Returns the id. */
  private place(id: number, row: number, vector: Float32Array): number {
    const { dimensions } = this
    this.values.set(vector, row * dimensions)
    const codes = this.codes.subarray(row * dimensions, (row + 1) * dimensions)
    this.bounds.set(encode(vector, codes), 3 * row)
    this.ids[row] = id
    this.rows.set(id, row)
    return id
  }

  /** At most 127 * 127 * 65,536, which fits in 31 bits. */
  private codeProduct(query: Int8Array, row: number): number {
    const { codes, dimensions } = this
    const start = row * dimensions
    let sum = 0
    for (let at = 0; at < dimensions; at++)
      sum = (sum + (query[at] as number) * (codes[start + at] as number)) | 0
    return sum
  }
}

type Bounds = readonly [scale: number, lost: number, kept: number]

/** Writes the codes of a vector. Returns its row of `bounds`. */
function encode(vector: Float32Array, codes: Int8Array): Bounds {
  const scale = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / MAX_CODE
  let lost = 0
  let kept = 0
  for (const [at, value] of vector.entries()) {
    const code = scale === 0 ? 0 : Math.round(value / scale)
    codes[at] = code
    lost += (value - scale * code) ** 2
    kept += (scale * code) ** 2
  }
  return [scale, Math.sqrt(lost), Math.sqrt(kept)]
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number)
  return sum
}
