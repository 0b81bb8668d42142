// The format ls16: each output's nonzero weights with their inputs, as drawn in wasm/sparse/sparse-ls16.c.
import type { SparseBase } from '../../abi/encodings.ts'
import { roundUp } from '../../abi/encodings.ts'
import {
  addCode,
  areWhole,
  blockAt,
  type DenseStrip,
  forGroups,
  readQuad,
  SCALE_WORDS,
  STRIP_PANELS,
} from './panels.ts'
import type { StripReader, StripWriter } from './strip-format.ts'

const SEGMENT_GROUPS = 16
const HEAD_BYTES = 32
const ROWS = 8
const HALF = 16
/** Most vectors of one item. */
const MOST = 8

const listBytes = (groups: number): number => roundUp(2 * STRIP_PANELS * groups, 16)
const sumBytes = (base: SparseBase): number => (base === 'w4_g32' ? ROWS : 2 * ROWS)
const indexBytes = (base: SparseBase, vectors: number): number =>
  base === 'w4_g32' ? 0 : 16 * Math.ceil(vectors / 2)
const itemBytes = (base: SparseBase, half: number, vectors: number): number =>
  (half === 0 ? 4 * SCALE_WORDS : 0) + sumBytes(base) + indexBytes(base, vectors) + 16 * vectors

/** Scratch room for four codes. */
const QUAD = new Int8Array(4)

/** What half of a group keeps in one panel. */
interface Item {
  readonly id: number
  readonly vectors: number
  /** [row] */
  readonly kept: readonly { input: number; code: number }[][]
}

/** The items of a segment, rising by length. Items of first halves come first. */
function itemsOf(strip: DenseStrip, first: number, count: number): Item[] {
  const items: Item[] = []
  for (let id = 0; id < 2 * STRIP_PANELS * count; id++) {
    const group = first + (id >>> 3)
    const half = (id >>> 2) & 1
    const panel = id & 3
    const block = blockAt(strip, panel, group)
    const kept = Array.from({ length: ROWS }, (_, row) => {
      const list: { input: number; code: number }[] = []
      for (let j = 0; j < 4; j++) {
        readQuad(strip, block, row, 4 * half + j, QUAD)
        for (let i = 0; i < 4; i++) if (QUAD[i] !== 0) list.push({ input: 4 * j + i, code: QUAD[i]! })
      }
      return list
    })
    items.push({ id, kept, vectors: vectorsOf(strip, block, half) })
  }
  const half = ({ id }: Item) => (id >>> 2) & 1
  return items.sort((a, b) => half(a) - half(b) || a.vectors - b.vectors)
}

/** Number of vectors of one item. It does not make the item, because most matrices are only measured. */
function vectorsOf(strip: DenseStrip, block: number, half: number): number {
  let most = 0
  for (let row = 0; row < ROWS; row++) {
    let count = 0
    for (let j = 4 * half; j < 4 * half + 4; j++) {
      readQuad(strip, block, row, j, QUAD)
      for (let i = 0; i < 4; i++) if (QUAD[i] !== 0) count++
    }
    if (count > most) most = count
  }
  return Math.ceil(most / 2)
}

/** Writes an item after its scales. */
function writeItem(out: DataView, at: number, base: SparseBase, { kept, vectors }: Item): void {
  const isWide = base === 'w8_g32'
  const indices = at + sumBytes(base)
  const values = indices + indexBytes(base, vectors)
  for (const [row, list] of kept.entries()) {
    const sum = list.reduce((total, { code }) => total + code, 0)
    if (isWide) out.setInt16(at + 2 * row, 8 * sum, true)
    else out.setInt8(at + row, sum)
    for (let i = 0; i < 2 * vectors; i++) {
      const { input, code } = list[i] ?? { input: 0, code: 0 }
      const vector = i >>> 1
      const byte = 2 * row + (i & 1)
      if (isWide) {
        const index = indices + 16 * (vector >>> 1) + byte
        out.setUint8(index, out.getUint8(index) | (input << (4 * (vector & 1))))
        out.setInt8(values + 16 * vector + byte, code)
      } else out.setUint8(values + 16 * vector + byte, input | ((code + 8) << 4))
    }
  }
}

