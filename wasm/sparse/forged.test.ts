// Forged sparse matrices. In: packs of each format in which bytes that control kernels have changed. Out: a
// typed error before any kernel runs, or a matrix with which no kernel accesses memory outside its operands.

import { describe, expect, test } from 'vitest'
import type { PackedEncoding } from '../../src/core/abi/encodings.ts'
import { ENCODINGS, isSparse, matrixBytes, sparseParts } from '../../src/core/abi/encodings.ts'
import { bufferSource } from '../../src/core/base/bytes.ts'
import { HalfbyteError } from '../../src/core/base/errors.ts'
import { sparseSlot } from '../../src/core/weights/sparse/pack.ts'
import { dropWeights, keeper } from '../../src/core/weights/sparse/testing/matrices.ts'
import { streamMatrix } from '../../src/core/weights/stream-weights.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { BUILDS, type Build, type Machine, plainMachine } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const SPARSE = (Object.keys(ENCODINGS) as PackedEncoding[]).filter(isSparse)
const N = 64
const K = 1120
const ROWS = 3
/** The number of forged packs of each format, and of accepted ones that are multiplied. */
const FORGERIES = 400
const MULTIPLIED = 16

/** Multiplies the matrix in a complete step. Returns 0 if all bytes except y are unchanged. */
function multiply(build: Build, encoding: (typeof SPARSE)[number], slot: Uint8Array): number {
  const machine: Machine = plainMachine(build)
  const w = machine.allocate(slot.length)
  machine.u8.set(slot, w)
  const x = machine.a8Rows(ROWS, K, (row, lane) => ((row + lane) % 255) - 127)
  const y = machine.rows(ROWS, N, () => 0)
  machine.setStep({ sequences: [{ position: 0, rows: ROWS }] })
  machine.op('linear_sparse', {
    w,
    n: N,
    k: K,
    x: x.at,
    x_stride: x.stride,
    y: y.at,
    y_stride: y.stride,
    encoding: ENCODINGS[encoding].code,
  })
  const image = () => {
    for (let row = 0; row < ROWS; row++)
      machine.u8.fill(0, y.at + row * y.stride, y.at + row * y.stride + N * 4)
    return machine.image()
  }
  const before = image()
  machine.run()
  return Buffer.compare(before, image())
}

describe.each(SPARSE)('a forged %s', (encoding) => {
  const { base, format } = sparseParts(encoding)
  const panels = new Uint8Array(matrixBytes(base, N, K))
  fillMatrix(base, 3)(panels)
  dropWeights(base, panels, K, keeper(format, 0.4, randomFrom(17)))
  const good = sparseSlot(base, format, panels, K)

  const load = async (bytes: Uint8Array): Promise<Uint8Array | undefined> => {
    const source = bufferSource('forged.hbm', bytes)
    const tensor = { name: 'w', dtype: 'Q4_0', shape: [N, K], source, offset: 0, packed: encoding } as const
    const slot = new Uint8Array(good.length)
    try {
      await streamMatrix([{ tensor: { ...tensor, byteLength: bytes.length }, n: N }], K, encoding, () => slot)
      return slot
    } catch (error) {
      expect(error).toBeInstanceOf(HalfbyteError)
      expect((error as HalfbyteError).code).toBe('format')
      return undefined
    }
  }

  test('is rejected, or read without leaving its own bytes', async () => {
    const random = randomFrom(encoding.length)
    const table = new Uint32Array(good.slice(0, 12).buffer)
    const below = (most: number) => Math.floor(random() * most)
    const accepted: Uint8Array[] = []
    for (let i = 0; i < FORGERIES; i++) {
      const bytes = good.slice()
      for (let changes = 1 + below(3); changes > 0; changes--) {
        // Changes a byte of the table, of a strip's head and list, or anywhere.
        const from = [0, table[below(2)]!, below(bytes.length - 64)][below(3)]!
        const at = from + below(from === 0 ? 12 : 64)
        bytes[at] = random() < 0.5 ? bytes[at]! ^ (1 << below(8)) : [0, 1, 0x7f, 0x80, 0xff][below(5)]!
      }
      const slot = await load(bytes)
      if (slot !== undefined) accepted.push(slot)
    }
    // Values may be anything, so some packs are accepted. Every format except sp24 has bytes that control
    // kernels.
    expect(accepted.length).toBeGreaterThan(FORGERIES / 20)
    expect(accepted.length).toBeLessThan(FORGERIES)
    for (const [index, slot] of accepted.slice(0, MULTIPLIED).entries())
      expect(multiply(BUILDS[index % BUILDS.length]!, encoding, slot)).toBe(0)
  })

  test('is rejected if any count or list entry is at its maximum', async () => {
    if (format === 'sp24') return
    const first = new Uint32Array(good.slice(0, 4).buffer)[0]!
    const changes = Array.from({ length: 64 }, (_, at) => first + at).filter((at) => good[at] !== 0)
    expect(changes.length).toBeGreaterThan(8)
    let refused = 0
    for (const at of changes) {
      const bytes = good.slice()
      bytes[at] = 0xff
      const slot = await load(bytes)
      if (slot === undefined) refused++
      else expect(multiply('relaxed', encoding, slot)).toBe(0)
    }
    expect(refused).toBeGreaterThan(8)
  })
})
