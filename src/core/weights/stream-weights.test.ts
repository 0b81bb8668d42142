// Tests weight streaming. In: tensors in sources that count and delay their reads. Out: filled slots, bounded
// reads, typed errors.
import { describe, expect, test } from 'vitest'
import { concat } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomTensor } from '../../../test/conformance/testing/writers/random-tensor.ts'
import type { PackedEncoding } from '../abi/encodings.ts'
import { type Encoding, matrixBytes } from '../abi/encodings.ts'
import { type ByteSource, bufferSource, filledSource } from '../base/bytes.ts'
import type { DType, TensorInfo } from '../formats/tensors.ts'
import { dealMatrix } from './deal.ts'
import { packedChunks } from './slabs.ts'
import { streamMatrix, streamVector } from './stream-weights.ts'
import { packedMatrix, storedMatrix } from './testing/reference.ts'
import { slotBytes } from './testing/slot-bytes.ts'

function tensorOf(
  dtype: DType,
  shape: readonly number[],
  bytes: Uint8Array,
  packed?: PackedEncoding,
  source: ByteSource = bufferSource('model.gguf', bytes),
): TensorInfo {
  return { name: 'w', dtype, shape, source, offset: 0, byteLength: bytes.length, packed }
}

function random(
  dtype: DType,
  shape: readonly [number, number],
  seed = 1,
): TensorInfo & { readonly bytes: Uint8Array } {
  const bytes = concat([...randomTensor(dtype, shape, seed)])
  return { ...tensorOf(dtype, shape, bytes), bytes }
}

async function stream(tensors: readonly TensorInfo[], k: number, encoding: Encoding): Promise<Uint8Array> {
  const parts = tensors.map((tensor) => ({ tensor, n: tensor.shape[0]! }))
  const slot = new Uint8Array(slotBytes(encoding, parts, k)).fill(0xa5)
  await streamMatrix(parts, k, encoding, () => slot)
  return slot
}

