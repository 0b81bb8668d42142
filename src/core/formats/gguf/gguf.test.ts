// Tests the GGUF reader. In: files written here, truncated, corrupted and forged. Out: the written contents,
// or a typed error.

import { readdirSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type GgufContents,
  type GgufValue,
  ggufBytes,
  ggufHeader,
} from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { fixture, fixturePath } from '../../../../test/helpers/fixture.ts'
import { type ByteSource, bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { readGguf } from './gguf.ts'
import { mergeSplits } from './open-gguf.ts'

const small: GgufContents = {
  metadata: {
    'general.architecture': ['string', 'llama'],
    'llama.block_count': ['u32', 2],
    'llama.rope.freq_base': ['f32', 10000],
    'tokenizer.ggml.tokens': ['string[]', ['a', '\ufeff', 'é', '']],
    'tokenizer.ggml.scores': ['f32[]', [0, -1.5, 2, 3]],
    'tokenizer.ggml.add_bos_token': ['bool', true],
    seed: ['u64', 2n ** 60n + 1n],
    small: ['i64', -5],
    byte: ['u8', 200],
    double: ['f64', 0.1],
  },
  tensors: [
    { name: 'norm', dtype: 'F32', shape: [5], data: () => [new Uint8Array(20).fill(1)] },
    { name: 'w', dtype: 'Q4_0', shape: [3, 64], data: () => [new Uint8Array(108).fill(2)] },
    { name: 'h', dtype: 'F16', shape: [2, 3], data: () => [new Uint8Array(12).fill(3)] },
  ],
}

const open = (bytes: Uint8Array) => readGguf(bufferSource('small.gguf', bytes))
const whole = await ggufBytes(small)
const headerBytes = ggufHeader(small).length

/** The error's code, or the result if there is no error. */
async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    return `no error: ${JSON.stringify(await work)}`
  } catch (error) {
    return isHalfbyteError(error) ? error.code : String(error)
  }
}

/** A header with raw bytes after the counts. */
function header(
  tensors: bigint,
  entries: bigint,
  ...parts: (readonly number[] | bigint | string)[]
): Uint8Array {
  const bytes: number[] = []
  const u64 = (value: bigint) => {
    for (let shift = 0n; shift < 64n; shift += 8n) bytes.push(Number((value >> shift) & 255n))
  }
  bytes.push(0x47, 0x47, 0x55, 0x46, 3, 0, 0, 0)
  u64(tensors)
  u64(entries)
  for (const part of parts) {
    if (typeof part === 'bigint') u64(part)
    else if (typeof part === 'string') {
      u64(BigInt(part.length))
      bytes.push(...Array.from(part, (character) => character.charCodeAt(0)))
    } else bytes.push(...part)
  }
  return Uint8Array.from(bytes)
}

const u32 = (value: number) => [value & 255, (value >> 8) & 255, (value >> 16) & 255, value >>> 24]

