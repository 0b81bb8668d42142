// Tests configurations. In: headers of every format, valid and forged. Out: one ModelConfig, or a typed error
// with the numbers.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bufferSource } from '../base/bytes.ts'
import { isHalfbyteError } from '../base/errors.ts'
import type { ModelFile } from '../formats/readers.ts'
import type { MetaValue } from '../formats/tensors.ts'
import type { ModelConfig } from './config/config.ts'
import { FAMILIES, keyShiftOf } from './families.ts'
import { readConfig } from './read-config.ts'
import { inverseFrequencies } from './rope.ts'
import { failureOf, ggufFile, hbmFile, hfFile, SMALL, withTensors } from './testing/files.ts'

const interleaved: ModelConfig = { ...SMALL, rope: { ...SMALL.rope, pairing: 'interleaved' } }
const qwen2: ModelConfig = { ...SMALL, family: 'qwen2', tiedEmbeddings: true }

describe('every format', () => {
  test.each([
    ['GGUF of llama pairs neighbours', ggufFile(interleaved), interleaved],
    ['GGUF of qwen2 pairs halves', ggufFile(qwen2), qwen2],
    ['Hugging Face llama', hfFile(SMALL), SMALL],
    ['Hugging Face qwen2', hfFile(qwen2), qwen2],
    ['Hugging Face without a class', hfFile(SMALL, { architectures: undefined, model_type: 'llama' }), SMALL],
    ['Hugging Face with an empty list', hfFile(qwen2, { architectures: [], model_type: 'qwen2' }), qwen2],
    ['a pack', hbmFile(interleaved), interleaved],
  ])('%s', async (_, file, config) => {
    expect(await readConfig(file)).toEqual(config)
  })

  test('the result is deeply frozen', async () => {
    const config = await readConfig(hfFile(SMALL, { rope_scaling: { type: 'linear', factor: 2 } }))
    expect([config, config.rope, config.rope.scaling].every(Object.isFrozen)).toBe(true)
  })
})

describe('GGUF', () => {
  const read = (changes: Record<string, MetaValue | undefined>) => readConfig(ggufFile(interleaved, changes))

  test('uses llama.cpp’s defaults for keys that a file lacks', async () => {
    const config = await readConfig(
      ggufFile(
        { ...interleaved, kvHeads: 6 },
        {
          'llama.attention.head_count_kv': undefined,
          'llama.rope.freq_base': undefined,
          'llama.rope.dimension_count': undefined,
          'tokenizer.ggml.tokens': undefined,
        },
      ),
    )
    expect(config).toMatchObject({ kvHeads: 6, vocabSize: 70, rope: { theta: 10_000, dims: 8 } })
  })
  test('accepts a number of heads per layer if all are equal', async () => {
    const { layers, heads } = interleaved
    expect(await read({ 'llama.attention.head_count': Array(layers).fill(heads) })).toEqual(interleaved)
    const other = [heads, ...Array(layers - 1).fill(2 * heads)]
    const failure = await failureOf(() => read({ 'llama.attention.head_count': other }))
    expect(failure.message).toMatch(new RegExp(`layers with ${heads} heads and layers with ${2 * heads}`))
  })
  test('accepts heads wider than their share of the hidden size', async () => {
    const wide = { ...interleaved, headDim: 16, rope: { ...interleaved.rope, dims: 16 } }
    const changes = { 'llama.attention.key_length': 16, 'llama.attention.value_length': 16 }
    expect(await readConfig(ggufFile(wide, changes))).toEqual(wide)
  })
  test('reads linear scaling, and RoPE factors from their tensor', async () => {
    const linear = { 'llama.rope.scaling.type': 'linear', 'llama.rope.scaling.factor': 4 }
    expect((await read(linear)).rope.scaling).toEqual({ type: 'linear', factor: 4 })
    const factors = (changes: Record<string, MetaValue>) => {
      const file = withTensors(ggufFile(interleaved, changes), { 'rope_freqs.weight': [4] })
      const info = file.tensors.get('rope_freqs.weight')
      const source = bufferSource('model', new Uint8Array(Float32Array.of(1, 1, 2, 8).buffer))
      const tensors = new Map(file.tensors)
      if (info !== undefined) tensors.set(info.name, { ...info, source })
      return readConfig({ ...file, tensors })
    }
    expect((await factors({})).rope.scaling).toEqual({ type: 'factors', factors: [1, 1, 2, 8] })
    expect((await factors(linear)).rope.scaling).toEqual({ type: 'factors', factors: [4, 4, 8, 32] })
  })
  test.each([
    ['llama.rope.scaling.type', 'dynamic', /RoPE scaling "dynamic"/],
    ['llama.rope.scaling.yarn_attn_factor', 1.5, /rope.scaling.yarn_attn_factor 1.5/],
    ['llama.rope.scaling.yarn_ext_factor', 0.5, /rope.scaling.yarn_ext_factor 0.5/],
    ['llama.rope.scaling.yarn_log_multiplier', 0.1, /rope.scaling.yarn_log_multiplier 0.1/],
    ['llama.rope.scaling.attn_factor', 1.5, /rope.scaling.attn_factor 1.5/],
    ['llama.attention.causal', false, /attention to later positions/],
    ['llama.attention.value_length', 16, /keys of 8 and values of 16/],
  ])('rejects %s %s as unsupported', async (key, value, sentence) => {
    const failure = await failureOf(() => read({ [key]: value }))
    expect(failure).toEqual({ code: 'unsupported', message: expect.stringMatching(sentence) })
  })
})

