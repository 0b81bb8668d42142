import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  safetensorsBytes,
  safetensorsFile,
} from '../../../../test/conformance/testing/writers/safetensors-writer.ts'
import { fixture } from '../../../../test/helpers/fixture.ts'
import { bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { readSafetensors, readShards, writeSafetensors } from './safetensors.ts'

const a = { dtype: 'F32', shape: [2, 3], data: new Uint8Array(24).fill(1) } as const
const b = { dtype: 'BF16', shape: [4], data: new Uint8Array(8).fill(2) } as const
const whole = safetensorsBytes({ a, b })
const source = (bytes: Uint8Array, name = 'model.safetensors') => bufferSource(name, bytes)
const open = (bytes: Uint8Array) => readSafetensors(source(bytes))

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    return `no error: ${JSON.stringify(await work)}`
  } catch (error) {
    return isHalfbyteError(error) ? error.code : String(error)
  }
}

test('tensors round-trip with their shapes and bytes', async () => {
  const tensors = await open(whole)
  expect([...tensors.values()].map(({ name, dtype, shape }) => [name, dtype, shape])).toEqual([
    ['a', 'F32', [2, 3]],
    ['b', 'BF16', [4]],
  ])
  const held = tensors.get('b')!
  expect(await held.source.read(held.offset, held.byteLength)).toEqual(b.data)
})

test('tensors can have any name, even one from Object.prototype', async () => {
  const names = ['toString', '__proto__', 'a']
  const tensors = names.map((name, at) => ({
    ...({ name, dtype: 'F32', shape: [1], bytes: 4 } as const),
    data: () => [new Uint8Array(4).fill(at)],
  }))
  const chunks: Uint8Array[] = []
  for await (const chunk of writeSafetensors(tensors, new AbortController().signal)) chunks.push(chunk)
  const read = await open(new Uint8Array(Buffer.concat(chunks)))
  expect([...read.keys()]).toEqual(names)
})

test('the mamba fixture is read', async () => {
  const tensors = await open(new Uint8Array(fixture('mamba-random/model.safetensors')))
  expect(tensors.get('backbone.embeddings.weight')?.shape).toEqual([512, 64])
  expect(new Set([...tensors.values()].map((tensor) => tensor.dtype))).toEqual(new Set(['F32']))
})

describe('a damaged file', () => {
  test('is a format error if truncated at any byte', async () => {
    for (let length = 0; length < whole.length; length++) {
      expect(await codeOf(open(whole.subarray(0, length))), `truncated at ${length}`).toBe('format')
    }
  })

  test('is read, or rejected with a typed error, if any header byte changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 33), fc.nat(255), async (at, value) => {
        const bytes = whole.slice()
        bytes[at] = value
        expect(await codeOf(open(bytes))).toMatch(/^(no error|format|unsupported)/)
      }),
      { numRuns: 1000 },
    )
  })

  const entry = (entry: unknown) => safetensorsFile({ w: entry }, new Uint8Array(8))
  test.each<[string, Uint8Array]>([
    ['a header of 2^60 bytes', Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 16, 0x7b, 0x7d])],
    ['a header that is not JSON', safetensorsFile('{"w": ', new Uint8Array(0))],
    ['a header that is an array', safetensorsFile('[]', new Uint8Array(0))],
    ['a header of a million brackets', safetensorsFile('['.repeat(1_000_000), new Uint8Array(0))],
    ['an entry that is a number', entry(5)],
    ['an entry without a shape', entry({ dtype: 'F32', data_offsets: [0, 8] })],
    ['a negative size', entry({ dtype: 'F32', shape: [-2], data_offsets: [0, 8] })],
    ['a size of 2^60', entry({ dtype: 'F32', shape: [2 ** 60], data_offsets: [0, 8] })],
    ['a product of 2^106', entry({ dtype: 'F32', shape: [2 ** 53 - 1, 2 ** 53 - 1], data_offsets: [0, 8] })],
    ['a fractional size', entry({ dtype: 'F32', shape: [1.5], data_offsets: [0, 8] })],
    ['three offsets', entry({ dtype: 'F32', shape: [2], data_offsets: [0, 8, 8] })],
    ['an end before the beginning', entry({ dtype: 'F32', shape: [2], data_offsets: [8, 0] })],
    ['an end beyond the file', entry({ dtype: 'F32', shape: [4], data_offsets: [0, 16] })],
    ['too many bytes for the shape', entry({ dtype: 'F32', shape: [1], data_offsets: [0, 8] })],
    ['a gap at the start', entry({ dtype: 'F32', shape: [1], data_offsets: [4, 8] })],
    ['leftover bytes at the end', entry({ dtype: 'F32', shape: [1], data_offsets: [0, 4] })],
    [
      'an overlap',
      safetensorsFile(
        {
          v: { dtype: 'F32', shape: [2], data_offsets: [0, 8] },
          w: { dtype: 'F32', shape: [1], data_offsets: [4, 8] },
        },
        new Uint8Array(8),
      ),
    ],
  ])('%s is a format error', async (_, bytes) => {
    expect(await codeOf(open(bytes))).toBe('format')
  })

  test('the error for an unsupported dtype names it', async () => {
    const file = safetensorsFile({ w: { dtype: 'F64', shape: [1], data_offsets: [0, 8] } }, new Uint8Array(8))
    await expect(open(file)).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/"F64".*F32, F16, BF16/),
    })
  })
})

