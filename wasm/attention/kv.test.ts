// Stored keys and values. In: rows and formats. Out: the definition's bits, the stated errors, and keys
// shifted to other positions.

import { describe, expect, test } from 'vitest'
import { PAIRING } from '../../src/core/abi/constants.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import {
  FORMATS,
  formatFields,
  fp8Value,
  type KvShape,
  keyBytes,
  storedKey,
  storedValue,
  valueBytes,
} from '../testing/kv.ts'
import { compare, type Machine, plainMachine } from '../testing/machine.ts'

const THETA = 100
/** A vector whose range is smaller than this is stored as one number. */
const FLUSHED = 2 ** -100
const angle = (position: number, pair: number, pairs: number) => position * THETA ** (-pair / pairs)

interface Layout extends KvShape {
  readonly ropeDims?: number
  readonly pairing?: number
  /** The first pair whose bias is subtracted. Default: keys are stored with their bias. */
  readonly still?: number
}

const BIAS = 200
/** A bias that differs for each element of a key. */
const biasAt = (lane: number) => Math.fround(BIAS * (1 - (lane % 7) / 3))

function stillFields(machine: Machine, { kvHeads, dim, still }: Layout): Readonly<Record<string, number>> {
  if (still === undefined) return {}
  return { k_bias: machine.rows(1, kvHeads * dim, (_, lane) => biasAt(lane)).at, still }
}

/** Two layers' keys and values per block. Tests use the second layer. */
function offsets(shape: KvShape) {
  const k = shape.kvHeads * keyBytes(shape)
  const v = shape.kvHeads * valueBytes(shape)
  return { bytes: 2 * (k + v), kOffset: k + v, vOffset: 2 * k + v }
}

function layAngles(machine: Machine, positions: readonly number[], dims: number): number {
  const table = machine.allocate(Math.max(4, positions.length * dims * 4))
  for (const [row, position] of positions.entries()) {
    for (let i = 0; i < dims / 2; i++) {
      machine.f32[table / 4 + row * dims + 2 * i] = Math.cos(angle(position, i, dims / 2))
      machine.f32[table / 4 + row * dims + 2 * i + 1] = Math.sin(angle(position, i, dims / 2))
    }
  }
  return table
}

type Element = (kind: 'k' | 'v', row: number, lane: number) => number

/** Writes `rows` positions from `position` on into new blocks. Returns their table. */
function layWrite(machine: Machine, shape: Layout, position: number, rows: number, element: Element) {
  const { kvHeads, dim, format, ropeDims = dim, pairing = PAIRING.halves } = shape
  const { bytes, kOffset, vOffset } = offsets(shape)
  const blocks = Array.from({ length: Math.ceil((position + rows) / 64) }, () => machine.allocate(bytes))
  const q = machine.rows(rows, dim, () => 1)
  const k = machine.rows(rows, kvHeads * dim, (row, lane) => element('k', row, lane))
  const v = machine.rows(rows, kvHeads * dim, (row, lane) => element('v', row, lane))
  const rope = layAngles(
    machine,
    Array.from({ length: rows }, (_, row) => position + row),
    ropeDims,
  )
  machine.setStep({ sequences: [{ position, rows, tables: [blocks] }], ropes: [rope] })
  machine.op('rope_kv', {
    q: q.at,
    q_stride: q.stride,
    k: k.at,
    k_stride: k.stride,
    v: v.at,
    v_stride: v.stride,
    heads: 1,
    kv_heads: kvHeads,
    head_dim: dim,
    rope_dims: ropeDims,
    pairing,
    k_offset: kOffset,
    v_offset: vOffset,
    ...formatFields(format),
    ...stillFields(machine, shape),
  })
  return blocks
}

/** Moves `count` positions from table to table. */
function layShift(
  machine: Machine,
  shape: Layout,
  from: { blocks: readonly number[]; position: number },
  to: { blocks: readonly number[]; position: number },
  count: number,
) {
  const { kvHeads, dim, format, ropeDims = dim, pairing = PAIRING.halves } = shape
  const { kOffset, vOffset } = offsets(shape)
  machine.op('shift_kv', {
    from_blocks: machine.words(from.blocks),
    from: from.position,
    to_blocks: machine.words(to.blocks),
    to: to.position,
    count,
    angles: layAngles(machine, [to.position - from.position], ropeDims),
    kv_heads: kvHeads,
    head_dim: dim,
    rope_dims: ropeDims,
    pairing,
    k_offset: kOffset,
    v_offset: vOffset,
    ...formatFields(format),
    ...stillFields(machine, shape),
  })
}