describe('GGUF’s YaRN', () => {
  const read = (changes: Record<string, MetaValue>) =>
    readConfig(
      ggufFile(interleaved, {
        'llama.rope.scaling.type': 'yarn',
        'llama.rope.scaling.factor': 8,
        ...changes,
      }),
    )
  const plain = 1 + 0.1 * Math.log(8)

  test('gets llama.cpp’s magnitude, whichever way a file states it', async () => {
    const magnitude = async (changes: Record<string, MetaValue>) => {
      const { scaling } = (await read(changes)).rope
      return scaling?.type === 'yarn' ? scaling.magnitude : undefined
    }
    expect(await magnitude({})).toBe(plain)
    expect(await magnitude({ 'llama.rope.scaling.yarn_attn_factor': 1 })).toBe(plain)
    expect(await magnitude({ 'llama.rope.scaling.yarn_attn_factor': Math.fround(plain) })).toBe(plain)
    expect(await magnitude({ 'llama.rope.scaling.attn_factor': 0.5 })).toBe(plain / 2)
  })
  test('is rejected with another', async () => {
    const failure = await failureOf(() => read({ 'llama.rope.scaling.yarn_attn_factor': 1.5 }))
    expect(failure).toEqual({
      code: 'unsupported',
      message: expect.stringMatching(/yarn_attn_factor 1.5, .* 1 or 1.207/),
    })
  })
})

