// Sets of characters as ranges of code points: their unions, differences and UTF-8 bytes.

/**
 * Inclusive ranges as a flat list [low, high, low, high, ...], ascending, neither adjacent nor overlapping.
 */
export type CodePoints = readonly number[]

const MAX_CODE_POINT = 0x10ffff
const SURROGATES = [0xd800, 0xdfff] as const

/** Every character that UTF-8 can encode: all except surrogates. */
export const ANY: CodePoints = [0, SURROGATES[0] - 1, SURROGATES[1] + 1, MAX_CODE_POINT]
export const DIGITS: CodePoints = [0x30, 0x39]

/** The set of these ranges, given in any order, without surrogates. */
export function codePoints(...ranges: readonly (readonly [number, number])[]): CodePoints {
  const sorted = ranges.filter(([low, high]) => low <= high).toSorted((a, b) => a[0] - b[0])
  const merged: number[] = []
  for (const [low, high] of sorted) {
    const last = merged.length - 1
    if (last > 0 && low <= merged[last]! + 1) merged[last] = Math.max(merged[last]!, high)
    else merged.push(low, high)
  }
  return intersect(merged, ANY)
}

export function ofText(text: string): CodePoints {
  return codePoints(...Array.from(text, (char) => [char.codePointAt(0)!, char.codePointAt(0)!] as const))
}

export function union(...sets: readonly CodePoints[]): CodePoints {
  return codePoints(...sets.flatMap(pairs))
}

export function intersect(left: CodePoints, right: CodePoints): CodePoints {
  const result: number[] = []
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    const low = Math.max(left[i]!, right[j]!)
    const high = Math.min(left[i + 1]!, right[j + 1]!)
    if (low <= high) result.push(low, high)
    if (left[i + 1]! < right[j + 1]!) i += 2
    else j += 2
  }
  return result
}

/** All other characters. */
export function complement(set: CodePoints): CodePoints {
  const result: number[] = []
  let next = 0
  for (const [low, high] of pairs(set)) {
    if (low > next) result.push(next, low - 1)
    next = high + 1
  }
  if (next <= MAX_CODE_POINT) result.push(next, MAX_CODE_POINT)
  return intersect(result, ANY)
}

export function subtract(left: CodePoints, right: CodePoints): CodePoints {
  return intersect(left, complement(right))
}

export function has(set: CodePoints, point: number): boolean {
  for (let i = 0; i < set.length; i += 2) if (point >= set[i]! && point <= set[i + 1]!) return true
  return false
}

export function pairs(set: CodePoints): (readonly [number, number])[] {
  const list: (readonly [number, number])[] = []
  for (let i = 0; i < set.length; i += 2) list.push([set[i]!, set[i + 1]!])
  return list
}

/** Inclusive range of one byte. */
type ByteRange = readonly [number, number]

/**
 * The set as alternative byte sequences. A character is in the set if its bytes match the ranges of one of
 * them.
 */
export function utf8Sequences(set: CodePoints): ByteRange[][] {
  const sequences: ByteRange[][] = []
  for (const [low, high] of pairs(set)) {
    let start = low
    for (const end of [0x7f, 0x7ff, 0xffff, MAX_CODE_POINT]) {
      if (start > Math.min(high, end)) continue
      split(start, Math.min(high, end), sequences)
      start = end + 1
    }
  }
  return sequences
}

/**
 * Splits a range of characters of equal length until each byte's range is independent of the bytes before it.
 */
function split(low: number, high: number, out: ByteRange[][]): void {
  for (const bits of [6, 12, 18]) {
    const tail = (1 << bits) - 1
    if (low <= 0x7f || low >> bits === high >> bits) continue
    if ((low & tail) !== 0) {
      split(low, low | tail, out)
      split((low | tail) + 1, high, out)
      return
    }
    if ((high & tail) !== tail) {
      split(low, (high & ~tail) - 1, out)
      split(high & ~tail, high, out)
      return
    }
  }
  const first = utf8(low)
  const last = utf8(high)
  out.push(first.map((byte, index) => [byte, last[index]!]))
}

/** The bytes of one character. */
export function utf8(point: number): number[] {
  if (point <= 0x7f) return [point]
  const rest = point <= 0x7ff ? 1 : point <= 0xffff ? 2 : 3
  const lead = [0, 0xc0, 0xe0, 0xf0][rest]!
  const bytes = [lead | (point >> (6 * rest))]
  for (let index = rest - 1; index >= 0; index--) bytes.push(0x80 | ((point >> (6 * index)) & 0x3f))
  return bytes
}
