import { describe, expect, test } from 'vitest'
import { openModel } from '../../src/core/arch/open-model.ts'
import { bufferSource } from '../../src/core/base/bytes.ts'
import { isHalfbyteError } from '../../src/core/base/errors.ts'
import { writePack } from '../../src/core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../src/engine/load/pack-model.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { fixture } from '../helpers/fixture.ts'
import { ggufFile, hubFolder, safetensorsFiles } from './testing/model-files.ts'
import {
  type BuildOptions,
  largestDifference,
  logitsOf,
  openEngine,
  relativeError,
  withBuilt,
  withModel,
} from './testing/node-engine.ts'
import { type RandomModel, randomLlama } from './testing/random-llama.ts'
import { referenceLogits } from './testing/reference-model.ts'
import {
  ALPHA,
  ggufLora,
  type Lora,
  mergedModel,
  mergedTensor,
  peftFiles,
  randomLora,
  withMagnitudes,
} from './testing/writers/lora-files.ts'
import { gptqTensors, intMatrix, intValues } from './testing/writers/quantized-tensors.ts'
import type { RandomTensor } from './testing/writers/random-tensor.ts'
import type { StoredTensor } from './testing/writers/safetensors-writer.ts'

const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const RANK = 4
const MODEL = randomLlama({ seed: 12, headDim: 32 })
const EVERY = /proj\.weight$/
const LORA = randomLora(MODEL.weights, EVERY, RANK, 5)
const HEAD_DIM = MODEL.config.head_dim

const logits = (files: readonly File[], options: BuildOptions = {}) =>
  withBuilt(files, options, (built) => logitsOf(built, TOKENS))
const adapted = (files: readonly File[], lora: readonly File[], options: BuildOptions = {}, scale = 1) =>
  logits(files, { ...options, lora: [{ source: lora, scale }] })

async function failure(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'no error'
  } catch (error) {
    return isHalfbyteError(error) ? `${error.code}: ${error.message}` : String(error)
  }
}

describe('a float model with an adapter has the logits of the merged one', () => {
  const right = referenceLogits(mergedModel(MODEL, LORA, ALPHA / RANK), TOKENS)

  test('and not those of the model without the adapter', () => {
    expect(relativeError(referenceLogits(MODEL, TOKENS), right)).toBeGreaterThan(0.1)
  })

  test.each([
    ['safetensors', 'PEFT'],
    ['safetensors', 'GGUF'],
    ['GGUF', 'PEFT'],
    ['GGUF', 'GGUF'],
  ] as const)('%s with an adapter in %s', async (form, kind) => {
    const files = form === 'GGUF' ? [await ggufFile(MODEL)] : safetensorsFiles(MODEL)
    const lora = kind === 'GGUF' ? [await ggufLora(LORA, HEAD_DIM)] : peftFiles(LORA)
    expect(largestDifference(await adapted(files, lora), right)).toBeLessThan(1e-4)
  })

  test.each(['F16', 'BF16'] as const)('%s, rounded to that precision', async (dtype) => {
    const merged = mergedModel(MODEL, LORA, ALPHA / RANK)
    const limit = relativeError(await logits(safetensorsFiles(merged, dtype)), right)
    const rows = await adapted(safetensorsFiles(MODEL, dtype), peftFiles(LORA))
    // The engine rounds the sum with the base, which was already rounded.
    expect(relativeError(rows, right)).toBeLessThan(2 * limit)
  })

  test('rank-stabilised, and once more with a scale of -0.5', async () => {
    const rows = await logits(safetensorsFiles(MODEL), {
      lora: [1, -0.5].map((scale) => ({ source: peftFiles(LORA, { use_rslora: true }), scale })),
    })
    const half = referenceLogits(mergedModel(MODEL, LORA, ALPHA / Math.sqrt(RANK) / 2), TOKENS)
    expect(largestDifference(rows, half)).toBeLessThan(1e-4)
  })

  test.each(['safetensors', 'GGUF'] as const)('DoRA, on %s', async (form) => {
    const dora = withMagnitudes(LORA, 3)
    const files = form === 'GGUF' ? [await ggufFile(MODEL)] : safetensorsFiles(MODEL)
    const lora = peftFiles(dora, { use_dora: true })
    const whole = referenceLogits(mergedModel(MODEL, dora, ALPHA / RANK), TOKENS)
    expect(relativeError(right, whole)).toBeGreaterThan(0.1)
    expect(largestDifference(await adapted(files, lora), whole)).toBeLessThan(1e-4)
    const half = referenceLogits(mergedModel(MODEL, dora, ALPHA / RANK / 2), TOKENS)
    expect(largestDifference(await adapted(files, lora, {}, 0.5), half)).toBeLessThan(1e-4)
  })

  test("DoRA after LoRA scales LoRA's sum, by lengths computed without LoRA", async () => {
    const dora = withMagnitudes(randomLora(MODEL.weights, EVERY, RANK, 9), 4)
    const lora = [
      { source: peftFiles(LORA), scale: 1 },
      { source: peftFiles(dora, { use_dora: true }), scale: 1 },
    ]
    const scale = ALPHA / RANK
    const weights = new Map(
      [...MODEL.weights].map(([name, base]) => {
        const [first, second] = [LORA.get(name), dora.get(name)]
        if (first === undefined || second === undefined) return [name, base] as const
        const alone = mergedTensor(base, second, scale)
        const both = mergedTensor(mergedTensor(base, first, scale), { a: second.a, b: second.b }, scale)
        const plain = mergedTensor(base, { a: second.a, b: second.b }, scale)
        const values = both.values.map((value, at) => value * (alone.values[at]! / plain.values[at]!))
        return [name, { ...base, values }] as const
      }),
    )
    const wanted = referenceLogits({ ...MODEL, weights }, TOKENS)
    expect(largestDifference(await logits(safetensorsFiles(MODEL), { lora }), wanted)).toBeLessThan(1e-3)
  })

  test('a family whose GGUF keeps the row order within a head', async () => {
    const model = randomLlama({ seed: 13, family: 'qwen2' })
    const lora = randomLora(model.weights, EVERY, 8, 6)
    const file = [await ggufLora(lora, model.config.head_dim, 'qwen2')]
    const wanted = referenceLogits(mergedModel(model, lora, ALPHA / 8), TOKENS)
    for (const files of [[await ggufFile(model)], safetensorsFiles(model)]) {
      expect(largestDifference(await adapted(files, file), wanted)).toBeLessThan(1e-4)
    }
  })

  test('through the engine', async () => {
    const engine = await openEngine(safetensorsFiles(MODEL), {
      lora: [{ source: peftFiles(LORA), scale: 1 }],
    })
    const plain = await openEngine(safetensorsFiles(mergedModel(MODEL, LORA, ALPHA / RANK)))
    try {
      const [text, wanted] = await Promise.all(
        [engine, plain].map((each) => each.complete('ab', { maxTokens: 20, temperature: 0 }).text()),
      )
      expect(text).toBe(wanted)
    } finally {
      await Promise.all([engine.dispose(), plain.dispose()])
    }
  })
})