describe('Hugging Face', () => {
  test('gpt-oss uses YaRN if the file does not state a rotation', async () => {
    const file = hfFile(SMALL, { architectures: ['GptOssForCausalLM'], rope_theta: undefined, head_dim: 8 })
    const { rope } = await readConfig(file)
    expect(rope).toMatchObject({ theta: 150_000, scaling: { type: 'yarn', factor: 32, isUnrounded: true } })
  })

  const read = (changes: Record<string, MetaValue | undefined>) => readConfig(hfFile(SMALL, changes))

  test.each([
    [{ num_hidden_layers: 1025 }, 'architecture'],
    [{ num_attention_heads: 1025 }, 'architecture'],
    [{ vocab_size: 2 ** 23 }, 'architecture'],
    [{ intermediate_size: 2 ** 21 }, 'architecture'],
    [{ head_dim: 257 }, 'unsupported'],
  ])('%j is rejected because no model is that large', async (changes, code) => {
    await expect(read(changes)).rejects.toMatchObject({ code })
  })

  test('a Llama ignores windows', async () => {
    expect((await read({ sliding_window: 128 })).window).toBeUndefined()
  })
  test('null does not mean the default of a class', async () => {
    const file = hfFile(SMALL, { architectures: ['MistralForCausalLM'], max_position_embeddings: 8192 })
    const metadata = new Map([...file.metadata, ['unset', ['sliding_window']] as const])
    expect((await readConfig(file)).window).toEqual({ positions: 4096, layers: [0, 1] })
    expect((await readConfig({ ...file, metadata })).window).toBeUndefined()
  })
  test('in SmolLM3, the layers without rotation have the window', async () => {
    const smollm3 = { architectures: ['SmolLM3ForCausalLM'], sliding_window: 64, no_rope_layers: [1, 0] }
    expect((await read(smollm3)).window).toBeUndefined()
    expect((await read({ ...smollm3, use_sliding_window: true })).window).toEqual({
      positions: 64,
      layers: [1],
    })
  })
  test('a Mistral without a window, or with one that covers the context, is a Llama', async () => {
    const mistral = { architectures: ['MistralForCausalLM'] }
    expect((await read(mistral)).family).toBe('llama')
    expect((await read({ ...mistral, sliding_window: 256 })).window).toBeUndefined()
    expect((await read({ ...mistral, sliding_window: 128 })).window).toEqual({
      positions: 128,
      layers: [0, 1],
    })
  })
  test('a Qwen2 may specify a window that it does not use', async () => {
    const read = (changes: Record<string, MetaValue>) =>
      readConfig(hfFile(qwen2, { sliding_window: 64, ...changes }))
    expect((await read({ use_sliding_window: false })).window).toBeUndefined()
    expect((await read({ use_sliding_window: true, max_window_layers: 1 })).window).toEqual({
      positions: 64,
      layers: [1],
    })
  })
  const llama3 = {
    factor: 8,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  }
  const scaling = {
    type: 'llama3',
    factor: 8,
    lowFrequencyFactor: 1,
    highFrequencyFactor: 4,
    originalContextLength: 8192,
  }
  test('reads RoPE scaling under all the names it has had', async () => {
    expect((await read({ rope_scaling: { rope_type: 'llama3', ...llama3 } })).rope.scaling).toEqual(scaling)
    expect((await read({ rope_scaling: { type: 'linear', factor: 2 } })).rope.scaling).toEqual({
      type: 'linear',
      factor: 2,
    })
    expect((await read({ rope_scaling: { rope_type: 'default' } })).rope.scaling).toBeUndefined()
    const version5 = await read({
      rope_theta: undefined,
      rope_parameters: { rope_type: 'llama3', rope_theta: 500_000, ...llama3 },
    })
    expect(version5.rope).toMatchObject({ theta: 500_000, scaling })
    const beside = await read({ rope_theta: 30_000, rope_parameters: { rope_type: 'llama3', ...llama3 } })
    expect(beside.rope).toMatchObject({ theta: 30_000, scaling })
  })
  test("computes YaRN's magnitude from both mscale keys", async () => {
    const magnitude = async (rope: Record<string, MetaValue>) => {
      const { scaling } = (await read({ rope_scaling: { rope_type: 'yarn', factor: 4, ...rope } })).rope
      return scaling?.type === 'yarn' ? scaling.magnitude : undefined
    }
    const plain = 1 + 0.1 * Math.log(4)
    expect(await magnitude({})).toBeCloseTo(plain, 12)
    expect(await magnitude({ mscale: 0.5 })).toBeCloseTo(plain, 12)
    const both = (1 + 0.05 * Math.log(4)) / (1 + 0.08 * Math.log(4))
    expect(await magnitude({ mscale: 0.5, mscale_all_dim: 0.8 })).toBeCloseTo(both, 12)
    expect(await magnitude({ mscale: 0.5, mscale_all_dim: 0.8, attention_factor: 3 })).toBe(3)
  })
  test('reads activations under all their names, and keeps one that differs from the family’s', async () => {
    const of = async (hidden_act: string) => (await read({ hidden_act })).activation
    expect(await of('silu')).toBeUndefined()
    expect(await of('swish')).toBeUndefined()
    expect(await of('gelu')).toBe('gelu_exact')
    expect(await of('gelu_new')).toBe('gelu')
    expect(await of('gelu_pytorch_tanh')).toBe('gelu')
  })
  test('rotates part of each head if the file says so', async () => {
    const phi3 = { architectures: ['Phi3ForCausalLM'] }
    expect((await read({ ...phi3, partial_rotary_factor: 0.5 })).rope.dims).toBe(4)
    expect((await read({ ...phi3, partial_rotary_factor: 0.3 })).rope.dims).toBe(2)
    // Classes without partial rotation ignore this key, unless positions are scaled.
    expect((await read({ partial_rotary_factor: 0.5 })).rope.dims).toBe(8)
    const linear = { rope_type: 'linear', factor: 2, partial_rotary_factor: 0.5 }
    expect((await read({ rope_parameters: linear })).rope.dims).toBe(4)
  })

  test('keeps windows longer than the context if their layers rotate differently', async () => {
    const layers = { sliding_window: 4096, layer_types: ['sliding_attention', 'full_attention'] }
    const gemma3 = { architectures: ['Gemma3ForCausalLM'], ...layers }
    expect((await read(gemma3)).window).toEqual({ positions: 4096, layers: [0] })
    expect((await read({ architectures: ['Gemma2ForCausalLM'], ...layers })).window).toBeUndefined()
  })

  test('does not tie the output matrix of Nemotron-H', async () => {
    const config = { architectures: ['NemotronHForCausalLM'], tie_word_embeddings: true }
    expect((await read({ ...config, layers_block_type: ['mamba', 'attention'] })).tiedEmbeddings).toBe(false)
  })

  test('has biases if the file says so', async () => {
    expect((await read({})).biases).toBeUndefined()
    expect((await read({ attention_bias: true })).biases).toEqual({ qkv: true, output: true })
    expect((await read({ mlp_bias: true })).biases).toEqual({ mlp: true })
    const glm = { architectures: ['GlmForCausalLM'] }
    expect((await read(glm)).biases).toEqual({ qkv: true })
    expect((await read({ ...glm, attention_bias: false })).biases).toBeUndefined()
  })
  test('reads the clipping of queries, keys and values', async () => {
    expect((await read({ clip_qkv: 8 })).qkvLimit).toBe(8)
    expect((await failureOf(() => read({ clip_qkv: -8 }))).message).toMatch(/qkvLimit is -8/)
  })
  test('leaves frequencies unchanged up to the trained length if scaling is dynamic', async () => {
    const { rope } = await read({ rope_scaling: { rope_type: 'dynamic', factor: 4 } })
    expect(rope.scaling).toEqual({ type: 'dynamic', factor: 4, originalContextLength: 256 })
    expect(inverseFrequencies(rope, 256)).toEqual(inverseFrequencies({ ...rope, scaling: undefined }))
    // theta grows to (4 * 2 - 3)^(8 / 6) times its value.
    expect(inverseFrequencies(rope, 512)[1]).toBeCloseTo((20_000 * 5 ** (8 / 6)) ** (-2 / 8), 12)
  })
  test('keeps a window at least as long as the context if its layers rotate differently', async () => {
    const gemma3 = {
      architectures: ['Gemma3ForCausalLM'],
      layer_types: ['sliding_attention', 'full_attention'],
    }
    expect((await read({ ...gemma3, sliding_window: 4096 })).window).toEqual({ positions: 4096, layers: [0] })
    const gemma2 = { ...gemma3, architectures: ['Gemma2ForCausalLM'] }
    expect((await read({ ...gemma2, sliding_window: 4096 })).window).toBeUndefined()
  })
  test('rotates only the first pairs of each head if scaling is proportional', async () => {
    const proportional = { rope_type: 'proportional', partial_rotary_factor: 0.5, factor: 2 }
    const { rope } = await read({ rope_scaling: proportional })
    expect(rope.dims).toBe(8)
    const turned = [...inverseFrequencies(rope)].map((each) => (each < 1e-20 ? 0 : each))
    expect(turned).toEqual([0.5, 20_000 ** (-2 / 8) / 2, 0, 0])
  })
  test.each([
    [{ rope_scaling: { rope_type: 'axial' } }, /RoPE scaling "axial"/],
    [{ architectures: ['Gemma4ForCausalLM'], enable_moe_block: true }, /enable_moe_block true/],
    [{ architectures: ['Gemma4ForCausalLM'], use_bidirectional_attention: 'all' }, /later positions/],
    [
      { architectures: ['Gemma4ForCausalLM'], per_layer_config: { 0: { head_dim: 4 } } },
      /more than one head size/,
    ],
    [
      { architectures: ['Gemma3nForCausalLM'], activation_sparsity_pattern: [0.5, 1] },
      /activation_sparsity_pattern with 1/,
    ],
    [{ hidden_act: 'quick_gelu' }, /activation "quick_gelu"/],
    [{ hidden_act: 'constructor' }, /activation "constructor"/],
    [{ is_causal: false }, /is_causal false/],
    [{ head_dim: 6 }, /headDim 6, .* a multiple of 4 from 4 to 512/],
    [{ head_dim: 516 }, /headDim 516, .* to 512/],
    [
      { architectures: ['Phi3ForCausalLM'], partial_rotary_factor: 0.4 },
      /rope.dims 3, .* a multiple of 2 from 2 to 8/,
    ],
    [{ use_bidirectional_attention: true }, /use_bidirectional_attention true/],
    [{ per_layer_config: { 0: { head_dim: 4 } } }, /per_layer_config/],
    [{ architectures: ['Lfm2ForCausalLM'], conv_bias: true }, /conv_bias true/],
    [
      { architectures: ['Gemma2ForCausalLM'], layer_types: ['chunked_attention', 'full_attention'] },
      /an unknown layer type/,
    ],
    [{ architectures: ['MambaForCausalLM'], hidden_act: 'gelu' }, /activation "gelu"/],
    [{ architectures: ['DeepseekV3ForCausalLM'], attention_bias: true }, /attention_bias true/],
    [{ architectures: ['DeepseekV2ForCausalLM'], topk_method: 'best' }, /topk_method "best"/],
    [{ architectures: ['Ernie4_5_MoeForCausalLM'], moe_norm_min: 0.1 }, /moe_norm_min 0.1/],
    [{ architectures: ['GptOssForCausalLM'], swiglu_alpha: 2 }, /swiglu_alpha 2/],
    [{ architectures: ['PhimoeForCausalLM'], num_experts_per_tok: 3 }, /3 experts a token/],
    [{ architectures: ['Qwen2MoeForCausalLM'], qkv_bias: false }, /qkv_bias false/],
    [
      { architectures: ['GraniteMoeHybridForCausalLM'], num_local_experts: 0, hidden_act: 'gelu' },
      /an activation other than SiLU/,
    ],
    [{ architectures: ['Qwen3_5ForCausalLM'], hidden_act: 'gelu' }, /an activation other than SiLU/],
    [{ architectures: ['HyperCLOVAXForCausalLM'], use_post_norm: false }, /use_post_norm false/],
  ])('rejects %j as unsupported', async (changes, sentence) => {
    const failure = await failureOf(() => read(changes))
    expect(failure).toEqual({ code: 'unsupported', message: expect.stringMatching(sentence) })
  })
})