describe('streamMatrix', () => {
  test('stacks its parts, each padded to 32 rows', async () => {
    const q = random('Q4_0', [40, 64], 1)
    const k = random('Q4_0', [8, 64], 2)
    const v = random('Q4_0', [32, 64], 3)
    const slot = await stream([q, k, v], 64, 'w4_g32')
    const rows = packedMatrix('w4_g32', slot, 64 + 32 + 32, 64)
    expect(rows.subarray(0, 40 * 64)).toEqual(storedMatrix('Q4_0', q.bytes, 40, 64))
    expect(rows.subarray(40 * 64, 64 * 64).every((weight) => weight === 0)).toBe(true)
    expect(rows.subarray(64 * 64, 72 * 64)).toEqual(storedMatrix('Q4_0', k.bytes, 8, 64))
    expect(rows.subarray(96 * 64)).toEqual(storedMatrix('Q4_0', v.bytes, 32, 64))
  })

  test('slabs that alternate between two arrays give the same result as separate arrays', async () => {
    const n = 300
    const k = 32768
    const tensor = random('F32', [n, k])
    const { name, size } = tensor.source
    const filling = filledSource(name, size, async (target, offset) => {
      target.set(await tensor.source.read(offset, target.byteLength))
    })
    const [own, turned] = await Promise.all(
      [tensor.source, filling].map(async (source) => {
        const slot = new Uint8Array(slotBytes('w8_g32', [{ n }], k))
        await streamMatrix([{ tensor: { ...tensor, source }, n }], k, 'w8_g32', () => slot)
        return slot
      }),
    )
    expect(Buffer.compare(turned!, own!)).toBe(0)
  })

  test('reads slabs of at most 16 MB and requests the view again for each', async () => {
    // 70 rows of 1 MB, so that slabs are 8 MB; rows of 300 KB, so that 32 of them are one slab.
    for (const [n, k] of [
      [1000, 16384],
      [70, 76800],
    ] as const) {
      const tensor = random('F32', [n, k])
      const reads: number[] = []
      let views = 0
      const counting: ByteSource = {
        ...tensor.source,
        read: (offset, length, signal) => {
          reads.push(length)
          return tensor.source.read(offset, length, signal)
        },
      }
      const slot = new Uint8Array(slotBytes('w8_g32', [{ n }], k))
      const consumed: number[] = []
      await streamMatrix(
        [{ tensor: { ...tensor, source: counting }, n }],
        k,
        'w8_g32',
        () => {
          views++
          return slot
        },
        { onBytes: (bytes) => consumed.push(bytes) },
      )
      expect(Math.max(...reads)).toBeLessThanOrEqual(16 << 20)
      expect(reads.length).toBeGreaterThan(2)
      expect(views).toBe(reads.length)
      expect(consumed.reduce((sum, bytes) => sum + bytes)).toBe(tensor.byteLength)
      const whole = await stream([tensor], k, 'w8_g32')
      expect(Buffer.compare(slot, whole)).toBe(0)
    }
  }, 30_000)

  test('many slabs produce the same bytes as one call of the packer', async () => {
    const tensor = random('Q8_0', [1100, 8192])
    const slot = await stream([tensor], 8192, 'w8_g32')
    // The reference is slow, so only a few rows of each slab are compared.
    for (const row of [0, 7, 900, 991, 992, 1099]) {
      const at = Math.floor(row / 8) * 8
      const panel = slot.subarray((at / 8) * 272 * 256, (at / 8 + 1) * 272 * 256)
      const rows = tensor.bytes.subarray(at * 8704, Math.min(at + 8, 1100) * 8704)
      const count = Math.min(8, 1100 - at)
      expect(packedMatrix('w8_g32', panel, count, 8192)).toEqual(storedMatrix('Q8_0', rows, count, 8192))
    }
  }, 30_000)

  test('a different shape causes an architecture error with both shapes', async () => {
    const tensor = random('F32', [8, 64])
    const view = () => new Uint8Array(0)
    await expect(streamMatrix([{ tensor, n: 9 }], 64, 'f32', view)).rejects.toMatchObject({
      code: 'architecture',
      message: expect.stringMatching(/\[8,64\].*\[9, 64\]/),
    })
    await expect(streamMatrix([{ tensor, n: 8 }], 32, 'f32', view)).rejects.toMatchObject({
      code: 'architecture',
    })
    const vector = { ...tensor, shape: [512] }
    await expect(streamMatrix([{ tensor: vector, n: 512 }], 1, 'f32', view)).rejects.toMatchObject({
      code: 'architecture',
    })
  })

  test('rows too long for a slab are unsupported, before anything is read', async () => {
    const k = 1 << 20
    const tensor: TensorInfo = { ...random('F32', [1, 32]), shape: [64, k], byteLength: 64 * k * 4 }
    await expect(streamMatrix([{ tensor, n: 64 }], k, 'f32', () => new Uint8Array(0))).rejects.toMatchObject({
      code: 'unsupported',
    })
  })

  test('a weight that no encoding can represent causes a format error that names file and tensor', async () => {
    const bytes = new Uint8Array(Float32Array.from({ length: 32 }, () => Number.NaN).buffer)
    await expect(stream([tensorOf('F32', [1, 32], bytes)], 32, 'w4_g32')).rejects.toMatchObject({
      code: 'format',
      message: expect.stringMatching(/^model\.gguf, "w": /),
    })
  })

  test('an abort between slabs rejects with the reason', async () => {
    const tensor = random('F32', [1000, 16384])
    const abort = new AbortController()
    const slot = new Uint8Array(slotBytes('f32', [{ n: 1000 }], 16384))
    const work = streamMatrix([{ tensor, n: 1000 }], 16384, 'f32', () => slot, {
      signal: abort.signal,
      onBytes: () => abort.abort('enough'),
    })
    await expect(work).rejects.toBe('enough')
  })

  test('a source’s error is reported, even for the slab that is read ahead', async () => {
    const tensor = random('F32', [1000, 16384])
    const source: ByteSource = {
      ...tensor.source,
      read: (offset, length) =>
        offset === 0 ? tensor.source.read(offset, length) : Promise.reject(new Error('unplugged')),
    }
    await expect(stream([{ ...tensor, source }], 16384, 'f32')).rejects.toThrow('unplugged')
  })
})