describe('shards', () => {
  const first = source(safetensorsBytes({ a }), 'model-00001-of-00002.safetensors')
  const second = source(
    safetensorsBytes({ b }),
    'https://host/x/model-00002-of-00002.safetensors?download=true',
  )
  const index = {
    weight_map: { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' },
  }

  test('are one model, with and without the index', async () => {
    expect([...(await readShards([first, second], index)).keys()]).toEqual(['a', 'b'])
    expect([...(await readShards([second, first], undefined)).keys()]).toEqual(['b', 'a'])
  })

  test('the error names missing ones, with and without the index', async () => {
    await expect(readShards([first], index)).rejects.toThrow(
      /2 files but 1 were given; add model-00002-of-00002/,
    )
    await expect(readShards([second], undefined)).rejects.toThrow(/add model-00001-of-00002.safetensors/)
  })

  test('a tensor must be in the file that the index names', async () => {
    const wrong = { weight_map: { ...index.weight_map, c: 'model-00001-of-00002.safetensors' } }
    expect(await codeOf(readShards([first, second], wrong))).toBe('format')
    const swapped = { weight_map: { ...index.weight_map, a: 'model-00002-of-00002.safetensors' } }
    expect(await codeOf(readShards([first, second], swapped))).toBe('format')
  })

  test('duplicate shards, duplicate tensors and unrelated files are rejected', async () => {
    expect(await codeOf(readShards([first, first], undefined))).toBe('format')
    const double = source(safetensorsBytes({ a }), 'model-00002-of-00002.safetensors')
    await expect(readShards([first, double], undefined)).rejects.toThrow(/also in/)
    const unrelated = [
      source(safetensorsBytes({ a }), 'one.safetensors'),
      source(safetensorsBytes({ b }), 'two.safetensors'),
    ]
    await expect(readShards(unrelated, undefined)).rejects.toThrow(/without an index/)
    const consolidated = { ...first, name: 'folder/consolidated.safetensors' }
    expect([...(await readShards([consolidated, second, first], undefined)).keys()]).toEqual(['b', 'a'])
    expect([...(await readShards([consolidated], undefined)).keys()]).toEqual(['a'])
  })
})

test('a header beyond 32 MiB is rejected before it is read', async () => {
  const read: number[] = []
  const source = {
    name: 'model.safetensors',
    size: 2 ** 40,
    read: async (_: number, length: number) => {
      read.push(length)
      return new Uint8Array(new BigUint64Array([BigInt((32 << 20) + 1)]).buffer)
    },
  }
  expect(await codeOf(readSafetensors(source))).toBe('format')
  expect(read).toEqual([8])
})