describe('packs', () => {
  test.each([
    { type: 'linear', factor: 2 } as const,
    { type: 'dynamic', factor: 2, originalContextLength: 64 } as const,
    { type: 'yarn', factor: 4, originalContextLength: 64, fast: 32, slow: 1, magnitude: 1.1 } as const,
    {
      type: 'longrope',
      shortFactors: [1, 1, 1, 1],
      longFactors: [2, 3, 4, 5],
      originalContextLength: 64,
      magnitude: 1.2,
    } as const,
    { type: 'factors', factors: [1, 2, 3, 4] } as const,
    {
      type: 'llama3',
      factor: 8,
      lowFrequencyFactor: 1,
      highFrequencyFactor: 4,
      originalContextLength: 64,
    } as const,
  ])('keep $type scaling', async (scaling) => {
    const config = { ...SMALL, rope: { ...SMALL.rope, scaling } }
    expect(await readConfig(hbmFile(config))).toEqual(config)
  })
  test('preserve settings that override the family’s', async () => {
    const config: ModelConfig = {
      ...SMALL,
      activation: 'xielu',
      dividedByLayer: true,
      xielu: [0.8, 0.7].map((above) => ({ above, below: 0.3, slope: 0.5, epsilon: -1e-6 })),
      parallelResidual: true,
      sharedNorm: true,
      biases: { qkv: true, output: false, mlp: true, logits: true },
      headNorms: false,
      qkvLimit: 8,
      queryScale: { beta: 0.1, length: 64 },
    }
    expect(await readConfig(hbmFile(config))).toEqual(config)
    const failure = await failureOf(() => readConfig(hbmFile(SMALL, { activation: 'constructor' })))
    expect(failure).toEqual({
      code: 'unsupported',
      message: expect.stringMatching(/activation "constructor"/),
    })
  })
  test('are no more trusted than other files', async () => {
    expect((await failureOf(() => readConfig(hbmFile(SMALL, { heads: 5 })))).code).toBe('architecture')
    expect((await failureOf(() => readConfig(hbmFile(SMALL, { rope: undefined })))).code).toBe('architecture')
    expect((await failureOf(() => readConfig(hbmFile(SMALL, { layers: '2' })))).message).toMatch(
      /layers is "2"/,
    )
  })
})