describe('a quantised model', () => {
  const names = [...MODEL.weights.keys()].filter((name) => EVERY.test(name))
  const tensors: Record<string, StoredTensor> = {}
  const values = new Map<string, RandomTensor>()
  for (const [index, [name, tensor]] of [...MODEL.weights].entries()) {
    const { shape } = tensor
    const matrix = intMatrix(shape[0] ?? 0, shape[1] ?? 32, { seed: index, size: 0.015 })
    if (names.includes(name)) Object.assign(tensors, gptqTensors(name.replace(/\.weight$/, ''), matrix))
    else tensors[name] = { dtype: 'F32', shape, data: new Uint8Array(tensor.values.slice().buffer) }
    values.set(name, names.includes(name) ? { shape, values: intValues(matrix) } : tensor)
  }
  const quantization_config = { quant_method: 'gptq', bits: 4, group_size: 32, sym: true, desc_act: false }
  const files = hubFolder({ ...MODEL.config, quantization_config }, tensors)
  const plain: RandomModel = { config: MODEL.config, weights: values }
  // An adapter for only some matrices of a layer, which is common in training.
  const some: Lora = randomLora(MODEL.weights, /(q|v|up|down)_proj\.weight$/, RANK, 7)
  const merged = mergedModel(plain, some, ALPHA / RANK)

  test("keeps the adapter's changes, in 8 bits", async () => {
    const right = referenceLogits(merged, TOKENS)
    expect(relativeError(await adapted(files, peftFiles(some)), right)).toBeLessThan(0.03)
    expect(largestDifference(await adapted(files, peftFiles(some), { weights: 'f32' }), right)).toBeLessThan(
      1e-4,
    )
  })

  test("gives rows DoRA's lengths after dequantisation", async () => {
    const dora = withMagnitudes(some, 8)
    const right = referenceLogits(mergedModel(plain, dora, ALPHA / RANK), TOKENS)
    const lora = peftFiles(dora, { use_dora: true })
    expect(largestDifference(await adapted(files, lora, { weights: 'f32' }), right)).toBeLessThan(1e-4)
    expect(relativeError(await adapted(files, lora), right)).toBeLessThan(0.03)
  })

  test('gives the same logits as a pack', async () => {
    const prepared = await prepareModel(await openModel(files.map((file) => sourceOf(file))), {
      weights: 'auto',
    })
    const chunks: Uint8Array<ArrayBuffer>[] = []
    for await (const chunk of writePack(await packContents(prepared))) chunks.push(new Uint8Array(chunk))
    const pack = new File(chunks, 'model.hbm')
    expect(
      largestDifference(await adapted([pack], peftFiles(some)), await adapted(files, peftFiles(some))),
    ).toBe(0)
  })

  function sourceOf(file: File) {
    return {
      name: file.name,
      size: file.size,
      read: async (offset: number, length: number) =>
        new Uint8Array(await file.slice(offset, offset + length).arrayBuffer()),
    }
  }
})

