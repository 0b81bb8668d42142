// Tests the scales of matrices. In: NVFP4 experts and their scales. Out: the products, wherever a read
// begins.
import { expect, test } from 'vitest'
import { bufferSource } from '../../base/bytes.ts'
import { dequantize } from '../dequantize.ts'
import { storedRows } from '../dtypes.ts'
import type { TensorInfo } from '../tensors.ts'
import { randomBlocks } from '../testing/random-blocks.ts'
import { codingOf } from './group-readers.ts'
import { scaleTensors } from './open-gguf.ts'

const SHAPE = [3, 2, 128] as const
const COUNT = 3 * 2 * 128
const BLOCKS = randomBlocks('NVFP4', COUNT / 64, 5)
const FACTORS = Float32Array.of(0.5, -3, 1.25)

const tensor = (name: string, dtype: TensorInfo['dtype'], shape: readonly number[], bytes: Uint8Array) => {
  // Other tensors come first.
  const source = bufferSource('experts.gguf', new Uint8Array([...new Uint8Array(64), ...bytes]))
  const coding = codingOf(dtype)
  return [name, { name, dtype, coding, shape, source, offset: 64, byteLength: bytes.length }] as const
}
const EXPERTS = tensor('blk.0.ffn_up_exps.weight', 'NVFP4', SHAPE, BLOCKS)
const scalesOf = (values: Float32Array) =>
  tensor('blk.0.ffn_up_exps.scale', 'F32', [values.length], new Uint8Array(values.buffer))

const stored = new Float32Array(COUNT)
dequantize(storedRows('NVFP4', BLOCKS, codingOf('NVFP4')), 0, COUNT, stored, 0)

async function readScaled(factors: Float32Array, first: number, count: number): Promise<Float32Array> {
  const scaled = scaleTensors(new Map([EXPERTS, scalesOf(factors)]))
  expect([...scaled.keys()]).toEqual(['blk.0.ffn_up_exps.weight'])
  const { source, offset, dtype, like } = scaled.get('blk.0.ffn_up_exps.weight') as TensorInfo
  expect([dtype, like]).toEqual(['F32', 'NVFP4'])
  const bytes = await source.read(offset + 4 * first, 4 * count)
  return new Float32Array(bytes.buffer, bytes.byteOffset, count)
}

test('each expert has its own', async () => {
  const due = stored.map((value, index) => value * FACTORS[Math.floor(index / 256)]!)
  expect(await readScaled(FACTORS, 0, COUNT)).toEqual(due)
  expect(await readScaled(FACTORS, 128, 384)).toEqual(due.subarray(128, 512))
})

test('one applies to all experts', async () => {
  expect(await readScaled(Float32Array.of(2), 0, COUNT)).toEqual(stored.map((value) => 2 * value))
})

test('any other number of scales is a format error', () => {
  expect(() => scaleTensors(new Map([EXPERTS, scalesOf(Float32Array.of(1, 2))]))).toThrow(
    /blk.0.ffn_up_exps.weight.*F32 \[2\] but must be F32 \[1\] or \[3\]/,
  )
})

test('matrices of other types keep their scales as a separate tensor', () => {
  const [name, experts] = EXPERTS
  const scales = scalesOf(FACTORS)
  const all = scaleTensors(new Map([[name, { ...experts, dtype: 'MXFP4' }], scales]))
  expect([...all.keys()]).toEqual([name, scales[0]])
})
