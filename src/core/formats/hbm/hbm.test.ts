// Tests .hbm packs. In: packs written here, truncated, corrupted and forged. Out: the same model, or a typed
// error.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concat } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { openModel } from '../../arch/open-model.ts'
import { type ByteSource, bufferSource } from '../../base/bytes.ts'
import { isHalfbyteError } from '../../base/errors.ts'
import { gzip } from '../gzip.ts'
import { CHUNK_BYTES, headerHash, PREFIX_BYTES, readPack } from './hbm.ts'
import { type PackContents, type PackTensor, writePack } from './hbm-writer.ts'

const bytesOf = (length: number, seed: number) => new Uint8Array(length).map((_, at) => (at * 31 + seed) >> 2)
const tensor = (
  name: string,
  shape: number[],
  bytes: Uint8Array,
  encoding: PackTensor['encoding'] = 'w4_g32',
) => ({
  name,
  encoding,
  shape,
  bytes: bytes.length,
  data: () => [bytes.subarray(0, 5), bytes.subarray(5)],
})

/** An object that cannot be converted to a string. */
const NO_TEXT = { toString: 1 }

const embed = bytesOf(4 * 144, 1)
const norm = bytesOf(128, 2)
const small: PackContents = {
  name: 'tiny',
  config: { family: 'llama', layers: 1 },
  tokenizer: { kind: 'json', tokenizer: { model: { type: 'BPE' } } },
  generation: { temperature: 0.8 },
  about: { licence: 'CC0' },
  tensors: [tensor('embed.weight', [32, 32], embed), tensor('norm.weight', [20], norm, 'f32')],
}

async function write(contents: PackContents): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack(contents)) chunks.push(chunk)
  return concat(chunks)
}

const source = (bytes: Uint8Array) => bufferSource('tiny.hbm', bytes)
const whole = await write(small)

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'no error'
  } catch (error) {
    return isHalfbyteError(error) ? error.code : String(error)
  }
}

/** Opens a pack and reads every tensor. */
async function readAll(bytes: Uint8Array): Promise<void> {
  const { tensors } = await readPack(source(bytes))
  for (const { source, offset, byteLength } of tensors.values()) await source.read(offset, byteLength)
}

test('a pack round-trips its model', async () => {
  const model = await openModel([source(whole)])
  expect(model).toMatchObject({
    format: 'hbm',
    name: 'tiny',
    tokenizer: small.tokenizer,
    generationConfig: { temperature: 0.8 },
  })
  expect(Object.fromEntries(model.metadata)).toEqual({ config: small.config, about: small.about })
  const held = model.tensors.get('embed.weight')!
  expect(held).toMatchObject({ shape: [32, 32], dtype: 'Q4_0', packed: 'w4_g32', byteLength: embed.length })
  expect(await held.source.read(held.offset, held.byteLength)).toEqual(embed)
  const vector = model.tensors.get('norm.weight')!
  expect(await vector.source.read(vector.offset, vector.byteLength)).toEqual(norm)
})

test('equal contents give equal bytes, and tensors are at multiples of 64', async () => {
  expect(await write(small)).toEqual(whole)
  expect(whole.length % 64).toBe(0)
  expect(whole.subarray(-128)).toEqual(norm)
  expect(await write({ ...small, tensors: [] }).then((bytes) => codeOf(readAll(bytes)))).toBe('no error')
})

describe('a tensor of several chunks', () => {
  const size = 9 << 20
  const large = bytesOf(size, 3)
  const contents = { ...small, tensors: [tensor('w', [size / 144 / 4, 32], large)] }

  test('can be read at any range, and reads each chunk once when read in order', async () => {
    const bytes = await write(contents)
    let read = 0
    const inner = source(bytes)
    const counting: ByteSource = {
      ...inner,
      read: (offset, length) => {
        read += length
        return inner.read(offset, length)
      },
    }
    const { source: held } = (await readPack(counting)).tensors.get('w')!
    read = 0
    for (let at = 0; at < size; at += 3_000_000) {
      const length = Math.min(3_000_000, size - at)
      expect(Buffer.compare(await held.read(at, length), large.subarray(at, at + length))).toBe(0)
    }
    expect(read).toBe(size)
    for (const [offset, length] of [
      [CHUNK_BYTES - 1, 2],
      [CHUNK_BYTES, CHUNK_BYTES],
      [5, size - 10],
      [size, 0],
    ] as const) {
      expect(Buffer.compare(await held.read(offset, length), large.subarray(offset, offset + length))).toBe(0)
    }
    expect(await codeOf(held.read(size - 1, 2))).toBe('format')
    const shared = new Uint8Array(new SharedArrayBuffer(size - 5))
    await held.readInto?.(shared, 5)
    expect(Buffer.compare(shared, large.subarray(5))).toBe(0)
  })

  test('rejects only the chunk that was changed', async () => {
    const bytes = await write(contents)
    bytes[bytes.length - size + CHUNK_BYTES + 7]! ^= 1
    const { source: held } = (await readPack(source(bytes))).tensors.get('w')!
    expect(await codeOf(held.read(0, CHUNK_BYTES))).toBe('no error')
    expect(await codeOf(held.read(2 * CHUNK_BYTES, 100))).toBe('no error')
    expect(await codeOf(held.read(CHUNK_BYTES - 1, 2))).toBe('integrity')
  })
})

