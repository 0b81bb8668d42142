// GGUF from GGUF and from packs. In: a random model in several types. Out: tensors in the requested type, and
// the same bytes where nothing has to be rounded.
import { expect, test } from 'vitest'
import { ggufFile, safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource, bufferSource, joinBytes } from '../../../core/base/bytes.ts'
import { readGguf } from '../../../core/formats/gguf/gguf.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import type { TensorIndex } from '../../../core/formats/tensors.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import type { GgufDType, GgufTarget } from './gguf-tensors.ts'
import { modelGguf } from './model-gguf.ts'
import { requantizedGguf } from './requantize-gguf.ts'

const { signal } = new AbortController()
const model = randomLlama({ seed: 5 })

async function joined(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk.slice())
  return joinBytes(all)
}

const prepared = async (name: string, bytes: Uint8Array, weights: 'auto' | 'f32' = 'f32') =>
  prepareModel(await openModel([bufferSource(name, bytes)]), { weights, forPack: true })

const bytesOf = async (file: Blob) => new Uint8Array(await file.arrayBuffer())

const requantized = async (bytes: Uint8Array, dtype: GgufDType): Promise<Uint8Array> =>
  joined((await requantizedGguf(await prepared('a.gguf', bytes), dtype, signal)).chunks)

const asPack = async (bytes: Uint8Array): Promise<Uint8Array> =>
  joined(writePack(await packContents(await prepared('a.gguf', bytes, 'auto')), signal))

const asGguf = async (pack: Uint8Array, dtype: GgufTarget): Promise<Uint8Array> =>
  joined(modelGguf(await prepared('a.hbm', pack), { dtype, name: 'random', signal }).chunks)

async function tensorsOf(bytes: Uint8Array): Promise<TensorIndex> {
  return (await readGguf(bufferSource('b.gguf', bytes), signal)).tensors
}

/** Compares the dtype, shape and bytes of each tensor. */
async function expectSame(a: Uint8Array, b: Uint8Array): Promise<void> {
  const [own, other] = [await tensorsOf(a), await tensorsOf(b)]
  expect([...own.keys()].sort()).toEqual([...other.keys()].sort())
  for (const [name, { dtype, shape, source, offset, byteLength }] of own) {
    const same = other.get(name)!
    expect([name, same.dtype, same.shape]).toEqual([name, dtype, shape])
    expect(await same.source.read(same.offset, byteLength)).toEqual(await source.read(offset, byteLength))
  }
}

test.each(['Q8_0', 'Q4_0', 'Q4_1', 'F16', 'BF16'] as const)(
  '%s matrices, F32 vectors and the metadata of the file',
  async (dtype) => {
    const file = await bytesOf(await ggufFile(model))
    const made = await requantized(file, dtype)
    const tensors = await tensorsOf(made)
    expect(tensors.get('blk.0.attn_q.weight')?.dtype).toBe(dtype)
    expect(tensors.get('token_embd.weight')?.dtype).toBe(dtype.startsWith('Q4') ? 'Q8_0' : dtype)
    expect(tensors.get('output_norm.weight')?.dtype).toBe('F32')
    const { metadata } = await readGguf(bufferSource('a.gguf', file), signal)
    const own = (await readGguf(bufferSource('b.gguf', made), signal)).metadata
    const without = (all: typeof metadata) => [...all].filter(([key]) => key !== 'general.file_type')
    expect(without(own)).toEqual(without(metadata))
  },
)

test('a file in its own type is the same file, and quantised weights survive f32', async () => {
  const small = await requantized(await bytesOf(await ggufFile(model)), 'Q8_0')
  expect(await requantized(small, 'Q8_0')).toEqual(small)
  await expectSame(await requantized(await requantized(small, 'F32'), 'Q8_0'), small)
})

test.each(['Q8_0', 'Q4_0', 'Q4_1', 'F16'] as const)(
  'a pack of a %s file gives its codes back without rounding',
  async (dtype) => {
    const file = await requantized(await bytesOf(await ggufFile(model)), dtype)
    await expectSame(await asGguf(await asPack(file), 'keep'), file)
  },
)

test('a pack of a folder, whose queries and keys are in another order, keeps its codes', async () => {
  const folder = safetensorsFiles(model).map((file) => blobSource(file.name, file))
  const own = await prepareModel(await openModel(folder), { weights: 'w4', forPack: true })
  const pack = await joined(writePack(await packContents(own), signal))
  const back = await asPack(await asGguf(pack, 'keep'))
  const rows = async (bytes: Uint8Array) => {
    const { weights } = await prepared('a.hbm', bytes, 'auto')
    const { source, offset, byteLength, packed } = weights.get('layers.0.attn_v.weight')!
    return [packed, await source.read(offset, byteLength)]
  }
  expect(await rows(back)).toEqual(await rows(pack))
  await expectSame(await asGguf(back, 'keep'), await asGguf(pack, 'keep'))
})

test('codes that GGUF does not have are named, and another type can be chosen', async () => {
  const folder = safetensorsFiles(model).map((file) => blobSource(file.name, file))
  const own = await prepareModel(await openModel(folder), { weights: 'w4_channel', forPack: true })
  const pack = await joined(writePack(await packContents(own), signal))
  await expect(asGguf(pack, 'keep')).rejects.toThrow(
    /^layers\.0\.\w+\.weight \[\d+,\d+\] is stored as w4_channel, which GGUF does not have; choose --format f16/,
  )
  expect((await tensorsOf(await asGguf(pack, 'Q8_0'))).get('blk.0.attn_v.weight')?.dtype).toBe('Q8_0')
})