/** Vectors of all kinds: ordinary, far from zero, constant, zero, tiny, huge. */
function elementOf(seed: number): Element {
  const shift = [0, 0, 30, 1, 0, 0, -2e3]
  const spread = [1, 3, 1, 0, 0, 1e-33, 1e4]
  return (kind, row, lane) => {
    const at = (row + seed) % shift.length
    const draw = randomFrom(seed * 1e6 + row * 1000 + lane + (kind === 'k' ? 0 : 500))
    draw()
    return shift[at]! + spread[at]! * (2 * draw() - 1)
  }
}

const name = ({ format }: KvShape) => `K ${format.k}, V ${format.v}`
const each = FORMATS.map((format) => [name({ format, dim: 0, kvHeads: 0 }), format] as const)

describe('rope_kv stores keys and values', () => {
  test.each(each)('bit for bit like its definition: %s', (_, format) => {
    for (const [dim, ropeDims, pairing, still] of [
      [64, 64, PAIRING.halves, undefined],
      [12, 6, PAIRING.halves, undefined],
      [20, 8, PAIRING.interleaved, undefined],
      [256, 0, PAIRING.halves, undefined],
      [64, 64, PAIRING.halves, 20],
      [20, 8, PAIRING.interleaved, 3],
    ] as const) {
      const { difference } = compare((machine) => {
        const shape = { kvHeads: 2, dim, format, ropeDims, pairing, ...(still !== undefined && { still }) }
        layWrite(machine, shape, 60, 70, elementOf(dim))
      })
      expect(difference).toBeUndefined()
    }
  })

  test.each(each)('within half a step of their codes: %s', (_, format) => {
    const shape = { kvHeads: 3, dim: 36, format, ropeDims: 0 }
    const { kOffset, vOffset } = offsets(shape)
    const machine = plainMachine('relaxed')
    const element = elementOf(3)
    const blocks = layWrite(machine, shape, 0, 80, element)
    machine.run()
    for (let row = 0; row < 80; row++) {
      for (let head = 0; head < 3; head++) {
        const block = blocks[row >> 6]!
        const key = storedKey(machine, shape, block + kOffset, head, row & 63)
        const value = storedValue(machine, shape, block + vOffset, head, row & 63)
        if (format.k === 'int8') expect(key.sum).toBe(-64 * key.codes.reduce((sum, code) => sum + code, 0))
        for (let d = 0; d < 36; d++) {
          const [k, v] = [element('k', row, head * 36 + d), element('v', row, head * 36 + d)].map(Math.fround)
          // Offsets and products are rounded to f32: 2^-22 of the largest term, in addition to half a step.
          expect(Math.abs(key.values[d]! - k!)).toBeLessThanOrEqual(
            key.scale / 2 + Math.abs(k!) * 2 ** -21 + FLUSHED,
          )
          const step =
            format.v === 'fp8' ? Math.max(Math.abs(v!) / 32, value.scale * 2 ** -3) : value.scale / 2
          const bound = format.v === 'f32' ? 0 : step + Math.abs(v!) * 2 ** -21 + FLUSHED
          expect(Math.abs(value.values[d]! - v!)).toBeLessThanOrEqual(bound)
        }
      }
    }
  })

  test.each([
    ['halves', PAIRING.halves, (pair: number) => [pair, pair + 12]],
    ['interleaved', PAIRING.interleaved, (pair: number) => [2 * pair, 2 * pair + 1]],
  ] as const)('without the bias in still pairs and in unrotated dimensions: %s', (_, pairing, at) => {
    const plain = { kvHeads: 2, dim: 32, format: { k: 'f32', v: 'f32' }, ropeDims: 24, pairing } as const
    const still = new Set([...[9, 10, 11].flatMap(at), ...Array.from({ length: 8 }, (_, d) => 24 + d)])
    const [whole, less] = [plain, { ...plain, still: 9 }].map((shape) => {
      const machine = plainMachine('relaxed')
      const [block] = layWrite(machine, shape, 0, 5, elementOf(1))
      machine.run()
      return [0, 1].map((head) => storedKey(machine, shape, block! + offsets(shape).kOffset, head, 3).values)
    })
    for (const head of [0, 1]) {
      for (let d = 0; d < 32; d++) {
        const bias = still.has(d) ? biasAt(head * 32 + d) : 0
        expect(less![head]![d]).toBe(Math.fround(whole![head]![d]! - bias))
      }
    }
  })
})