describe('an adapter that does not fit', () => {
  const files = safetensorsFiles(MODEL)
  const [weights, config] = peftFiles(LORA) as [File, File]
  const other = randomLlama({ seed: 1, headDim: 16 })
  const name = 'model.layers.0.self_attn.q_proj.weight'
  const pair = LORA.get(name)!
  const only = (key: string, a = pair.a, b = pair.b): File[] => peftFiles(new Map([[key, { a, b }]]))
  const narrow = { shape: [128, 3], values: new Float32Array(384) }

  test.each([
    [
      'for another size',
      peftFiles(randomLora(other.weights, EVERY, RANK, 1)),
      /^architecture: .*\[64, 64\].*\[128, 128\]/,
    ],
    [
      'for another family',
      only('model.layers.0.mixer.in_proj.weight'),
      /^architecture: .*changes 1 tensors .*such as "model.layers.0.mixer/,
    ],
    ['for more layers', only('model.layers.7.self_attn.q_proj.weight'), /^architecture: .*layers.7/],
    ['whose ranks differ', only(name, pair.a, narrow), /^format: .*A \[4,128\] and B \[128,3\]/],
    [
      'whose rank differs from its configuration',
      peftFiles(LORA, { r: 8 }),
      /^format: .*q_proj" is 4 but r is 8/,
    ],
    ['whose magnitudes are missing', peftFiles(LORA, { use_dora: true }), /^format: .*has no magnitude/],
    ['that is not LoRA', peftFiles(LORA, { peft_type: 'IA3' }), /^unsupported: .*IA3/],
    ['without its configuration', [weights], /^format: .*adapter_config.json/],
    ['without its weights', [config], /^format: .*adapter_model.safetensors/],
    ['cut off', [new File([weights.slice(0, weights.size - 4)], weights.name), config], /^format: /],
  ])('%s', async (_, lora, message) => {
    expect(await failure(adapted(files, lora))).toMatch(message)
  })

  test('a GGUF of another architecture, and a GGUF that is a model', async () => {
    expect(await failure(adapted(files, [await ggufLora(LORA, HEAD_DIM, 'qwen2')]))).toMatch(
      /^architecture: .*qwen2/,
    )
    expect(await failure(adapted(files, [await ggufFile(MODEL)]))).toMatch(/^unsupported: .*a model/)
  })
})

test("stories260k, merged while loading, has the merged model's logits", async () => {
  const model = await openModel([bufferSource('stories.gguf', fixture('stories260k/stories260K-f32.gguf'))])
  const weights = new Map<string, RandomTensor>()
  for (const { name, shape, source, offset, byteLength } of model.tensors.values()) {
    const bytes = await source.read(offset, byteLength)
    weights.set(name, { shape, values: new Float32Array(Uint8Array.from(bytes).buffer) })
  }
  const pairs = randomLora(weights, /^blk\..*(attn_[qkv]|attn_output|ffn_\w+)\.weight$/, RANK, 8)
  expect(pairs.size).toBe(35)
  const tensors = new Map(model.tensors)
  for (const [name, pair] of pairs) {
    const { values } = mergedTensor(weights.get(name)!, pair, ALPHA / RANK)
    const source = bufferSource('merged', new Uint8Array(values.buffer))
    tensors.set(name, { ...model.tensors.get(name)!, source, offset: 0 })
  }
  const tokens = TOKENS.map((id) => id + 100)
  const [merged, bare] = await Promise.all(
    [{ ...model, tensors }, model].map((file) => withModel(file, {}, (built) => logitsOf(built, tokens))),
  )
  // Its names and row order already are GGUF's.
  const lora = [{ source: [await ggufLora(pairs, 8, 'llama')], scale: 1 }]
  const rows = await withModel(model, { lora }, (built) => logitsOf(built, tokens))
  expect(largestDifference(rows, merged!)).toBeLessThan(1e-4)
  expect(relativeError(bare!, merged!)).toBeGreaterThan(0.1)
})
