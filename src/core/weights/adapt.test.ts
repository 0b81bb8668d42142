// Tests forged adapters. In: a tiny model, and LoRA files with one defect that no trainer produces, through
// the real load. Out: a typed error that names the defect, or the documented result.
import { describe, expect, test } from 'vitest'
import { safetensorsFiles } from '../../../test/conformance/testing/model-files.ts'
import {
  largestDifference,
  logitsOf,
  openEngine,
  withBuilt,
} from '../../../test/conformance/testing/node-engine.ts'
import { randomLlama } from '../../../test/conformance/testing/random-llama.ts'
import { ggufBytes } from '../../../test/conformance/testing/writers/gguf-writer.ts'
import { safetensorsBytes } from '../../../test/conformance/testing/writers/safetensors-writer.ts'
import { endOf } from '../../engine/api/testing/forged.ts'
import { isHalfbyteError } from '../base/errors.ts'
import type { WeightPolicy } from './policy.ts'

const MODEL = randomLlama({ seed: 21, headDim: 32, layers: 1 })
const MATRIX = { hub: 'model.layers.0.mlp.up_proj', gguf: 'blk.0.ffn_up.weight' }
const [OUTPUTS, INPUTS] = MODEL.weights.get(`${MATRIX.hub}.weight`)!.shape as [number, number]
const RANK = 2
const KINDS = ['PEFT', 'GGUF'] as const
type Kind = (typeof KINDS)[number]

interface Half {
  readonly shape: readonly number[]
  readonly values: Float32Array
}

/** The changes that a test makes to a valid adapter. */
interface Forgery {
  readonly a?: Half | undefined
  readonly b?: Half | undefined
  readonly alpha?: number
  readonly lacks?: 'A' | 'B' | 'both'
  /** Names of additional tensors that have the same values as A. */
  readonly more?: readonly string[]
  /** Additional tensors, by the suffix after the matrix's name. */
  readonly others?: Readonly<Record<string, Half>>
  /** Another name for the matrix. */
  readonly matrix?: string
  readonly settings?: object
}

const half = (rows: number, columns: number, value: (at: number) => number = (at) => Math.sin(at)): Half => ({
  shape: [rows, columns],
  values: Float32Array.from({ length: rows * columns }, (_, at) => value(at)),
})
const good = { a: half(RANK, INPUTS), b: half(OUTPUTS, RANK) }
const withValue = (one: Half, at: number, value: number): Half => ({
  ...one,
  values: one.values.with(at, value),
})

async function adapterOf(kind: Kind, forgery: Forgery): Promise<File[]> {
  const { a = good.a, b = good.b, alpha = RANK, lacks, more = [], others = {}, settings } = forgery
  const matrix = forgery.matrix ?? (kind === 'PEFT' ? `base_model.model.${MATRIX.hub}` : MATRIX.gguf)
  const names =
    kind === 'PEFT' ? { A: '.lora_A.weight', B: '.lora_B.weight' } : { A: '.lora_a', B: '.lora_b' }
  const halves = [
    ...(lacks === 'A' || lacks === 'both' ? [] : [[names.A, a] as const]),
    ...(lacks === 'B' || lacks === 'both' ? [] : [[names.B, b] as const]),
  ]
  const further = [...more.map((name) => [name, a] as const), ...Object.entries(others)]
  const tensors = [...halves, ...further].map(([name, { shape, values }]) => ({
    name: matrix + name,
    dtype: 'F32' as const,
    shape,
    bytes: new Uint8Array(values.slice().buffer),
  }))
  if (kind === 'GGUF') {
    const metadata = {
      'general.architecture': ['string', 'llama'],
      'general.type': ['string', 'adapter'],
      'adapter.type': ['string', 'lora'],
      'adapter.lora.alpha': ['f32', alpha],
    } as const
    const bytes = await ggufBytes({
      metadata,
      tensors: tensors.map((one) => ({ ...one, data: () => [one.bytes] })),
    })
    return [new File([bytes.slice()], 'forged.gguf')]
  }
  const stored = tensors.map(({ name, bytes, ...one }) => [name, { ...one, data: bytes }] as const)
  const config = { peft_type: 'LORA', r: a.shape[0], lora_alpha: 'alpha', bias: 'none', ...settings }
  // Python writes numbers that JSON lacks.
  const text = JSON.stringify(config).replace('"alpha"', String(alpha))
  return [
    new File([safetensorsBytes(Object.fromEntries(stored)).slice()], 'adapter_model.safetensors'),
    new File([text], 'adapter_config.json'),
  ]
}

const load = async (
  kind: Kind,
  forgery: Forgery,
  { scale = 1, weights = 'auto' as WeightPolicy, dtype = 'F32' as 'F32' | 'F16' | 'BF16' } = {},
): Promise<string> => {
  const source = await adapterOf(kind, forgery)
  const engine = await openEngine(safetensorsFiles(MODEL, dtype), { weights, lora: [{ source, scale }] })
  try {
    return await engine.complete('ab', { maxTokens: 4, temperature: 0 }).text()
  } finally {
    await engine.dispose()
  }
}

