// Tests sparse encoders. In: dense panels with masks of every kind. Out: the same panels, bounded sizes, and
// errors for hostile strips.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomFrom } from '../../../../test/helpers/random.ts'
import type { SparseBase, SparseFormat } from '../../abi/encodings.ts'
import {
  isSparse,
  matrixBytes,
  panelBytes,
  type SparseEncoding,
  sparseEncodings,
  sparseParts,
  sparseTableBytes,
} from '../../abi/encodings.ts'
import { bufferSource } from '../../base/bytes.ts'
import type { TensorInfo } from '../../formats/tensors.ts'
import { packedChunks } from '../slabs.ts'
import { streamMatrix } from '../stream-weights.ts'
import { type Counted, chooseSparse } from './choose-sparse.ts'
import { packSparse, surveySparse } from './pack.ts'
import { type DenseStrip, denseStrip, emptyStrip, stripBytes } from './panels.ts'
import { STRIP_READERS } from './strip-readers.ts'
import { dropWeights, keeper, UNITS } from './testing/matrices.ts'
import { STRIP_WRITERS } from './writers.ts'

const FORMATS = Object.keys(STRIP_READERS) as SparseFormat[]
const BASES: readonly SparseBase[] = ['w4_g32', 'w8_g32']

/** The base encodings for which the kernels support a format. */
const basesOf = (format: SparseFormat) =>
  BASES.filter((base) => sparseEncodings(base).some((each) => sparseParts(each).format === format))
const encodingOf = (format: SparseFormat): SparseEncoding =>
  sparseEncodings(basesOf(format)[0]!).find((each) => sparseParts(each).format === format)!

const masks = fc.record({
  base: fc.constantFrom(...BASES),
  groups: fc.integer({ min: 1, max: 37 }),
  format: fc.constantFrom(...FORMATS),
  share: fc.constantFrom(0, 0.02, 0.3, 0.5, 0.9, 1),
  seed: fc.integer(),
})
type Masks = typeof masks extends fc.Arbitrary<infer T> ? T : never

/** Random codes and scales. Dropped units of the format are zero. */
function stripOf({ base, groups, format, share, seed }: Masks): DenseStrip {
  const random = randomFrom(seed)
  const bytes = Uint8Array.from({ length: stripBytes(base, groups) }, () => Math.floor(random() * 256))
  if (format !== 'sp24' || share < 1) dropWeights(base, bytes, groups * 32, keeper(format, share, random))
  return denseStrip(base, groups, bytes)
}

describe.each(FORMATS)('%s', (name) => {
  const format = { ...STRIP_READERS[name], ...STRIP_WRITERS[name] }

  test('restores every strip, in the measured size', () => {
    fc.assert(
      fc.property(masks, fc.constantFrom(...basesOf(name)), (other, base) => {
        const drawn = { ...other, base }
        const strip = stripOf(drawn)
        if (name === 'sp24' && !keepsTwoOfFour(strip)) {
          expect(format.measure(strip).bytes).toBe(Number.POSITIVE_INFINITY)
          return
        }
        const encoded = format.encode(strip)
        expect(encoded.length).toBe(format.measure(strip).bytes)
        expect(encoded.length % 16).toBe(0)
        expect(format.isWhole(encoded, drawn.base, drawn.groups)).toBe(true)
        const back = emptyStrip(drawn.base, drawn.groups)
        format.decode(encoded, back)
        expect(Buffer.compare(new Uint8Array(back.words.buffer), bytesOf(strip))).toBe(0)
      }),
      { numRuns: 60 },
    )
  })

  test('never takes over 6 % more bytes than dense, and takes fewer if half is dropped', () => {
    for (const base of basesOf(name)) {
      for (const groups of [1, 4, 28, 152]) {
        const full = stripOf({ base, groups, format: name, share: name === 'sp24' ? 0.9 : 1, seed: 5 })
        const over = groups < 4 ? 1.12 : 1.06
        expect(format.measure(full).bytes).toBeLessThanOrEqual(over * stripBytes(base, groups))
        const half = stripOf({ base, groups, format: name, share: 0.5, seed: 5 })
        const most = name === 'sp24' ? 0.84 : 0.7
        // Four groups have only 128 units, so too few may be dropped by chance to stay within the bound.
        if (groups >= 28) expect(format.measure(half).bytes).toBeLessThan(most * stripBytes(base, groups))
      }
    }
  })

  test('rejects strips that are truncated, extended, or changed where the kernels rely on them', () => {
    const [base = 'w8_g32'] = basesOf(name)
    const strip = stripOf({ base, groups: 5, format: name, share: 0.5, seed: 3 })
    const encoded = format.encode(strip)
    expect(format.isWhole(encoded.slice(0, -16), base, 5)).toBe(false)
    expect(format.isWhole(concat([encoded, new Uint8Array(16)]), base, 5)).toBe(false)
    expect(format.isWhole(encoded, base, 6)).toBe(false)
    expect(format.isWhole(encoded, base === 'w4_g32' ? 'w8_g32' : 'w4_g32', 5)).toBe(false)
    expect(format.isWhole(new Uint8Array(0), base, 5)).toBe(false)
    // Headers, lists and masks: a changed strip that still passes `isWhole` must decode within its bounds.
    fc.assert(
      fc.property(fc.nat(71), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bytes = encoded.slice()
        bytes[at] = bytes[at]! ^ change
        if (!format.isWhole(bytes, base, 5)) return
        format.decode(bytes, emptyStrip(base, 5))
      }),
    )
  })
})

