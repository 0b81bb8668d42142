// Experts in several dtypes. In: a model whose experts differ in dtype. Out: the logits of the same values in
// one dtype.
import { expect, test } from 'vitest'
import { floatToHalf, halfToFloat } from '../../src/core/base/half.ts'
import { FAMILY_CASES } from './testing/families/family-cases.ts'
import { drawFamily } from './testing/families/family-files.ts'
import { TOKENS } from './testing/families/family-golden.ts'
import { packOf } from './testing/families/matrix-families.ts'
import { hubFolder } from './testing/model-files.ts'
import { type Files, largestDifference, logitsOf, withBuilt } from './testing/node-engine.ts'
import type { StoredTensor } from './testing/writers/safetensors-writer.ts'

const MOE = FAMILY_CASES.find(({ family }) => family === 'qwen3moe')!

/** Weights that F16 can represent, stored in F16 where `isHalf` returns true. */
function filesOf(isHalf: (name: string) => boolean): Files {
  const tensors: Record<string, StoredTensor> = {}
  for (const [name, { shape, values }] of drawFamily(MOE, 1)) {
    const halves = Uint16Array.from(values, floatToHalf)
    const data = isHalf(name) ? halves : Float32Array.from(halves, halfToFloat)
    tensors[name] = { dtype: isHalf(name) ? 'F16' : 'F32', shape, data: new Uint8Array(data.buffer) }
  }
  return hubFolder(MOE.config, tensors)
}

const logits = (files: Files, weights: 'auto' | 'w8' | 'w4_channel' = 'auto') =>
  withBuilt(files, { weights, contextLength: 128 }, (built) => logitsOf(built, TOKENS))

const MIXED = filesOf((name) => /layers\.0.*experts\.[02]\.(gate|down)/.test(name))
const PLAIN = filesOf(() => false)

test('of several dtypes are converted to one dtype without loss', async () => {
  expect(largestDifference(await logits(MIXED), await logits(PLAIN))).toBe(0)
  const pack = await packOf(MIXED, 'auto')
  expect(largestDifference(await logits([pack]), await logits(PLAIN))).toBe(0)
})

test.each(['w8', 'w4_channel'] as const)('are all rounded to %s', async (weights) => {
  expect(largestDifference(await logits(MIXED, weights), await logits(PLAIN, weights))).toBe(0)
})