export const ls16Writer: StripWriter = {
  unit: 'pairs of weights in 8 outputs',

  measure(strip) {
    const { base, groups } = strip
    let kept = 0
    let bytes = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      bytes += HEAD_BYTES + listBytes(count)
      for (let id = 0; id < 2 * STRIP_PANELS * count; id++) {
        const half = (id >>> 2) & 1
        const vectors = vectorsOf(strip, blockAt(strip, id & 3, first + (id >>> 3)), half)
        kept += vectors
        bytes += itemBytes(base, half, vectors)
      }
    })
    return { kept, units: 2 * STRIP_PANELS * MOST * groups, bytes }
  },

  encode(strip) {
    const { base, groups, words } = strip
    const out = new Uint8Array(ls16Writer.measure(strip).bytes)
    const view = new DataView(out.buffer)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      const head = at
      let list = at + HEAD_BYTES
      at = list + listBytes(count)
      for (const item of itemsOf(strip, first, count)) {
        const half = (item.id >>> 2) & 1
        const counter = head + half * (MOST + 1) + item.vectors
        out[counter] = out[counter]! + 1
        out[list++] = item.id
        if (half === 0) {
          const block = blockAt(strip, item.id & 3, first + (item.id >>> 3))
          for (let w = 0; w < SCALE_WORDS; w++) view.setInt32(at + 4 * w, words[block + w]!, true)
        }
        writeItem(view, at + (half === 0 ? 4 * SCALE_WORDS : 0), base, item)
        at += itemBytes(base, half, item.vectors)
      }
    })
    return out
  },
}

export const ls16Reader: StripReader = {
  decode(encoded, strip) {
    const { base, groups, words } = strip
    const view = new DataView(encoded.buffer, encoded.byteOffset, encoded.byteLength)
    let at = 0
    forGroups(groups, SEGMENT_GROUPS, (first, count) => {
      const head = at
      let list = at + HEAD_BYTES
      at = list + listBytes(count)
      for (let kind = 0; kind < 2 * (MOST + 1); kind++) {
        const half = Math.floor(kind / (MOST + 1))
        const vectors = kind % (MOST + 1)
        for (let i = 0; i < encoded[head + kind]!; i++, list++) {
          const block = blockAt(strip, encoded[list]! & 3, first + (encoded[list]! >>> 3))
          if (half === 0) {
            for (let w = 0; w < SCALE_WORDS; w++) words[block + w] = view.getInt32(at + 4 * w, true)
            at += 4 * SCALE_WORDS
          }
          readItem(view, at, strip, block, half, vectors)
          at += itemBytes(base, 1, vectors)
        }
      }
    })
  },

  isWhole(encoded, base, groups) {
    return areWhole(groups, SEGMENT_GROUPS, encoded.byteLength, (at, count) =>
      segmentEnd(encoded, at, base, count),
    )
  },
}

/** Adds the codes of an item to a dense block. `at`: the offset after the scales. */
function readItem(
  view: DataView,
  at: number,
  strip: DenseStrip,
  block: number,
  half: number,
  vectors: number,
): void {
  const isWide = strip.base === 'w8_g32'
  const indices = at + sumBytes(strip.base)
  const values = indices + indexBytes(strip.base, vectors)
  for (let i = 0; i < 16 * vectors; i++) {
    const byte = view.getUint8(values + i)
    const index = view.getUint8(indices + (i >>> 5) * 16 + (i & 15)) >>> (4 * ((i >>> 4) & 1))
    const input = HALF * half + ((isWide ? index : byte) & 15)
    addCode(strip, block, (i & 15) >>> 1, input, isWide ? view.getInt8(values + i) : (byte >>> 4) - 8)
  }
}

/**
 * Where a segment ends. Undefined unless its list has every item once, in the order and number that its head
 * gives.
 */
function segmentEnd(encoded: Uint8Array, at: number, base: SparseBase, groups: number): number | undefined {
  const items = 2 * STRIP_PANELS * groups
  const list = at + HEAD_BYTES
  let end = list + listBytes(groups)
  if (end > encoded.byteLength) return
  const isListed = new Uint8Array(items)
  let index = 0
  for (let kind = 0; kind < 2 * (MOST + 1); kind++) {
    const half = Math.floor(kind / (MOST + 1))
    const vectors = kind % (MOST + 1)
    const count = encoded[at + kind]!
    if (index + count > items) return
    for (const last = index + count; index < last; index++) {
      const id = encoded[list + index]!
      if (id >= items || ((id >>> 2) & 1) !== half || isListed[id] === 1) return
      isListed[id] = 1
    }
    end += count * itemBytes(base, half, vectors)
  }
  return index === items && end <= encoded.byteLength ? end : undefined
}