describe('fp8 values are e3m4', () => {
  const shape = { kvHeads: 1, dim: 256, format: { k: 'f32', v: 'fp8' }, ropeDims: 0 } as const
  const CODES = Array.from({ length: 256 }, (_, code) => code)
  const isStored = (code: number) => (code & 0x70) > 0 || (code & 0x7f) === 0

  /** Rows of 256 values in stored form. */
  function stored(rows: readonly (readonly number[])[]) {
    const machine = plainMachine('simd128')
    const blocks = layWrite(machine, shape, 0, rows.length, (_, row, lane) => rows[row]![lane]!)
    machine.run()
    return rows.map((_, p) =>
      storedValue(machine, shape, blocks[p >> 6]! + offsets(shape).vOffset, 0, p & 63),
    )
  }

  test('every normal code and both zeros can be read back, and subnormal numbers become 0 or 2^-2', () => {
    const [row] = stored([CODES.map(fp8Value)])
    expect(row!.scale).toBe(1)
    for (const [code, value] of row!.values.entries()) {
      const size = Math.abs(fp8Value(code))
      const wanted = isStored(code) ? size : size < 2 ** -3 ? 0 : 2 ** -2
      expect(value, `${code}`).toBe(code & 0x80 ? -wanted : wanted)
    }
    expect(new Set(row!.values.map(Math.abs)).size).toBe(113)
    expect(Math.max(...row!.values)).toBe(31)
  })

  test('is the nearest code, ties to even, and at most 31 times the scale', () => {
    const normal = CODES.filter((code) => code < 0x80 && code >= 0x10)
    const nearest = (size: number): number => {
      if (size < 2 ** -2) return size < 2 ** -3 ? 0 : 2 ** -2
      const far = (code: number) => Math.abs(fp8Value(code) - size)
      const order = normal.toSorted((a, b) => far(a) - far(b) || (a & 1) - (b & 1))
      return fp8Value(order[0]!)
    }
    const random = randomFrom(11)
    // The first element of each row is the largest, so the scale is 1.
    const middles = normal.slice(1).map((code) => (fp8Value(code) + fp8Value(code - 1)) / 2)
    const beside = middles.flatMap((middle) => [middle, middle * (1 - 2 ** -20), middle * (1 + 2 ** -20)])
    const drawn = Array.from({ length: 4000 }, () => Math.fround(31 * random() ** 3))
    const sizes = [...beside, ...drawn]
    const rows = Array.from({ length: Math.ceil(sizes.length / 255) }, (_, row) => [
      31,
      ...Array.from({ length: 255 }, (__, lane) => sizes[row * 255 + lane] ?? 0),
    ])
    const signed = rows.map((row) => row.map((size, lane) => (lane % 3 === 1 ? -size : size)))
    for (const [r, { values, scale }] of stored(signed).entries()) {
      expect(scale).toBe(1)
      for (const [lane, value] of values.entries()) expect(Math.abs(value)).toBe(nearest(rows[r]![lane]!))
      for (const [lane, value] of values.entries())
        expect(value * signed[r]![lane]!).toBeGreaterThanOrEqual(0)
    }
  })

  test('keeps the largest value of a row of any magnitude, and errors are at most a 32nd of it', () => {
    const random = randomFrom(12)
    const rows = Array.from({ length: 120 }, (_, row) => {
      const most = 2 ** (-99 + (row * 226) / 120) * (1 + random())
      return CODES.map((lane) => Math.fround(lane === row ? most : most * (2 * random() - 1)))
    })
    for (const [r, { values, scale }] of stored(rows).entries()) {
      const most = Math.abs(rows[r]![r]!)
      expect(Math.abs(values[r]! / most - 1)).toBeLessThan(2 ** -22)
      for (const [lane, value] of values.entries()) {
        const wanted = rows[r]![lane]!
        const bound = Math.max(Math.abs(wanted) / 32, scale / 8) + most * 2 ** -22
        expect(Math.abs(value - wanted)).toBeLessThanOrEqual(bound)
      }
    }
  })
})