function keepsTwoOfFour({ base, groups, words }: DenseStrip): boolean {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength)
  const block = panelBytes(base, 32)
  for (let at = 0; at < 4 * groups * block; at += 4) {
    if (at % block < 16) continue
    const quad = [...bytes.subarray(at, at + 4)]
    const rows =
      base === 'w8_g32'
        ? [quad.map((byte) => byte - 128)]
        : [0, 4].map((s) => quad.map((b) => ((b >> s) & 15) - 8))
    if (rows.some((codes) => codes.filter((code) => code !== 0).length > 2)) return false
  }
  return true
}

const bytesOf = ({ words }: DenseStrip) => new Uint8Array(words.buffer, words.byteOffset, words.byteLength)

/** Weights [n, k] as F32, with zeros where a unit of the format is dropped. */
function tensorOf(name: string, n: number, k: number, format: SparseFormat, share: number): TensorInfo {
  const [rows, inputs] = UNITS[format]
  const keeps = (row: number, i: number) =>
    format === 'sp24'
      ? (row + i + (i >>> 2)) % 4 < Math.ceil(share * 4)
      : ((Math.floor(row / rows) * 7919 + Math.floor(i / inputs) * 104729) % 1000) / 1000 < share
  const values = Float32Array.from({ length: n * k }, (_, at) =>
    keeps(Math.floor(at / k), at % k) ? Math.sin(at + 1) : 0,
  )
  const bytes = new Uint8Array(values.buffer)
  const source = bufferSource(`${name}.bin`, bytes)
  return { name, dtype: 'F32', shape: [n, k], source, offset: 0, byteLength: bytes.length }
}

async function pack(tensor: TensorInfo, base: SparseBase, format: SparseFormat): Promise<TensorInfo> {
  const { choice, sizes } = await surveySparse([tensor], base, format)
  if (!isSparse(choice.encoding)) throw new Error(choice.why)
  const packed = packSparse(tensor.name, tensor, choice.encoding, sizes[0]!)
  const chunks: Uint8Array[] = []
  for await (const chunk of packed.data()) chunks.push(chunk)
  const bytes = concat(chunks)
  expect(bytes.length).toBe(packed.bytes)
  const { shape } = tensor
  const source = bufferSource('packed.bin', bytes)
  return {
    name: tensor.name,
    dtype: 'Q4_0',
    shape,
    source,
    offset: 0,
    byteLength: bytes.length,
    packed: packed.encoding,
  }
}

async function dense(tensors: readonly TensorInfo[], k: number, base: SparseBase): Promise<Uint8Array> {
  const parts = tensors.map((tensor) => ({ tensor, n: tensor.shape[0]! }))
  const slot = new Uint8Array(parts.reduce((sum, { n }) => sum + matrixBytes(base, n, k), 0))
  await streamMatrix(parts, k, base, () => slot)
  return slot
}

