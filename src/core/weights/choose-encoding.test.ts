// Tests the weight policies. In: policy, role, dtypes. Out: the encoding that the policy documents.
import { expect, test } from 'vitest'
import { matrixBytes } from '../abi/encodings.ts'
import { joinBytes } from '../base/bytes.ts'
import { sha256 } from '../base/sha256.ts'
import { BLOCKS } from '../formats/dtypes.ts'
import { codingOf } from '../formats/gguf/group-readers.ts'
import { CODED_DTYPES, randomBlocks } from '../formats/testing/random-blocks.ts'
import { AUTO_VERSION, chooseEncoding } from './choose-encoding.ts'
import { packRows } from './slabs.ts'

test('auto keeps the precision of the file', () => {
  const chosen = (['F32', 'F16', 'BF16', 'Q8_0', 'Q4_0', 'Q4_1'] as const).map((dtype) =>
    chooseEncoding('auto', 'matrix', [dtype]),
  )
  expect(chosen).toEqual(['f32', 'f16', 'bf16', 'w8_g32', 'w4_g32', 'w4m_g32'])
})

test('GGUF types whose codes fit 4 bits stay in 4 bits', () => {
  for (const dtype of ['Q1_0', 'Q2_0'] as const)
    expect(chooseEncoding('w4', 'matrix', [dtype])).toBe('w4_g32')
  for (const dtype of ['Q4_K', 'IQ3_S', 'IQ1_S'] as const)
    expect(chooseEncoding('w4', 'matrix', [dtype])).toBe('w4m_g32')
  for (const dtype of ['IQ2_XXS', 'IQ3_XXS'] as const) {
    expect(chooseEncoding('auto', 'matrix', [dtype])).toBe('w8_g32')
    expect(chooseEncoding('w4', 'matrix', [dtype])).toBe('w4m_g32')
    expect(chooseEncoding('w4', 'table', [dtype])).toBe('w8_g32')
  }
  for (const dtype of ['IQ2_XS', 'IQ1_M', 'NVFP4', 'Q8_1'] as const) {
    expect(chooseEncoding('auto', 'matrix', [dtype])).toBe('w8_g32')
    expect(chooseEncoding('w4', 'matrix', [dtype])).toBe('w4_g32')
  }
})

test('vectors and the f32 policy are f32', () => {
  expect(chooseEncoding('w4', 'vector', ['F16'])).toBe('f32')
  expect(chooseEncoding('f32', 'matrix', ['Q4_0'])).toBe('f32')
})

test('w8 and w4 quantise matrices with more bits and leave the others unchanged', () => {
  expect(chooseEncoding('w8', 'matrix', ['BF16'])).toBe('w8_g32')
  expect(chooseEncoding('w8', 'matrix', ['Q8_0'])).toBe('w8_g32')
  expect(chooseEncoding('w8', 'matrix', ['Q4_1'])).toBe('w4m_g32')
  expect(chooseEncoding('w4', 'matrix', ['F16'])).toBe('w4_g32')
  expect(chooseEncoding('w4', 'matrix', ['Q8_0'])).toBe('w4_g32')
  expect(chooseEncoding('w4', 'matrix', ['Q4_0'])).toBe('w4_g32')
})

test('a large table of rows gets 4 bits if matrices do, but always in groups', () => {
  for (const policy of ['w4', 'w4_channel'] as const) {
    expect(chooseEncoding(policy, 'rows', ['BF16'])).toBe('w4_g32')
    expect(chooseEncoding(policy, 'rows', ['Q8_0'])).toBe('w4_g32')
    expect(chooseEncoding(policy, 'rows', ['Q4_K'])).toBe('w4m_g32')
  }
  expect(chooseEncoding('w8', 'rows', ['BF16'])).toBe('w8_g32')
  expect(chooseEncoding('auto', 'rows', ['Q8_0'])).toBe('w8_g32')
})

test('w4_channel requantises every matrix and leaves tables in 8 bits', () => {
  for (const dtype of ['F16', 'Q8_0', 'Q4_0', 'Q4_1'] as const)
    expect(chooseEncoding('w4_channel', 'matrix', [dtype])).toBe('w4_channel')
  expect(chooseEncoding('w4_channel', 'table', ['F16'])).toBe('w8_g32')
  expect(chooseEncoding('w4_channel', 'table', ['Q4_0'])).toBe('w4_g32')
  expect(chooseEncoding('w4_channel', 'vector', ['F32'])).toBe('f32')
})

test('the embedding and the logits matrix get 8 bits unless the file has 4', () => {
  expect(chooseEncoding('w4', 'table', ['F16'])).toBe('w8_g32')
  expect(chooseEncoding('w4', 'table', ['Q8_0'])).toBe('w8_g32')
  expect(chooseEncoding('w4', 'table', ['Q4_0'])).toBe('w4_g32')
})

test('merged parts with different dtypes get an encoding that can represent both', () => {
  expect(chooseEncoding('auto', 'matrix', ['Q4_0', 'Q4_0', 'Q8_0'])).toBe('w8_g32')
  expect(chooseEncoding('auto', 'matrix', ['Q4_0', 'Q4_1'])).toBe('w4m_g32')
  expect(chooseEncoding('auto', 'matrix', ['F16', 'BF16'])).toBe('f32')
  expect(chooseEncoding('w4', 'matrix', ['F16', 'Q4_0'])).toBe('w4_g32')
  expect(chooseEncoding('w8', 'matrix', ['F32', 'Q8_0'])).toBe('w8_g32')
})

test('ternary types stay in 2 bits, except for tables, which have no 2-bit kernel', () => {
  for (const policy of ['auto', 'w8', 'w4'] as const) {
    expect(chooseEncoding(policy, 'matrix', ['TQ1_0', 'TQ2_0'])).toBe('w2_g256')
    expect(chooseEncoding(policy, 'table', ['TQ2_0'])).toBe('w4_g32')
    expect(chooseEncoding(policy, 'rows', ['TQ2_0'])).toBe('w4_g32')
  }
  expect(chooseEncoding('f32', 'matrix', ['TQ2_0'])).toBe('f32')
  expect(chooseEncoding('w4_channel', 'matrix', ['TQ2_0'])).toBe('w4_channel')
  expect(chooseEncoding('auto', 'matrix', ['TQ2_0', 'Q8_0'])).toBe('f32')
})

test('AUTO_VERSION: when this hash changes, raise it and renew the hash', async () => {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for (const dtype of CODED_DTYPES) {
    const encoding = chooseEncoding('auto', 'matrix', [dtype])
    const source = randomBlocks(dtype, (32 * 256) / BLOCKS[dtype].elements, 3, 0.5)
    const target = new Uint8Array(matrixBytes(encoding, 32, 256))
    packRows({ dtype, coding: codingOf(dtype), encoding, k: 256, rows: 32, source, target })
    parts.push(new TextEncoder().encode(encoding), target)
  }
  expect(AUTO_VERSION).toBe(1)
  expect((await sha256(joinBytes(parts))).slice(0, 16)).toBe('ea65452fe8e7db46')
})
