// Tests coded groups. In: blocks of random bits in every GGUF type. Out: exactly the floats that ggml
// computes from them.
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Coding, codedGroup } from '../coded-group.ts'
import { dequantize } from '../dequantize.ts'
import { BLOCKS, storedRows } from '../dtypes.ts'
import type { CodedDType } from '../tensors.ts'
import { CODED_DTYPES, randomBlocks } from '../testing/random-blocks.ts'
import { codingOf } from './group-readers.ts'

const COUNT = 200
const SEED = 7

/**
 * The first half of the SHA-256 of what ggml's `dequantize_row_*` (llama.cpp, September 2026) returns for the
 * same blocks. ggml has no such function for Q8_1, which is Q8_0 with a sum.
 */
const GGML: Readonly<Record<CodedDType, string>> = {
  Q8_1: '2237cb3d5c8eb0a7e50d80d8474668d2',
  Q5_0: '5bdc103f599411534ac7ef7ef3a946fd',
  Q5_1: '96852175a30bb917ce0dbec94f6e1137',
  Q2_K: '9a945a72e20e96c28304fa065338bfa7',
  Q3_K: 'b1e84e2e2c6e30805ba457aa4d706249',
  Q4_K: '3b7fc688d73e3a8752a530140ffe1801',
  Q5_K: '84cfc64e4340a5e3f09eaae840aa7cf7',
  Q6_K: '2e4aeb4a003af641e0f609f8ac01500e',
  IQ1_S: 'dea168f4d75d93db3ba7efdb3a7b0647',
  IQ1_M: 'fecd2c1a94fbc564f5609d8a0e9b53d8',
  IQ2_XXS: '61ba25dcd5768bf92d869b085b0ac6b4',
  IQ2_XS: '23274e388cf2d5bea27960a7e89f3d35',
  IQ2_S: '12ee057c978d0f15c7544cbb1ad49e65',
  IQ3_XXS: '4426d72e120f78ede514bdab940a0b42',
  IQ3_S: 'a6dbd8b6c27fa3e5631a2e74576f84fc',
  IQ4_NL: 'f9cbd5c7bf8cf6b88a9e92a6e5635eed',
  IQ4_XS: '56d69bf881baea33011eaca70ad840a8',
  Q1_0: '3603069ce4166214723dc8ce6e0ece4a',
  Q2_0: 'e7d285f31a77d819830444cb85e2178e',
  TQ1_0: '6c32776ce359ae5e3c0e68cd5abfed6e',
  TQ2_0: '9244930be0a50ab261fbf96784d2d5ba',
  MXFP4: 'cc5943c4e1d581f25d8a66c280485660',
  NVFP4: '48f8a9a70cc686312be91e00c58def10',
}

test.each(CODED_DTYPES)('%s is dequantised bit for bit', (dtype) => {
  const values = new Float32Array(COUNT * BLOCKS[dtype].elements)
  dequantize(
    storedRows(dtype, randomBlocks(dtype, COUNT, SEED), codingOf(dtype)),
    0,
    values.length,
    values,
    0,
  )
  const hash = createHash('sha256').update(new Uint8Array(values.buffer)).digest('hex')
  expect(hash.slice(0, 32)).toBe(GGML[dtype])
})

test.each(CODED_DTYPES)('%s can be read from any position in its rows', (dtype) => {
  const { elements } = BLOCKS[dtype]
  const rows = storedRows(dtype, randomBlocks(dtype, 4, 3), codingOf(dtype))
  const all = new Float32Array(4 * elements)
  dequantize(rows, 0, all.length, all, 0)
  const part = new Float32Array(2 * elements + 5)
  dequantize(rows, elements, 2 * elements, part, 5)
  expect(part.subarray(5)).toEqual(all.subarray(elements, 3 * elements))
})

test.each(CODED_DTYPES)('%s has a minimum if and only if its type declares one', (dtype) => {
  const { read, hasMinimum } = codingOf(dtype) as Coding
  const rows = storedRows(dtype, randomBlocks(dtype, 50, 11))
  const group = codedGroup()
  let seen = false
  for (let index = 0; index < (50 * BLOCKS[dtype].elements) / 32; index++) {
    read(rows, index, group)
    seen ||= group.minimums.some((minimum) => minimum !== 0)
  }
  expect(seen).toBe(hasMinimum)
})