describe.each(FORMATS)('a matrix as %s', (format) => {
  test.each(basesOf(format))(
    'unpacks to the dense %s matrix of the same tensor, of any shape',
    async (base) => {
      for (const [n, k] of [
        [8, 32],
        [40, 100],
        [96, 172],
      ] as const) {
        const tensor = tensorOf('w', n, k, format, 0.4)
        const packed = await pack(tensor, base, format)
        expect(Buffer.compare(await dense([packed], k, base), await dense([tensor], k, base))).toBe(0)
        const values: Uint8Array[] = []
        for await (const chunk of packedChunks(packed, 'f32')) values.push(chunk)
        expect(concat(values).length).toBe(matrixBytes('f32', n, k))
      }
    },
  )

  test('is one slot with several parts, whose strips are where its table says', async () => {
    const k = 96
    const parts = [40, 64].map((n, i) => tensorOf(`part${i}`, n, k, format, 0.5))
    const encoding = encodingOf(format)
    const { base } = sparseParts(encoding)
    const packed = [await pack(parts[0]!, base, format), await pack(parts[1]!, base, format)]
    const rows = 128
    const bytes =
      sparseTableBytes(rows) +
      packed.reduce((sum, { byteLength, shape }) => sum + byteLength - sparseTableBytes(shape[0]!), 0)
    const slot = new Uint8Array(bytes)
    await streamMatrix(
      packed.map((tensor) => ({ tensor, n: tensor.shape[0]! })),
      k,
      encoding,
      () => slot,
    )
    const table = new Uint32Array(slot.buffer, 0, rows / 32 + 1)
    expect(table[rows / 32]).toBe(bytes)
    const expected = await dense(parts, k, base)
    const size = stripBytes(base, k / 32)
    for (let i = 0; i < rows / 32; i++) {
      const strip = emptyStrip(base, k / 32)
      STRIP_READERS[format].decode(slot.slice(table[i], table[i + 1]), strip)
      expect(Buffer.compare(bytesOf(strip), expected.subarray(i * size, (i + 1) * size))).toBe(0)
    }
  })

  test('is rejected if a table or a strip does not fit', async () => {
    const encoding = encodingOf(format)
    const good = await pack(tensorOf('w', 64, 64, format, 0.5), sparseParts(encoding).base, format)
    const bytes = await good.source.read(0, good.byteLength)
    const load = (changed: Uint8Array) => {
      const source = bufferSource('bad.bin', changed)
      const tensor = { ...good, source, byteLength: changed.length }
      const slot = new Uint8Array(good.byteLength + 64)
      return streamMatrix([{ tensor, n: 64 }], 64, encoding, () => slot)
    }
    const change = (at: number, value: number) => {
      const changed = bytes.slice()
      changed[at] = value
      return changed
    }
    await expect(load(bytes.slice())).resolves.toBeUndefined()
    await expect(load(bytes.slice(0, 32))).rejects.toMatchObject({ code: 'format' })
    await expect(load(bytes.slice(0, -16))).rejects.toMatchObject({ code: 'format' })
    await expect(load(change(0, 0))).rejects.toMatchObject({ code: 'format' })
    await expect(load(change(4, bytes[4]! ^ 8))).rejects.toMatchObject({ code: 'format' })
    // The other formats begin with bytes that the kernels rely on.
    if (format !== 'sp24')
      await expect(load(change(64, bytes[64]! ^ 0xff))).rejects.toMatchObject({ code: 'format' })
  })
})

