// Tests packs in parts. In: a pack split at any size, its parts reordered, lost, shortened and swapped. Out:
// the same model, or an error that says what is wrong.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { concat } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { openModel } from '../../arch/open-model.ts'
import { bufferSource, readInto } from '../../base/bytes.ts'
import { joinParts } from '../splits.ts'
import { writePack } from './hbm-writer.ts'

const weights = new Uint8Array(40 * 128).map((_, at) => (at * 31 + 7) >> 1)

async function pack(name: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  const tensor = { name: 'norm.weight', encoding: 'f32', shape: [40 * 32], bytes: weights.length } as const
  const contents = { name, config: { family: 'llama' }, tensors: [{ ...tensor, data: () => [weights] }] }
  for await (const chunk of writePack(contents)) chunks.push(chunk)
  return concat(chunks)
}

const whole = await pack('whole')

function cut(bytes: Uint8Array, partBytes: number, stem = 'tiny') {
  const count = Math.ceil(bytes.length / partBytes)
  const pad = (value: number) => String(value).padStart(5, '0')
  return Array.from({ length: count }, (_, index) =>
    bufferSource(
      `${stem}-${pad(index + 1)}-of-${pad(count)}.hbm`,
      bytes.subarray(index * partBytes, (index + 1) * partBytes),
    ),
  )
}

type Parts = Parameters<typeof joinParts>[0]

test('parts of any size and in any order read like the whole pack', async () => {
  const at = fc.integer({ min: 0, max: whole.length })
  const order = fc.infiniteStream(fc.integer())
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 40, max: whole.length }), at, at, order, async (size, a, b, keys) => {
      const mixed = cut(whole, size)
        .map((part) => ({ part, key: keys.next().value as number }))
        .sort((left, right) => left.key - right.key)
      const joined = joinParts(mixed.map(({ part }) => part) as unknown as Parts)
      expect(joined.size).toBe(whole.length)
      const start = Math.min(a, b)
      const end = Math.max(a, b)
      const target = new Uint8Array(end - start)
      await readInto(joined, target, start)
      expect(target).toEqual(whole.subarray(start, end))
      expect(await joined.read(start, end - start)).toEqual(target)
    }),
  )
})

test('a model opens from parts, and verified data is not hashed again', async () => {
  const parts = cut(whole, 1000)
  const model = await openModel(parts)
  expect(model).toMatchObject({ format: 'hbm', name: 'whole' })
  const { source, offset } = model.tensors.get('norm.weight')!
  expect(await source.read(offset, weights.length)).toEqual(weights)
  const isChecked = (checked: readonly boolean[]) =>
    joinParts(parts.map((part, at) => ({ ...part, isChecked: checked[at] !== false })) as unknown as Parts)
      .isChecked
  expect([isChecked([]), isChecked([true, false])]).toEqual([true, false])
})

test('a part may begin like a file in another format', async () => {
  const bytes = whole.slice()
  const parts = cut(bytes, 2000)
  for (const magic of ['GGUF', 'HBM1']) {
    bytes.set(new TextEncoder().encode(magic), 4000)
    expect((await openModel(parts)).format).toBe('hbm')
  }
})

test.each([
  ['a missing part', (parts: Parts[0][]) => parts.splice(1, 1), /add split 2 \(tiny-00002-of-00004\.hbm\)/],
  ['a part given twice', (parts: Parts[0][]) => parts.push(parts[1]!), /are both split 2 of 4/],
  [
    'a part of a pack that was split into a different number of files',
    (parts: Parts[0][]) => parts.splice(1, 1, cut(whole, 2000)[1]!),
    /split 2 of 3, but the other files belong to a model in 4/,
  ],
  [
    'a part that is too short',
    (parts: Parts[0][]) => parts.splice(1, 1, bufferSource(parts[1]!.name, whole.subarray(1500, 2900))),
    /tiny-00002-of-00004\.hbm: it has 1400 bytes but the first part has 1500/,
  ],
  [
    'a last part that is too short',
    (parts: Parts[0][]) => parts.splice(3, 1, bufferSource(parts[3]!.name, whole.subarray(0, 64))),
    new RegExp(`tiny\\.hbm: it has 4564 bytes but its prefix says ${whole.length}`),
  ],
  [
    'a first part that is not a pack',
    (parts: Parts[0][]) => parts.splice(0, 1, bufferSource(parts[0]!.name, new Uint8Array(1500))),
    /tiny\.hbm: it does not start with HBM1/,
  ],
])('%s among the parts throws an error', async (_, change, message) => {
  const parts = cut(whole, 1500)
  expect(parts).toHaveLength(4)
  change(parts)
  await expect(openModel(parts)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(message),
  })
})

test('two complete packs are not parts of one', async () => {
  const two = [bufferSource('a.hbm', whole), bufferSource('b.hbm', whole)]
  await expect(openModel(two)).rejects.toThrow(
    /2 files were given but a\.hbm is a whole model; pass only one of them/,
  )
})

test('the hashes reveal a part of another pack of the same size', async () => {
  const other = whole.slice().fill(1, 3000, 4500)
  const parts = cut(whole, 1500)
  parts[2] = cut(other, 1500)[2]!
  const { source, offset } = (await openModel(parts)).tensors.get('norm.weight')!
  await expect(source.read(offset, weights.length)).rejects.toMatchObject({
    code: 'integrity',
    detail: { file: 'tiny.hbm' },
  })
})