describe('unknown architectures', () => {
  /** Tensors that no family has. */
  const strange = (file: ModelFile) => withTensors(file, { 'blk.0.strange.weight': [4] })

  test.each([
    ['GGUF', ggufFile(SMALL, { 'general.architecture': 'strange' })],
    ['Hugging Face', hfFile(SMALL, { architectures: ['StrangeForCausalLM'] })],
    ['Hugging Face without a class', hfFile(SMALL, { architectures: undefined, model_type: 'strange' })],
    ['Hugging Face with a name from Object.prototype', hfFile(SMALL, { architectures: ['constructor'] })],
    ['a pack', hbmFile(SMALL, { family: 'strange' })],
  ])('of %s are named along with the supported ones', async (_, file) => {
    const failure = await failureOf(() => readConfig(strange(file)))
    expect(failure.code).toBe('architecture')
    expect(failure.message).toMatch(/(strange|StrangeForCausalLM|constructor).* llama, qwen2, .*gpt_neox/)
  })

  const qwen: ModelConfig = { ...SMALL, family: 'qwen2' }
  const keys = (config: ModelConfig) =>
    new Map(
      [...ggufFile(config).metadata].map(([key, value]) => [key.replace(/^qwen2\./, 'strange.'), value]),
    )
  test.each([
    ['Hugging Face', 'llama', hfFile(SMALL, { architectures: ['StrangeForCausalLM'] })],
    ['a pack', 'llama', hbmFile(SMALL, { family: 'strange' })],
    ['GGUF', 'llama', ggufFile({ ...SMALL, family: 'strange' })],
    ['Hugging Face with biases', 'qwen2', hfFile(qwen, { architectures: ['StrangeForCausalLM'] })],
    // In GGUF, Llama may have biases.
    [
      'GGUF with biases',
      'llama',
      { ...ggufFile(qwen), metadata: keys(qwen).set('general.architecture', 'strange') },
    ],
  ] as const)(
    'of %s: the error names the family that fits, and the file loads as that family',
    async (_, family, file) => {
      const failure = await failureOf(() => readConfig(file))
      expect(failure.code).toBe('architecture')
      expect(failure.message).toMatch(/the architecture "(strange|StrangeForCausalLM)" is not supported; /)
      expect(failure.message).toContain(`this looks like a ${family}; pass architecture: '${family}' to try`)
      const { family: read, hiddenSize } = await readConfig(file, { architecture: family })
      expect({ read, hiddenSize }).toEqual({ read: family, hiddenSize: SMALL.hiddenSize })
    },
  )

  test('the caller’s family must exist, and the model must not be a graph', async () => {
    const unknown = await failureOf(() => readConfig(hfFile(SMALL), { architecture: 'strange' }))
    expect(unknown).toMatchObject({ code: 'unsupported' })
    expect(unknown.message).toMatch(/architecture is "strange" but must be one of: llama, qwen2/)
    const graph = { ...hbmFile(SMALL), format: 'onnx' } as const
    const refused = await failureOf(() => readConfig(graph, { architecture: 'llama' }))
    expect(refused.message).toMatch(/an ONNX graph defines its own computation/)
  })
})