describe('a file that changes while it is read', () => {
  test('is loaded with the table that was read first, or rejected', async () => {
    const k = 64
    const good = await pack(tensorOf('w', 96, k, 'sb84', 0.5), 'w4_g32', 'sb84')
    const bytes = await good.source.read(0, good.byteLength)
    const table = new Uint32Array(bytes.slice(0, 16).buffer)
    // The same strips, with the first one moved to the end.
    const first = table[1]! - table[0]!
    const moved = concat([
      bytes.subarray(0, table[0]),
      bytes.subarray(table[1]),
      bytes.subarray(table[0], table[1]),
    ])
    new Uint32Array(moved.buffer, 0, 4).set([table[0]!, table[2]! - first, table[3]! - first, table[3]!])
    let reads = 0
    const read = async (at: number, length: number) => (reads++ === 0 ? bytes : moved).slice(at, at + length)
    const source = { name: 'changing.bin', size: bytes.length, read }
    const slot = new Uint8Array(good.byteLength)
    const load = streamMatrix([{ tensor: { ...good, source }, n: 96 }], k, 'w4_g32_sb84', () => slot)
    await expect(load).rejects.toMatchObject({ code: 'format' })
  })
})

describe('the choice', () => {
  const FOUND: Readonly<Record<SparseFormat, (share: number) => Counted>> = {
    sb84: (share) => ({ kept: share * 100, units: 100, bytes: 120 + 900 * share }),
    sv32: (share) => ({ kept: share * 100, units: 100, bytes: 120 + 890 * share }),
    sp24: () => ({ kept: 100, units: 100, bytes: Number.POSITIVE_INFINITY }),
  }
  const census = (share: number, base: SparseBase = 'w4_g32') => ({
    denseBytes: 1000,
    encodings: new Map(
      sparseEncodings(base).map((each) => [each, FOUND[sparseParts(each).format](share)] as const),
    ),
  })

  test('is dense without zeros, and sparse with many', () => {
    for (const base of BASES) {
      expect(chooseSparse(base, census(1, base), 'auto').encoding).not.toBe(`${base}_sb84`)
      expect(isSparse(chooseSparse(base, census(0.2, base), 'auto').encoding)).toBe(true)
      expect(chooseSparse(base, census(0.2, base), 'none').encoding).toBe(base)
    }
    expect(chooseSparse('w4_g32', census(1), 'auto').encoding).toBe('w4_g32')
  })

  test('is the requested format wherever that is smaller', () => {
    expect(chooseSparse('w4_g32', census(0.5), 'sv32').encoding).toBe('w4_g32_sv32')
    expect(chooseSparse('w4_g32', census(1), 'sv32').encoding).toBe('w4_g32')
  })

  test('if no larger units are kept or dropped, is 2 of 4 in 8 bits and dense in 4 bits', async () => {
    const tensor = tensorOf('pairs', 64, 128, 'sp24', 0.5)
    for (const [base, policy, encoding] of [
      ['w8_g32', 'auto', 'w8_g32_sp24'],
      ['w4_g32', 'sp24', 'w4_g32'],
      ['w4_g32', 'auto', 'w4_g32'],
    ] as const) {
      const { choice } = await surveySparse([tensor], base, policy)
      expect(choice.encoding).toBe(encoding)
    }
    expect((await surveySparse([tensor], 'w4_g32', 'sp24')).choice.why).toBe(
      'sp24 is only for 8 bits, and this is w4_g32',
    )
    const { choice } = await surveySparse([tensorOf('full', 64, 128, 'sp24', 1)], 'w8_g32', 'sp24')
    expect(choice).toEqual({
      encoding: 'w8_g32',
      why: 'not every output keeps at most 2 of 4 inputs; requested, but dense is smaller',
    })
  })

  test('gives the reason with shares and bytes', () => {
    const { encoding, why } = chooseSparse('w4_g32', census(0.2), 'auto')
    expect(sparseParts(encoding as 'w4_g32_sb84').base).toBe('w4_g32')
    expect(why).toMatch(/keeps 20\.0 % of the .* in 0\.\d+ of the bytes; \d\.\d+ times as fast/)
  })

  test('is dense for a tensor without zeros, and the smallest format for a tensor of zeros', async () => {
    const full = await surveySparse([tensorOf('full', 64, 128, 'sb84', 2)], 'w4_g32', 'auto')
    expect(full).toMatchObject({ choice: { encoding: 'w4_g32' }, sizes: [] })
    const empty = await surveySparse([tensorOf('empty', 64, 128, 'sb84', -1)], 'w4_g32', 'auto')
    expect(isSparse(empty.choice.encoding)).toBe(true)
  })
})
