// Chooses the weights to keep from scores of a pattern's units, and finds rows that share a mask.
import { HalfbyteError } from '../../../core/base/errors.ts'

/** Weights that are kept or dropped together: `rows` outputs x `inputs` inputs. */
export interface Pattern {
  /** `unstructured`, `sb84`, `sv32`, or like `2:4`. */
  readonly name: string
  readonly rows: number
  readonly inputs: number
  /** Keeps `keep` of every `of` inputs of an output. Absent if the sparsity determines the number. */
  readonly nm?: { readonly keep: number; readonly of: number } | undefined
}

const UNITS: ReadonlyMap<string, Pattern> = new Map(
  Object.entries({
    unstructured: { name: 'unstructured', rows: 1, inputs: 1 },
    sb84: { name: 'sb84', rows: 8, inputs: 4 },
    sv32: { name: 'sv32', rows: 32, inputs: 1 },
  }),
)

/** SparseGPT's blocks of 128 inputs hold at least two groups of this size. */
const MAX_OF = 64

/** Throws `unsupported` for an unknown pattern. */
export function parsePattern(text: string): Pattern {
  const known = UNITS.get(text)
  if (known !== undefined) return known
  const found = /^(\d{1,3}):(\d{1,3})$/.exec(text)
  const keep = Number(found?.[1])
  const of = Number(found?.[2])
  if (!(keep >= 1 && keep < of && of <= MAX_OF)) {
    throw new HalfbyteError(
      'unsupported',
      `${text} is not a pattern; choose unstructured, sb84, sv32, or N:M with 1 <= N < M <= ${MAX_OF}, like 2:4`,
      { pattern: text },
    )
  }
  return { name: text, rows: 1, inputs: 1, nm: { keep, of } }
}

/**
 * The share of weights to drop. N:M implies it. Throws `unsupported` if it is missing, or differs from what
 * N:M implies.
 */
export function sparsityOf({ name, nm }: Pattern, asked: number | undefined): number {
  if (nm === undefined) {
    if (asked !== undefined) return asked
    throw new HalfbyteError(
      'unsupported',
      `${name} does not determine how many weights to drop; give --sparsity, like --sparsity 0.5`,
    )
  }
  const own = 1 - nm.keep / nm.of
  if (asked === undefined || Math.abs(asked - own) < 1e-9) return own
  throw new HalfbyteError(
    'unsupported',
    `${name} drops ${own} of the weights, but the sparsity is ${asked}; omit --sparsity, or choose another pattern`,
    { sparsity: asked },
  )
}

export interface Mask {
  readonly n: number
  readonly k: number
  /** 1: kept, 0: dropped. [n][k] */
  readonly kept: Uint8Array
}

export const fullMask = (n: number, k: number): Mask => ({ n, k, kept: new Uint8Array(n * k).fill(1) })

/** Share of dropped weights. */
export const droppedShare = ({ kept }: Mask): number =>
  1 - kept.reduce((sum, each) => sum + each, 0) / (kept.length || 1)

/** A matrix's number of unit rows, and units per row. */
export const unitGrid = (n: number, k: number, { rows, inputs }: Pattern): readonly [number, number] => [
  Math.ceil(n / rows),
  Math.ceil(k / inputs),
]

/**
 * Drops the lowest `count` of scores[from..from+length); ties go to the first. Returns 1 for those that
 * stay.
 */
export function keepHighest(scores: Float64Array, from: number, length: number, count: number): Uint8Array {
  const own = scores.subarray(from, from + length)
  const kept = new Uint8Array(length).fill(1)
  if (count <= 0) return kept
  const limit = smallest(own.slice(), count - 1)
  let left = count
  for (let i = 0; i < length; i++) {
    if (own[i]! >= limit) continue
    kept[i] = 0
    left--
  }
  for (let i = 0; i < length && left > 0; i++) {
    if (own[i] !== limit) continue
    kept[i] = 0
    left--
  }
  return kept
}

/** Finds the value that sorting would put at `index`. Reorders the values. Source: Hoare, Find (1961). */
function smallest(values: Float64Array, index: number): number {
  let low = 0
  let high = values.length - 1
  while (low < high) {
    const pivot = values[(low + high) >> 1]!
    let left = low
    let right = high
    while (left <= right) {
      while (values[left]! < pivot) left++
      while (values[right]! > pivot) right--
      if (left > right) break
      const swapped = values[left]!
      values[left++] = values[right]!
      values[right--] = swapped
    }
    if (index <= right) high = right
    else if (index >= left) low = left
    else break
  }
  return values[index]!
}

/** `row`: each row of units drops the same share. `matrix`: the lowest anywhere. */
export type Scope = 'row' | 'matrix'

/**
 * The mask that drops the units of lowest score. `scores`: mean score of each unit's weights, [rows of
 * units][units].
 */
export function maskOf(
  scores: Float64Array,
  n: number,
  k: number,
  pattern: Pattern,
  sparsity: number,
  scope: Scope,
): Mask {
  const [rows, width] = unitGrid(n, k, pattern)
  const mask = fullMask(n, k)
  const { nm } = pattern
  const [length, span] = nm ? [width, nm.of] : scope === 'row' ? [width, width] : [rows * width, rows * width]
  for (let row = 0; row < rows * width; row += length) {
    for (let first = 0; first < length; first += span) {
      const size = Math.min(span, length - first)
      const count = nm ? dropsOf(nm, size) : Math.round(size * sparsity)
      const kept = keepHighest(scores, row + first, size, count)
      for (let i = 0; i < size; i++) {
        if (kept[i] === 0) dropUnit(mask, pattern, width, row + first + i)
      }
    }
  }
  return mask
}

/** Inputs that a group of N:M drops; the last group of a row may be shorter. */
export const dropsOf = ({ keep }: { readonly keep: number }, size: number): number => Math.max(0, size - keep)

function dropUnit({ n, k, kept }: Mask, { rows, inputs }: Pattern, width: number, unit: number): void {
  const top = Math.floor(unit / width) * rows
  const left = (unit % width) * inputs
  for (let row = top; row < Math.min(n, top + rows); row++) {
    kept.fill(0, row * k + left, row * k + Math.min(k, left + inputs))
  }
}

/** The inputs of a row, in ascending order. */
export interface MaskSides {
  readonly kept: Uint32Array
  readonly dropped: Uint32Array
}

/** Rows with the same mask. */
interface RowGroup extends MaskSides {
  readonly rows: readonly number[]
}

/** Groups the rows that share a mask, because they share a factor. */
export function rowGroups({ n, k, kept }: Mask): RowGroup[] {
  const groups = new Map<string, number[]>()
  for (let row = 0; row < n; row++) {
    const key = keyOf(kept.subarray(row * k, (row + 1) * k))
    const rows = groups.get(key)
    if (rows === undefined) groups.set(key, [row])
    else rows.push(row)
  }
  return [...groups.values()].map((rows) => {
    const own = kept.subarray(rows[0]! * k, (rows[0]! + 1) * k)
    const inputs = Uint32Array.from({ length: k }, (_, i) => i)
    return { rows, kept: inputs.filter((i) => own[i] === 1), dropped: inputs.filter((i) => own[i] === 0) }
  })
}

function keyOf(row: Uint8Array): string {
  let key = ''
  for (let at = 0; at < row.length; at += 16) {
    let bits = 0
    for (let i = at; i < Math.min(at + 16, row.length); i++) bits = bits * 2 + row[i]!
    key += String.fromCharCode(bits)
  }
  return key
}