describe('a damaged pack', () => {
  test('is a format error if truncated at any byte or extended by one', async () => {
    for (let length = 4; length < whole.length; length++) {
      expect(await codeOf(openModel([source(whole.subarray(0, length))])), `truncated at ${length}`).toBe(
        'format',
      )
    }
    expect(await codeOf(openModel([source(concat([whole, new Uint8Array(1)]))]))).toBe('format')
  })

  test('is rejected, at the latest while its tensors are read, if any bit is flipped', async () => {
    const padding = new Set<number>()
    const headEnd = PREFIX_BYTES + new DataView(whole.buffer).getUint32(8, true)
    for (let at = headEnd; at < Math.ceil(headEnd / 64) * 64; at++) padding.add(at)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 4, max: whole.length - 1 }), fc.nat(7), async (at, bit) => {
        fc.pre(!padding.has(at))
        const bytes = whole.slice()
        bytes[at]! ^= 1 << bit
        expect(await codeOf(readAll(bytes))).toMatch(/format|integrity|unsupported/)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a false header with a correct hash', () => {
  async function lie(
    change: (header: Record<string, unknown>) => unknown,
    jsonBytes?: number,
  ): Promise<Uint8Array> {
    const hashes = ['0'.repeat(64)]
    const entry = { name: 'w', encoding: 'w4_g32', shape: [32, 32], offset: 0, bytes: 576, sha256: hashes }
    const header = change({ name: 'x', config: {}, tensors: [entry] })
    const json = new TextEncoder().encode(typeof header === 'string' ? header : JSON.stringify(header))
    const stored = await gzip(json)
    const dataStart = Math.ceil((PREFIX_BYTES + stored.length) / 64) * 64
    const bytes = new Uint8Array(dataStart + 576)
    const view = new DataView(bytes.buffer)
    bytes.set([0x48, 0x42, 0x4d, 0x31, 1])
    view.setUint32(8, stored.length, true)
    view.setUint32(12, jsonBytes ?? json.length, true)
    view.setBigUint64(16, BigInt(bytes.length), true)
    bytes.set(stored, PREFIX_BYTES)
    const hash = await headerHash(bytes.subarray(0, PREFIX_BYTES + stored.length))
    bytes.set(Buffer.from(hash, 'hex'), 32)
    return bytes
  }
  /** A tensor that is small enough to leave room for others in the file. */
  const short = { shape: [8, 32], bytes: 144 }
  const withEntry = (change: object) => (header: Record<string, unknown>) => ({
    ...header,
    tensors: [{ ...(header['tensors'] as object[])[0], ...change }],
  })

  test('is read if nothing is changed', async () => {
    expect(await codeOf(readPack(source(await lie((header) => header))))).toBe('no error')
    expect(await codeOf(readPack(source(await lie(withEntry(short)))))).toBe('no error')
  })

  test.each<[string, (header: Record<string, unknown>) => unknown]>([
    ['no JSON', () => '{"name":'],
    ['a number', () => '5'],
    ['100 MB of brackets', () => '['.repeat(100e6)],
    ['100 MB of empty objects', () => `{"name":[${'{},'.repeat(33e6)}0]}`],
    ['a name that is not text', withEntry({ name: NO_TEXT })],
    ['an encoding that is not text', withEntry({ encoding: NO_TEXT })],
    ['a shape without numbers', withEntry({ shape: [NO_TEXT, NO_TEXT] })],
    ['no tensors', ({ tensors, ...rest }) => rest],
    ['a name that is a number', (header) => ({ ...header, name: 5 })],
    ['a tokenizer without a kind', (header) => ({ ...header, tokenizer: { kind: 'x' } })],
    ...[5, {}, [5]].map((merges): [string, (header: Record<string, unknown>) => unknown] => [
      `merges ${JSON.stringify(merges)}`,
      (header) => ({ ...header, tokenizer: { kind: 'gguf', model: 'gpt2', tokens: ['a'], merges } }),
    ]),
    [
      'the same tensor twice',
      (header) => ({ ...header, tensors: [...(header['tensors'] as []), ...(header['tensors'] as [])] }),
    ],
    ['an offset beyond the file', withEntry({ offset: 64 })],
    ['an offset of 2^53', withEntry({ offset: 2 ** 53 })],
    ['an offset of 32', withEntry({ offset: 32, ...short })],
    [
      'two tensors at the same offset',
      (header) => ({
        ...header,
        tensors: [
          ...(header['tensors'] as []),
          { ...(header['tensors'] as object[])[0], ...short, name: 'v', offset: 64 },
        ],
      }),
    ],
    [
      'two tensors with the same name, not adjacent',
      (header) => ({
        ...header,
        tensors: [0, 192].map((offset) => ({ ...(header['tensors'] as object[])[0], ...short, offset })),
      }),
    ],
    ['a negative offset', withEntry({ offset: -64 })],
    ['a shape of 2^30 by 2^30', withEntry({ shape: [2 ** 30, 2 ** 30] })],
    ['an empty shape', withEntry({ shape: [] })],
    ['a vector in w4', withEntry({ shape: [32] })],
    ['a vector with a different length', withEntry({ shape: [32], encoding: 'f32' })],
    ['one hash too few', withEntry({ sha256: [] })],
    ['a hash that is not a hash', withEntry({ sha256: ['xyz'] })],
  ])('%s is a format error', async (_, change) => {
    expect(await codeOf(readPack(source(await lie(change))))).toBe('format')
  })

  test.each(['toString', 'w4_g32_ls16'])(
    '%s is not an encoding, and the error says what to do',
    async (encoding) => {
      const found = readPack(source(await lie(withEntry({ encoding }))))
      await expect(found).rejects.toMatchObject({ code: 'unsupported', detail: { encoding } })
      await expect(found).rejects.toThrow(/which this version does not support; convert the model again/)
    },
  )

  test('that would unpack to more than the header limit is not unpacked', async () => {
    const bytes = await lie((header) => header, (128 << 20) + 1)
    await expect(readPack(source(bytes))).rejects.toThrow(/134217729 unpacked, in a file of/)
  })

  test('that unpacks to more than declared stops early', async () => {
    const bytes = await lie(() => ' '.repeat(100 << 20), 1000)
    expect(bytes.length).toBeLessThan(1 << 20)
    const { message } = (await readPack(source(bytes)).catch((error) => error)) as Error
    expect(message).toMatch(/decompresses to \d+ bytes, not the declared 1000/)
    // It stops at the first chunk over the limit.
    expect(Number(/decompresses to (\d+)/.exec(message)?.[1])).toBeLessThan(1 << 20)
  })
})

describe('a pack of a different version', () => {
  const sparse = { ...small, tensors: [tensor('embed.weight', [32, 32], embed, 'w4_g32_sv32')] }
  const ofVersion = (pack: Uint8Array, version: number) => {
    const bytes = pack.slice()
    bytes[4] = version
    const head = bytes.subarray(0, PREFIX_BYTES + new DataView(bytes.buffer).getUint32(8, true))
    return headerHash(head).then((hash) => {
      bytes.set(Buffer.from(hash, 'hex'), 32)
      return bytes
    })
  }

  test('newer or older than the known ones is unsupported, and the message says what to do', async () => {
    const later = readPack(source(await ofVersion(whole, 3)))
    await expect(later).rejects.toMatchObject({ code: 'unsupported', detail: { version: 3 } })
    await expect(later).rejects.toThrow(/version 3 pack, but only version 2 is supported; update Halfbyte/)
    const never = readPack(source(await ofVersion(whole, 0)))
    await expect(never).rejects.toMatchObject({ code: 'unsupported', detail: { version: 0 } })
    await expect(never).rejects.toThrow(
      /version 0 pack, but only version 2 is supported; convert the model again/,
    )
  })

  test('is rejected before any tensor is read if one of its layouts has changed since', async () => {
    const now = await write(sparse)
    expect(now[4]).toBe(2)
    expect(await codeOf(readAll(now))).toBe('no error')
    const before = readPack(source(await ofVersion(now, 1)))
    await expect(before).rejects.toMatchObject({ code: 'unsupported', detail: { version: 1 } })
    await expect(before).rejects.toThrow(
      /version 1 pack, but only version 2 is supported; convert the model again/,
    )
  })

  test('is version 1, for older releases, if no layout in the pack has changed since', async () => {
    expect(whole[4]).toBe(1)
    expect(await codeOf(readAll(await ofVersion(whole, 2)))).toBe('no error')
  })
})

test('the writer rejects data whose length differs from the declared one', async () => {
  const short = { ...tensor('w', [32, 32], embed), bytes: 640 }
  expect(await codeOf(write({ ...small, tensors: [short] }))).toBe('internal')
})
