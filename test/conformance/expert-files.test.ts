// Files with other layouts of experts and latent attention. In: the same weights in two layouts. Out: the
// same logits.
import { expect, test } from 'vitest'
import { randomFrom } from '../helpers/random.ts'
import { FAMILY_CASES } from './testing/families/family-cases.ts'
import { drawFamily, familyGguf } from './testing/families/family-files.ts'
import { TOKENS } from './testing/families/family-golden.ts'
import type { FamilyCase } from './testing/families/family-tensors.ts'
import { hubFolder, newFile } from './testing/model-files.ts'
import { largestDifference, logitsOf, withBuilt } from './testing/node-engine.ts'
import type { RandomTensor } from './testing/writers/random-tensor.ts'
import type { StoredTensor } from './testing/writers/safetensors-writer.ts'

const caseOf = (family: string): FamilyCase => {
  const found = FAMILY_CASES.find((one) => one.family === family)
  if (found === undefined) throw new Error(`no case covers ${family}`)
  return found
}

const logits = (files: readonly File[]) =>
  withBuilt(files, { contextLength: 128, weights: 'f32' }, (built) => logitsOf(built, TOKENS))

const floats = ({ shape, values }: RandomTensor): StoredTensor => ({
  dtype: 'F32',
  shape,
  data: new Uint8Array(values.slice().buffer),
})

/** The values of MXFP4's codes. */
const LEVELS = [0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6]

test('gpt-oss gives the same logits from MXFP4 and from floats', async () => {
  const one = caseOf('gpt_oss')
  const plain: Record<string, StoredTensor> = {}
  const coded: Record<string, StoredTensor> = {}
  for (const [name, tensor] of drawFamily(one, 7)) {
    const [count = 0, k = 0, n = 0] = tensor.shape
    if (!/experts\.(gate_up|down)_proj$/.test(name)) {
      plain[name] = floats(tensor)
      coded[name] = floats(tensor)
      continue
    }
    // Floats are [inputs, outputs], codes are rows of outputs.
    const random = randomFrom(name)
    const codes = Uint8Array.from({ length: count * n * k }, () => Math.floor(random() * 16))
    const exponents = Uint8Array.from({ length: (count * n * k) / 32 }, () => 122 + Math.floor(random() * 3))
    const valueAt = (at: number) => LEVELS[codes[at]!]! * 2 ** (exponents[Math.floor(at / 32)]! - 127)
    const values = Float32Array.from({ length: codes.length }, (_, i) => {
      const expert = Math.floor(i / (k * n))
      return valueAt((expert * n + (i % n)) * k + (Math.floor(i / n) % k))
    })
    plain[name] = floats({ shape: tensor.shape, values })
    const bytes = Uint8Array.from(
      { length: codes.length / 2 },
      (_, i) => codes[2 * i]! | (codes[2 * i + 1]! << 4),
    )
    coded[`${name}_blocks`] = { dtype: 'U8', shape: [count, n, k / 32, 16], data: bytes }
    coded[`${name}_scales`] = { dtype: 'U8', shape: [count, n, k / 32], data: exponents }
  }
  const quantization_config = { quant_method: 'mxfp4', modules_to_not_convert: ['lm_head'] }
  const right = await logits(hubFolder(one.config, plain))
  expect(Math.max(...right[0]!.map(Math.abs))).toBeGreaterThan(0.1)
  expect(
    largestDifference(await logits(hubFolder({ ...one.config, quantization_config }, coded)), right),
  ).toBe(0)
})

test('DeepSeek gives the same logits if GGUF stores keys and values separately', async () => {
  const one = caseOf('deepseek2')
  const weights = drawFamily(one, 3)
  const {
    qk_nope_head_dim: plain,
    v_head_dim: value,
    kv_lora_rank: rank,
  } = one.config as Record<string, number>
  const { heads } = one.sizes
  const each = plain! + value!
  const apart: FamilyCase = {
    ...one,
    gguf: {
      ...one.gguf,
      pieces(name, { values }) {
        const [, at] = /^(.*)\.self_attn\.kv_b_proj\.weight$/.exec(name) ?? []
        if (at === undefined) return undefined
        const row = (head: number, of: number) => (head * each + of) * rank!
        const keys = Float32Array.from({ length: heads * rank! * plain! }, (_, i) => {
          const head = Math.floor(i / (rank! * plain!))
          return values[row(head, i % plain!) + (Math.floor(i / plain!) % rank!)]!
        })
        const others = Float32Array.from({ length: heads * value! * rank! }, (_, i) => {
          const at = Math.floor(i / rank!)
          return values[row(Math.floor(at / value!), plain! + (at % value!)) + (i % rank!)]!
        })
        return [
          [`${at}.attn_k_b.weight`, { shape: [heads, rank!, plain!], values: keys }],
          [`${at}.attn_v_b.weight`, { shape: [heads, value!, rank!], values: others }],
        ]
      },
      keys: {
        ...one.gguf.keys,
        // The attention keys describe a single head with short rows, which is what llama.cpp computes.
        'attention.head_count_kv': ['u32', 1],
        'attention.key_length': ['u32', rank! + 8],
        'attention.value_length': ['u32', rank!],
        'attention.key_length_mla': ['u32', plain! + 8],
        'attention.value_length_mla': ['u32', value!],
      },
    },
  }
  const file = async (of: FamilyCase) => [newFile('deepseek.gguf', await familyGguf(of, weights))]
  expect(largestDifference(await logits(await file(apart)), await logits(await file(one)))).toBe(0)
})