describe('numbers', () => {
  const architecture = async (file: ModelFile) => {
    const failure = await failureOf(() => readConfig(file))
    expect(failure.code).toBe('architecture')
    return failure.message
  }

  test('are named in the error if they are missing or have a different type', async () => {
    const shape = { rope_scaling: { rope_type: 'linear' } }
    expect(await architecture(hfFile(SMALL, shape))).toMatch(/factor is missing/)
    expect(await architecture(hfFile(SMALL, { hidden_size: undefined, num_attention_heads: 64 }))).toMatch(
      /the embedding table is \[70,48\] but the configuration says 70 tokens of 4096/,
    )
    expect(await architecture(hfFile(SMALL, { hidden_size: 'big' }))).toMatch(/hidden_size is "big"/)
    expect(await architecture(ggufFile(interleaved, { 'llama.block_count': [2, 2] }))).toMatch(
      /block_count is/,
    )
    expect(await architecture({ ...hfFile(SMALL), metadata: new Map() })).toMatch(/is missing/)
  })
  test.each([
    ['hidden_size', 2 ** 60, /hiddenSize is 1152921504606847000 .* to 131072/],
    ['num_hidden_layers', 0, /layers is 0 .* from 1 to 1024/],
    ['num_hidden_layers', -1, /layers is -1/],
    ['num_attention_heads', 7, /headDim is 6.857/],
    ['num_key_value_heads', 4, /6 heads .* 4 key and value heads/],
    ['intermediate_size', 1.5, /intermediateSize is 1.5/],
    ['vocab_size', 71, /embedding table is \[70,48\] .* 71 tokens of 48/],
    ['rms_norm_eps', -1, /normEpsilon is -1/],
    ['rope_theta', 0, /rope.theta is 0/],
    [
      'rope_scaling',
      { type: 'linear', factor: 2, partial_rotary_factor: -0.5 },
      /rope.dims is -4 .* a whole number from 1/,
    ],
    ['rope_scaling', { type: 'linear', factor: 0 }, /factor is 0/],
    ['max_position_embeddings', 2 ** 40, /contextLength is 1099511627776/],
  ])('are rejected if they are impossible: %s %j', async (key, value, sentence) => {
    expect(await architecture(hfFile(SMALL, { [key]: value }))).toMatch(sentence)
  })
  test('a tokenizer whose size differs from the embedding table is rejected', async () => {
    const tokens = Array.from({ length: 69 }, () => 'x')
    expect(await architecture(ggufFile(interleaved, { 'tokenizer.ggml.tokens': tokens }))).toMatch(
      /\[70,48\] .* 69 tokens/,
    )
  })
  test('a file without an embedding table is rejected', async () => {
    const file = withTensors(hfFile(SMALL), { 'model.embed_tokens.weight': undefined })
    expect(await architecture(file)).toMatch(
      /safetensors file has \d+ tensors but not model.embed_tokens.weight/,
    )
  })
  test('of any type under any key lead to a typed error or a valid configuration', async () => {
    const value = fc.oneof(
      fc.double(),
      fc.integer(),
      fc.string(),
      fc.boolean(),
      fc.array(fc.integer(), { maxLength: 3 }),
      fc.constantFrom(2 ** 31, 2 ** 53, 0, -0, 1e-300),
    )
    const key = fc.constantFrom(...Object.keys(hfFile(SMALL).metadata.get('config') as object))
    await fc.assert(
      fc.asyncProperty(key, value, async (name, hostile) => {
        try {
          await readConfig(hfFile(SMALL, { [name]: hostile }))
        } catch (error) {
          expect(isHalfbyteError(error) && ['architecture', 'unsupported'].includes(error.code)).toBe(true)
        }
      }),
      { numRuns: 300 },
    )
  })
})

test('keys cannot move in families with learned positions or with norms after the rotation', () => {
  const withShift = (shift: string) => FAMILIES.filter((family) => keyShiftOf({ ...SMALL, family }) === shift)
  expect(withShift('fixed')).toEqual(['hunyuan', 'gpt2', 'gpt_neo', 'opt'])
  expect(withShift('relative')).toEqual(['bloom', 'mpt', 'mamba', 'mamba2'])
  expect(keyShiftOf({ ...SMALL, family: 'hunyuan', headNorms: false })).toBe('rotated')
})