describe('a good file', () => {
  test('returns metadata and tensors, dimensions outermost first', async () => {
    const file = await open(whole)
    expect(Object.fromEntries(file.metadata)).toEqual({
      'general.architecture': 'llama',
      'llama.block_count': 2,
      'llama.rope.freq_base': 10000,
      'tokenizer.ggml.tokens': ['a', '\ufeff', 'é', ''],
      'tokenizer.ggml.scores': [0, -1.5, 2, 3],
      'tokenizer.ggml.add_bos_token': true,
      seed: '1152921504606846977',
      small: -5,
      byte: 200,
      double: 0.1,
    })
    expect(
      [...file.tensors.values()].map(({ name, dtype, shape, byteLength }) => [
        name,
        dtype,
        shape,
        byteLength,
      ]),
    ).toEqual([
      ['norm', 'F32', [5], 20],
      ['w', 'Q4_0', [3, 64], 108],
      ['h', 'F16', [2, 3], 12],
    ])
    const w = file.tensors.get('w')!
    expect(await w.source.read(w.offset, w.byteLength)).toEqual(new Uint8Array(108).fill(2))
  })

  test('versions 2 and 3 and any alignment are read', async () => {
    for (const contents of [
      { ...small, version: 2 as const },
      { ...small, alignment: 256 },
      { ...small, alignment: 8 },
    ]) {
      const file = await open(await ggufBytes(contents))
      for (const tensor of file.tensors.values()) expect(tensor.offset % (contents.alignment ?? 32)).toBe(0)
      const h = file.tensors.get('h')!
      expect(await h.source.read(h.offset, h.byteLength)).toEqual(new Uint8Array(12).fill(3))
    }
  })

  test('all strings and numbers survive a round trip', async () => {
    const value: fc.Arbitrary<GgufValue> = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => ['string', text] as const),
      fc.array(fc.string({ unit: 'grapheme' })).map((texts) => ['string[]', texts] as const),
      fc.integer().map((number) => ['i32', number] as const),
      fc.float({ noNaN: true }).map((number) => ['f32', number] as const),
      fc.array(fc.integer()).map((numbers) => ['i32[]', numbers] as const),
      fc.boolean().map((fact) => ['bool', fact] as const),
    )
    const key = fc
      .string({ minLength: 1 })
      .filter((text) => text !== '__proto__' && !text.startsWith('general.'))
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value, { noNullPrototype: true }), async (metadata) => {
        const file = await open(await ggufBytes({ metadata, tensors: [] }))
        expect(Object.fromEntries(file.metadata)).toEqual(
          Object.fromEntries(Object.entries(metadata).map(([name, [, held]]) => [name, held])),
        )
      }),
      { numRuns: 50 },
    )
  })

  test('a vocabulary longer than a slab is read without reading the data after it', async () => {
    const tokens = Array.from({ length: 150_000 }, (_, index) => `token number ${index}`)
    const bytes = await ggufBytes({
      metadata: { tokens: ['string[]', tokens], scores: ['f32[]', tokens.map((_, index) => index)] },
      tensors: [{ name: 'w', dtype: 'F32', shape: [8 << 20], data: () => [new Uint8Array(32 << 20)] }],
    })
    let read = 0
    const inner = bufferSource('large.gguf', bytes)
    const source: ByteSource = {
      ...inner,
      read: (offset, length) => {
        read += length
        return inner.read(offset, length)
      },
    }
    const file = await readGguf(source)
    expect(file.metadata.get('tokens')).toEqual(tokens)
    expect(read).toBeLessThan(8 << 20)
  })

  test('the stories260k fixtures are read', async () => {
    const files = readdirSync(fixturePath('stories260k')).filter((name) => name.endsWith('.gguf'))
    expect(files).toHaveLength(5)
    for (const name of files) {
      const bytes = new Uint8Array(fixture(`stories260k/${name}`))
      const file = await readGguf(bufferSource(name, bytes))
      expect(file.metadata.get('general.architecture')).toBe('llama')
      expect(file.metadata.get('tokenizer.ggml.tokens')).toHaveLength(512)
      expect(file.tensors.get('token_embd.weight')?.shape).toEqual([512, 64])
      expect(file.tensors.get('blk.0.attn_k.weight')?.shape).toEqual([32, 64])
      const ends = [...file.tensors.values()].map((tensor) => tensor.offset + tensor.byteLength)
      expect(Math.ceil(Math.max(...ends) / 32) * 32).toBe(bytes.length)
    }
  })
})