async function failure(work: Promise<unknown>): Promise<string> {
  try {
    return `no error: ${await work}`
  } catch (error) {
    return isHalfbyteError(error) ? `${error.code}: ${error.message}` : `untyped: ${error}`
  }
}

describe.each(KINDS)('a forged adapter in %s', (kind) => {
  const named = (letter: 'A' | 'B') =>
    kind === 'PEFT' ? `lora_${letter}.weight` : `lora_${letter.toLowerCase()}`

  test('is compared with a valid one, which loads', async () => {
    expect(await endOf(() => load(kind, {}))).toBe('result')
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'with a value of %d is rejected with the name of its tensor, in every encoding',
    async (value) => {
      for (const weights of ['auto', 'f32', 'w8', 'w4', 'w4_channel'] as const) {
        const inA = () => load(kind, { a: withValue(good.a, INPUTS + 3, value) }, { weights })
        const inB = () => load(kind, { b: withValue(good.b, 5, value) }, { weights })
        expect(await failure(inA())).toMatch(new RegExp(`^format: .*${named('A')}" contains ${value}`))
        expect(await failure(inB())).toMatch(new RegExp(`^format: .*${named('B')}" contains ${value}`))
      }
    },
  )

  test('with a NaN is rejected even if B and the scale are zero', async () => {
    const forgery = { a: withValue(good.a, 0, Number.NaN), b: half(OUTPUTS, RANK, () => 0) }
    expect(await failure(load(kind, forgery))).toMatch(/^format: .* contains NaN/)
    expect(await failure(load(kind, forgery, { scale: 0 }))).toMatch(/^format: .* contains NaN/)
  })

  test.each([
    ['rank 0', { a: half(0, INPUTS), b: half(OUTPUTS, 0) }, /^format: /],
    [
      'a rank beyond both sides of the matrix',
      { a: half(600, INPUTS), b: half(OUTPUTS, 600) },
      /^unsupported: .*rank 600/,
    ],
    ['ranks that differ', { b: half(OUTPUTS, RANK + 1) }, /^format: .*whose ranks differ/],
    ['A turned', { a: half(INPUTS, RANK) }, /^format: .*whose ranks differ/],
    ['one dimension', { a: { ...good.a, shape: [RANK * INPUTS] } }, /^format: .*whose ranks differ/],
    ['other inputs', { a: half(RANK, INPUTS / 2) }, /^architecture: .*a different model/],
    ['other outputs', { b: half(OUTPUTS * 2, RANK) }, /^architecture: .*a different model/],
    ['A without B', { lacks: 'B' }, /^format: .* has A but no B/],
    ['B without A', { lacks: 'A' }, /^format: .* has B but no A/],
    [
      'a matrix that the model lacks',
      { matrix: 'base_model.model.other' },
      /^architecture: .*a different model/,
    ],
    [
      'the name of a property that every object has',
      { matrix: '__proto__' },
      /^(architecture|unsupported|format): /,
    ],
  ] satisfies [string, Forgery, RegExp][])('with %s is rejected', async (_, forgery, message) => {
    expect(await failure(load(kind, forgery))).toMatch(message)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    'with alpha %d is rejected',
    async (alpha) => {
      expect(await failure(load(kind, { alpha }))).toMatch(/^format: .*(scale|lora_alpha)/)
    },
  )

  test('whose product of scales overflows is rejected', async () => {
    expect(await failure(load(kind, { alpha: 1e30 }, { scale: 1e300 }))).toMatch(
      /^unsupported: .*smaller scale/,
    )
  })

  test.each([
    ['F32', 1e38],
    ['F32', 1e18],
    ['BF16', 1e38],
    ['F16', 1e5],
  ] as const)('that makes %s as large as %d is rejected with the name of the matrix', async (dtype, size) => {
    const forgery = { a: half(RANK, INPUTS, () => 10), b: half(OUTPUTS, RANK, () => size) }
    expect(await failure(load(kind, forgery, { dtype }))).toMatch(
      /^unsupported: .*up_proj.*the limit is 65504/,
    )
  })

  test('with values that quantised codes cannot represent causes an error', async () => {
    for (const weights of ['w8', 'w4', 'w4_channel'] as const) {
      const forgery = { a: half(RANK, INPUTS, () => 1e4), b: half(OUTPUTS, RANK, () => 1e4) }
      expect(await failure(load(kind, forgery, { weights }))).toMatch(/^(unsupported|format): .*up_proj/)
    }
  })
})

const rowsOf = async (lora: readonly File[]) =>
  withBuilt(safetensorsFiles(MODEL), { lora: [{ source: lora, scale: 1 }] }, (built) =>
    logitsOf(built, [1, 2, 3]),
  )

test('alpha 0 means what it means in each program: no change in PEFT, scale 1 in llama.cpp', async () => {
  const bare = await withBuilt(safetensorsFiles(MODEL), {}, (built) => logitsOf(built, [1, 2, 3]))
  const whole = await rowsOf(await adapterOf('PEFT', {}))
  expect(largestDifference(await rowsOf(await adapterOf('PEFT', { alpha: 0 })), bare)).toBe(0)
  expect(largestDifference(await rowsOf(await adapterOf('GGUF', { alpha: 0 })), whole)).toBe(0)
  expect(largestDifference(whole, bare)).toBeGreaterThan(0)
})

describe('only of PEFT', () => {
  test('two adapters in one file are rejected with their names', async () => {
    expect(await failure(load('PEFT', { more: ['.lora_A.second.weight'] }))).toMatch(
      /^format: .*has A twice, as ".*lora_A.weight" and as ".*lora_A/,
    )
  })

  test.each([
    { use_dora: true },
    { alora_invocation_tokens: [1, 2] },
    { layer_replication: [[0, 1]] },
    { alpha_pattern: { up_proj: '3' } },
    { alpha_pattern: { '(': 3 } },
    { alpha_pattern: [3] },
    { rank_pattern: { up_proj: 3 } },
    { init_lora_weights: 'pissa_niter_4' },
    { init_lora_weights: 'OLoRA' },
    { target_parameters: ['experts.gate_up_proj'] },
    { trainable_token_indices: [3] },
    { use_qalora: true },
    { peft_type: '__proto__' },
    { r: Number.MAX_SAFE_INTEGER },
    { lora_alpha: '6' },
    { lora_alpha: null },
  ])('the settings %j are rejected', async (settings) => {
    expect(await failure(load('PEFT', { settings }))).toMatch(/^(unsupported|format): /)
  })

  const lengths = (count: number, value = 1): Half => ({
    shape: [count],
    values: new Float32Array(count).fill(value),
  })
  const whole = half(OUTPUTS, INPUTS)

  test.each([
    ['a magnitude without DoRA', {}, { '.lora_magnitude_vector': lengths(OUTPUTS) }, /^format: .*use_dora/],
    [
      'magnitudes of another matrix',
      { use_dora: true },
      { '.lora_magnitude_vector': lengths(OUTPUTS - 1) },
      /^architecture: .*a different model/,
    ],
    [
      'magnitudes as a matrix',
      { use_dora: true },
      { '.lora_magnitude_vector': half(OUTPUTS, 1) },
      /^architecture: .*a different model/,
    ],
    [
      'a magnitude that is not a number',
      { use_dora: true },
      { '.lora_magnitude_vector': lengths(OUTPUTS, Number.NaN) },
      /^format: .* contains NaN/,
    ],
    [
      'lengths that do not fit any matrix',
      { use_dora: true },
      { '.lora_magnitude_vector': lengths(OUTPUTS, 1e30) },
      /^unsupported: .*the limit is 65504/,
    ],
    [
      'two magnitudes',
      { use_dora: true },
      { '.lora_magnitude_vector': lengths(OUTPUTS), '.lora_magnitude_vector.weight': lengths(OUTPUTS) },
      /^format: .*twice/,
    ],
    [
      'a bias of B for a model without biases',
      {},
      { '.lora_B.bias': lengths(OUTPUTS) },
      /^architecture: .*bias/,
    ],
    ['a whole matrix with a different size', {}, { '.weight': half(OUTPUTS + 1, INPUTS) }, /^architecture: /],
    [
      'a whole matrix that belongs to no module',
      {},
      { '.other.weight': whole },
      /^architecture: .*model does not have/,
    ],
    ['trained tokens', {}, { '.token_adapter.trainable_tokens_delta': whole }, /^unsupported: .*it changes/],
  ] satisfies [string, object, Record<string, Half>, RegExp][])(
    '%s: refused',
    async (_, settings, others, message) => {
      expect(await failure(load('PEFT', { settings, others }))).toMatch(message)
    },
  )

  test('a row of zeros cannot be scaled to a length', async () => {
    const weights = new Map(MODEL.weights)
    const name = `${MATRIX.hub}.weight`
    const zeros = { shape: [OUTPUTS, INPUTS], values: new Float32Array(OUTPUTS * INPUTS) }
    const source = await adapterOf('PEFT', {
      b: half(OUTPUTS, RANK, () => 0),
      others: { '.lora_magnitude_vector': lengths(OUTPUTS) },
      settings: { use_dora: true },
    })
    const files = safetensorsFiles({ ...MODEL, weights: weights.set(name, zeros) })
    const opening = openEngine(files, { lora: [{ source, scale: 1 }] })
    expect(await failure(opening)).toMatch(/^format: .*scales row 0 .*all zeros/)
  })

  test('a whole matrix is accepted only with scale 1, and only from one adapter', async () => {
    const forgery = { lacks: 'both', others: { '.weight': whole } } as const
    expect(await endOf(() => load('PEFT', forgery))).toBe('result')
    expect(await failure(load('PEFT', forgery, { scale: 0.5 }))).toMatch(/^unsupported: .*with scale 1/)
    const lora = [1, 1].map(async (scale) => ({ source: await adapterOf('PEFT', forgery), scale }))
    const opening = openEngine(safetensorsFiles(MODEL), { lora: await Promise.all(lora) })
    expect(await failure(opening)).toMatch(/^unsupported: .*another adapter has .*up_proj/)
  })
})