describe('shift_kv', () => {
  const moved: [number, number, number][] = [
    [64, 0, 70],
    [100, 3, 60],
    [130, 100, 5],
  ]

  test.each(each)('matches its definition bit for bit: %s', (_, format) => {
    for (const pairing of Object.values(PAIRING)) {
      for (const [from, to, count] of moved) {
        const { difference } = compare((machine) => {
          const shape = { kvHeads: 2, dim: 20, format, ropeDims: 16, pairing, ...(to > 0 && { still: 5 }) }
          const blocks = layWrite(machine, shape, 0, 192, elementOf(1))
          machine.runReference()
          machine.ops.length = 0
          layShift(machine, shape, { blocks, position: from }, { blocks, position: to }, count)
        })
        expect(difference).toBeUndefined()
      }
    }
  })

  test.each(each)(
    'leaves the same state as writing at the new position, within the stated error: %s',
    (_, format) => {
      const shape = { kvHeads: 2, dim: 32, format, ropeDims: 24, still: 8 }
      const { kOffset, vOffset } = offsets(shape)
      const draw = (kind: 'k' | 'v', row: number, lane: number) => {
        const random = randomFrom(row * 77 + lane * 3 + (kind === 'k' ? 1 : 2))
        random()
        return 4 * random() - 2
      }
      for (const [from, to, count] of moved) {
        const machine = plainMachine('relaxed')
        const blocks = layWrite(machine, shape, 0, 192, draw)
        machine.run()
        machine.ops.length = 0
        const before = storedValue(machine, shape, blocks[(from + 4) >> 6]! + vOffset, 1, (from + 4) & 63)
        layShift(machine, shape, { blocks, position: from }, { blocks, position: to }, count)
        machine.run()
        machine.ops.length = 0
        const exact = { ...shape, format: { k: 'f32', v: 'f32' } } as const
        const fresh = layWrite(machine, exact, to, count, (kind, row, lane) => draw(kind, from + row, lane))
        machine.run()
        for (let i = 0; i < count; i++) {
          const at = to + i
          const key = storedKey(machine, shape, blocks[at >> 6]! + kOffset, 1, at & 63)
          const wanted = storedKey(machine, exact, fresh[at >> 6]! + offsets(exact).kOffset, 1, at & 63)
          // Half a step of the new codes plus half a step of the old ones, which the rotation spreads over
          // two elements. Adding the bias and subtracting it again adds a rounding error of its last bit.
          const bound = key.scale / 2 + 1.1 * (key.scale / 2) * Math.SQRT2 + 4e-6 + BIAS * 2 ** -22
          for (let d = 0; d < 32; d++)
            expect(Math.abs(key.values[d]! - wanted.values[d]!)).toBeLessThan(bound)
        }
        const after = storedValue(machine, shape, blocks[(to + 4) >> 6]! + vOffset, 1, (to + 4) & 63)
        expect(after).toEqual(before)
      }
    },
  )

  test('moves unrotated keys unchanged, and does not change the source', () => {
    const shape = { kvHeads: 1, dim: 8, format: { k: 'int8', v: 'int8' }, ropeDims: 0 } as const
    const { kOffset, vOffset, bytes } = offsets(shape)
    const machine = plainMachine('simd128')
    const blocks = layWrite(machine, shape, 0, 64, elementOf(2))
    const target = [machine.allocate(bytes), machine.allocate(bytes)]
    machine.run()
    machine.ops.length = 0
    const source = machine.u8.slice(blocks[0]!, blocks[0]! + bytes)
    layShift(machine, shape, { blocks, position: 3 }, { blocks: target, position: 50 }, 40)
    machine.run()
    expect(machine.u8.slice(blocks[0]!, blocks[0]! + bytes)).toEqual(source)
    for (let i = 0; i < 40; i++) {
      const block = target[(50 + i) >> 6]!
      const key = storedKey(machine, shape, block + kOffset, 0, (50 + i) & 63)
      expect(key).toEqual(storedKey(machine, shape, blocks[0]! + kOffset, 0, 3 + i))
      const value = storedValue(machine, shape, block + vOffset, 0, (50 + i) & 63)
      expect(value).toEqual(storedValue(machine, shape, blocks[0]! + vOffset, 0, 3 + i))
    }
  })
})