describe('a damaged file', () => {
  test('is a format error if truncated at any byte', async () => {
    for (let length = 0; length < whole.length - 20; length++) {
      expect(await codeOf(open(whole.subarray(0, length))), `truncated at ${length}`).toBe('format')
    }
    expect(headerBytes).toBeGreaterThan(200)
  })

  test('is read, or rejected with a typed error, if any header byte changes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(headerBytes - 1), fc.nat(255), async (at, value) => {
        const bytes = whole.slice()
        bytes[at] = value
        expect(await codeOf(open(bytes))).toMatch(/^(no error|format|unsupported)/)
      }),
      { numRuns: 2000 },
    )
  })

  const tensor = (dims: readonly bigint[], type: number, offset: bigint) =>
    header(1n, 0n, 'w', u32(dims.length), ...dims, u32(type), offset, new Array(64).fill(0))
  const entry = (type: number, ...rest: (readonly number[] | bigint | string)[]) =>
    header(0n, 1n, 'key', u32(type), ...rest, new Array(64).fill(0))
  const one = ['w', u32(1), 8n, u32(0), 0n] as const

  test.each<[string, Uint8Array]>([
    ['2^40 metadata entries', header(0n, 2n ** 40n)],
    ['2^64 - 1 tensors', header(2n ** 64n - 1n, 0n)],
    ['a key of 2^60 bytes', header(0n, 1n, 2n ** 60n)],
    ['a string of 2^63 bytes', entry(8, 2n ** 63n)],
    ['a string one byte beyond the file', entry(8, 65n)],
    ['an array of 2^61 numbers', entry(9, u32(6), 2n ** 61n)],
    ['an array with more strings than fit', entry(9, u32(8), 9n)],
    ['an array of an unknown type', entry(9, u32(13), 1n)],
    ['arrays nested three deep', entry(9, ...new Array(40).fill([...u32(9), 1, 0, 0, 0, 0, 0, 0, 0]))],
    ['an unknown value type', entry(77)],
    ['a boolean of 2', entry(7, [2])],
    ['the same key twice', header(0n, 2n, 'key', u32(0), [1], 'key', u32(0), [1], new Array(64).fill(0))],
    ['the same tensor twice', header(2n, 0n, ...one, ...one, new Array(128).fill(0))],
    ['dimensions of 2^60', tensor([2n ** 60n, 2n ** 60n], 0, 0n)],
    ['dimensions whose product overflows 64 bits', tensor([2n ** 32n, 2n ** 32n], 0, 0n)],
    ['dimensions whose product is 2^53', tensor([2n ** 26n, 2n ** 27n], 2, 0n)],
    ['a dimension of 0', tensor([0n], 0, 0n)],
    ['no dimensions', tensor([], 0, 0n)],
    ['five dimensions', tensor([1n, 1n, 1n, 1n, 1n], 0, 0n)],
    ['an offset of 2^63', tensor([8n], 0, 2n ** 63n)],
    ['an offset that wraps around', tensor([8n], 0, 2n ** 64n - 32n)],
    ['data one byte beyond the file', tensor([8n], 0, 64n)],
    ['a misaligned offset', tensor([1n], 0, 4n)],
    ['a Q4_0 row with 33 elements', tensor([33n], 2, 0n)],
    ['tensors that overlap', header(2n, 0n, ...one, 'v', u32(1), 8n, u32(0), 0n, new Array(128).fill(0))],
    ['an alignment of 3', header(0n, 1n, 'general.alignment', u32(4), u32(3), new Array(64).fill(0))],
    [
      'an alignment of 2^31',
      header(0n, 1n, 'general.alignment', u32(4), u32(2 ** 31), new Array(64).fill(0)),
    ],
    ['an alignment that is text', header(0n, 1n, 'general.alignment', u32(8), 'x', new Array(64).fill(0))],
  ])('%s is a format error', async (_, bytes) => {
    expect(await codeOf(open(bytes))).toBe('format')
  })

  test('the error for a ggml type without a kernel names it and the supported types', async () => {
    await expect(open(tensor([256n], 15, 0n))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/Q8_K.*F32, F16, BF16, Q8_0, Q4_0, Q4_1/),
    })
    await expect(open(tensor([256n], 999, 0n))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringContaining('ggml type 999'),
    })
  })

  test("the error for a type from BitNet's fork names it and an alternative", async () => {
    await expect(open(tensor([256n], 36, 0n))).rejects.toMatchObject({
      code: 'unsupported',
      message: expect.stringMatching(/I2_S.*TQ2_0.*take the model's packed safetensors/),
    })
  })

  test('version 1 and big-endian files are unsupported', async () => {
    const old = whole.slice()
    old[4] = 1
    expect(await codeOf(open(old))).toBe('unsupported')
    old.set([0, 0, 0, 3], 4)
    await expect(open(old)).rejects.toThrow(/big-endian/)
  })
})

describe('splits', () => {
  const split = async (number: number, count: number, name = `t${number}`, total = count) =>
    readGguf(
      bufferSource(
        `model-0000${number + 1}-of-0000${count}.gguf`,
        await ggufBytes({
          metadata: {
            ...(number === 0 ? { 'general.architecture': ['string', 'llama'] } : {}),
            'split.no': ['u16', number],
            'split.count': ['u16', count],
            'split.tensors.count': ['i32', total],
          },
          tensors: [{ name, dtype: 'F32', shape: [8], data: () => [new Uint8Array(32)] }],
        }),
      ),
    )

  test('form one model with the first one’s metadata, in any order', async () => {
    const merged = mergeSplits([await split(2, 3), await split(0, 3), await split(1, 3)])
    expect([...merged.tensors.keys()]).toEqual(['t0', 't1', 't2'])
    expect(merged.metadata.get('general.architecture')).toBe('llama')
  })

  test('the error names missing ones', async () => {
    const files = [await split(1, 4), await split(2, 4)]
    expect(() => mergeSplits(files)).toThrow(
      /4 files but 2 were given; add split 1 \(model-00001-of-00004.gguf\), 4/,
    )
  })

  test('duplicate splits, foreign splits, duplicate tensors and a wrong total are rejected', async () => {
    const first = await split(0, 2)
    const second = await split(1, 2)
    expect(() => mergeSplits([first, first])).toThrow(/both split 1 of 2/)
    expect(() => mergeSplits([first, second, second])).toThrow(/both split 2 of 2/)
    const foreign = await split(1, 3)
    expect(() => mergeSplits([first, foreign])).toThrow(
      /split 2 of 3, but the other files belong to a model in 2/,
    )
    const doubled = await split(1, 2, 't0')
    expect(() => mergeSplits([first, doubled])).toThrow(/also in/)
    const counted = [await split(0, 2, 't0', 5), second]
    expect(() => mergeSplits(counted)).toThrow(/split.tensors.count is 5 but the splits hold 2/)
  })

  test('two complete files are rejected', async () => {
    const file = await open(whole)
    expect(() => mergeSplits([file, file])).toThrow(/pass only one of them/)
  })
})