describe('a pack’s tensors', () => {
  const pack = async (tensor: TensorInfo, encoding: Encoding) => {
    const chunks: Uint8Array[] = []
    for await (const chunk of packedChunks(tensor, encoding)) chunks.push(chunk)
    return concat(chunks)
  }

  test('are copied if they have the requested encoding', async () => {
    for (const [dtype, encoding] of [
      ['Q4_0', 'w4_g32'],
      ['Q4_1', 'w4m_g32'],
      ['Q8_0', 'w8_g32'],
      ['F16', 'f16'],
      ['F32', 'f32'],
    ] as const) {
      const tensor = random(dtype, [40, 64])
      const bytes = await pack(tensor, encoding)
      expect(bytes).toEqual(await stream([tensor], 64, encoding))
      expect(await stream([tensorOf(dtype, [40, 64], bytes, encoding)], 64, encoding)).toEqual(bytes)
    }
  })

  test('with one scale per output are copied too, or converted through their values', async () => {
    const tensor = random('F32', [40, 96])
    const bytes = await pack(tensor, 'w4_channel')
    const packed = tensorOf('Q4_0', [40, 96], bytes, 'w4_channel')
    expect(await stream([packed], 96, 'w4_channel')).toEqual(bytes)
    const values = packedMatrix('w4_channel', bytes, 64, 96)
    expect(packedMatrix('f32', await stream([packed], 96, 'f32'), 64, 96)).toEqual(values)
  })

  test('with one scale per output are dealt by rows and columns', async () => {
    const n = 72
    const k = 160
    const bytes = await pack(random('F32', [n, k]), 'w4_channel')
    const part = { tensor: tensorOf('Q4_0', [n, k], bytes, 'w4_channel'), n }
    const rows = { whole: n, runs: [{ first: 32, count: 40 }] }
    const columns = { first: 64, whole: k }
    const held = [
      { parts: [{ name: 'w', n: 40, rows }], k, kind: 'matrix' as const },
      { parts: [{ name: 'w', n }], k: 96, columns, kind: 'matrix' as const },
    ]
    const dealt = [
      new Uint8Array(matrixBytes('w4_channel', 40, k)),
      new Uint8Array(matrixBytes('w4_channel', n, 96)),
    ]
    await dealMatrix([part], k, 'w4_channel', held, (shard, offset, given) =>
      dealt[shard]!.set(given, offset),
    )
    const whole = packedMatrix('w4_channel', bytes, n, k)
    expect(packedMatrix('w4_channel', dealt[0]!, 40, k)).toEqual(whole.subarray(32 * k))
    const right = packedMatrix('w4_channel', dealt[1]!, n, 96)
    for (let row = 0; row < n; row++)
      expect(right.subarray(row * 96, row * 96 + 96)).toEqual(whole.subarray(row * k + 64, row * k + k))
  })

  test('are converted if they have a different encoding', async () => {
    const tensor = random('Q4_0', [40, 64])
    const packed = tensorOf('Q4_0', [40, 64], await pack(tensor, 'w4_g32'), 'w4_g32')
    const asFloats = packedMatrix('f32', await stream([packed], 64, 'f32'), 40, 64)
    expect(asFloats).toEqual(storedMatrix('Q4_0', tensor.bytes, 40, 64))
  })

  test('whose size does not match their shape cause a format error', async () => {
    const tensor = tensorOf('Q4_0', [40, 64], new Uint8Array(matrixBytes('w4_g32', 40, 64) - 16), 'w4_g32')
    await expect(stream([tensor], 64, 'w4_g32')).rejects.toMatchObject({ code: 'format' })
  })
})

describe('streamVector', () => {
  const vector = (values: readonly number[], dtype: DType = 'F32') =>
    tensorOf(dtype, [values.length], new Uint8Array(Float32Array.from(values).buffer))

  test('pads each part with zeros to 32', async () => {
    const slot = new Uint8Array(4 * 96).fill(0xa5)
    const parts = [vector([1, 2, 3]), vector(Array.from({ length: 33 }, (_, at) => at))]
    await streamVector(
      parts.map((tensor) => ({ tensor, n: tensor.shape[0]! })),
      () => slot,
    )
    const values = [...new Float32Array(slot.buffer)]
    expect(values.slice(0, 4)).toEqual([1, 2, 3, 0])
    expect(values.slice(32, 96)).toEqual([...Array(33).keys(), ...new Array(31).fill(0)])
  })

  test('widens f16 and accepts a shape of [1, n]', async () => {
    const tensor = { ...tensorOf('F16', [1, 2], Uint8Array.from([0, 0x3c, 0, 0xc0])) }
    const slot = new Uint8Array(128)
    await streamVector([{ tensor, n: 2 }], () => slot)
    expect([...new Float32Array(slot.buffer, 0, 3)]).toEqual([1, -2, 0])
  })

  test('a different length, or a matrix, causes an architecture error', async () => {
    const slot = new Uint8Array(512)
    await expect(streamVector([{ tensor: vector([1, 2]), n: 3 }], () => slot)).rejects.toMatchObject({
      code: 'architecture',
    })
    await expect(streamVector([{ tensor: random('F32', [2, 2]), n: 4 }], () => slot)).rejects.toMatchObject({
      code: 'architecture',
    })
  })
})
