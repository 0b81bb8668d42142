// Preparation. In: configurations that give one family another's settings, with every tensor that they
// require. Out: a plan, or a typed error.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PackedEncoding } from '../../core/abi/encodings.ts'
import type { Family, ModelConfig, RopeConfig } from '../../core/arch/config/config.ts'
import { FAMILIES } from '../../core/arch/families.ts'
import { roleOf } from '../../core/arch/tensors/names.ts'
import { expectedTensors } from '../../core/arch/tensors/tensor-names.ts'
import { hbmFile, SMALL, withTensors } from '../../core/arch/testing/files.ts'
import { isHalfbyteError } from '../../core/base/errors.ts'
import { DTYPE_OF } from '../../core/formats/hbm/hbm.ts'
import type { MetaObject } from '../../core/formats/json-files.ts'
import type { DType, MetaValue, TensorInfo } from '../../core/formats/tensors.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import { prepareModel } from './prepare.ts'

const layers = fc.subarray([0, 1])
const common = {
  innerSize: fc.constantFrom(64, 96),
  stateSize: fc.constantFrom(8, 16),
  convKernel: fc.constant(4),
  convBias: fc.boolean(),
}
const ssm = fc.oneof(
  fc.record({ kind: fc.constant('mamba'), ...common, timeStepRank: fc.constantFrom(0, 4) }),
  fc.record({
    kind: fc.constant('mamba2'),
    ...common,
    heads: fc.constantFrom(0, 2),
    groups: fc.constantFrom(0, 1, 2),
  }),
  fc.record({
    kind: fc.constant('delta'),
    ...common,
    heads: fc.constantFrom(0, 2, 4),
    groups: fc.constantFrom(0, 1, 2),
    order: fc.constantFrom('grouped', 'tiled', 'other'),
    betaScale: fc.constantFrom(0, 1),
    epsilon: fc.constantFrom(0, 2),
  }),
  fc.record({ kind: fc.constant('lru'), ...common, heads: fc.constantFrom(0, 3, 4) }),
  fc.record({ kind: fc.constant('wkv'), ...common }),
)
/** Settings that only some families have. */
const extra = fc.record(
  {
    ssm,
    attentionLayers: layers,
    recurrentLayers: layers,
    mlpLayers: layers,
    unrotatedLayers: layers,
    convTaps: fc.constant(3),
    heads: fc.constantFrom(0, 4),
    kvHeads: fc.constantFrom(0, 2, 4),
    headDim: fc.constantFrom(0, 16),
    intermediateSize: fc.constantFrom(0, 96),
    experts: fc.record({
      count: fc.constantFrom(2, 4),
      used: fc.constantFrom(1, 2, 4),
      normalize: fc.boolean(),
    }),
    window: fc.record({ positions: fc.constant(16), layers }),
    localRope: fc.constant({ theta: 10, dims: 16, pairing: 'halves' }),
    multipliers: fc.constant({ embedding: 2, residual: 0, attention: 0, logits: 1 }),
    parallelResidual: fc.boolean(),
    sharedNorm: fc.boolean(),
    headNorms: fc.boolean(),
    biases: fc.record(
      { qkv: fc.boolean(), output: fc.boolean(), mlp: fc.boolean(), logits: fc.boolean() },
      { requiredKeys: [] },
    ),
    qkvLimit: fc.constantFrom(0, 0.5),
    queryScale: fc.constant({ beta: 0.1, length: 8 }),
    xielu: fc.constantFrom(
      [],
      [1, 2].map((above) => ({ above, below: 1, slope: 0.5, epsilon: -1e-6 })),
    ),
    fullHeads: fc.constantFrom({ kvHeads: 1, headDim: 16 }, { kvHeads: 3, headDim: 20 }),
    valuesAreKeys: fc.boolean(),
    sharedKvLayers: fc.constantFrom(0, 1, 2),
    mlpSizes: fc.constantFrom([96], [96, 48], [96, 0]),
    gateCutoffs: fc.constantFrom([], [{ layer: 1, deviations: 0.5 }]),
    layerEmbedding: fc.constantFrom({ size: 16, rows: 70 }, { size: 0, rows: 3 }),
    streams: fc.constantFrom(
      { count: 3, active: 1, isScaled: true, besideRank: 4 },
      { count: 99, active: 100, isScaled: false, besideRank: 0 },
    ),
    sharedBlocks: fc.constantFrom(
      { layers: [1], count: 1, rank: 4, adaptsAttention: true },
      { layers: [7], count: 9, rank: 0, adaptsAttention: false },
    ),
    layerScales: fc.constantFrom([2], [0.5, 2]),
    subtracted: fc.constantFrom([0.2], [0.2, -3]),
    tiedEmbeddings: fc.boolean(),
    attentionScale: fc.constant(0),
  },
  { requiredKeys: [] },
)

const BASE: ModelConfig = {
  ...SMALL,
  hiddenSize: 64,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  intermediateSize: 96,
  rope: { theta: 100, dims: 16, pairing: 'halves' },
}

const SSM = { innerSize: 64, stateSize: 16, convKernel: 4, convBias: true }
const NO_HEADS = { heads: 0, kvHeads: 0, headDim: 0, intermediateSize: 0, rope: { ...BASE.rope, dims: 0 } }
const EXPERTS = { experts: { count: 4, used: 2, normalize: true } }
const HEADS = { ssm: { kind: 'mamba2', ...SSM, heads: 2, groups: 1 } } as const

const DELTA = {
  kind: 'delta',
  ...SSM,
  convBias: false,
  heads: 4,
  groups: 2,
  order: 'grouped',
  betaScale: 1,
  epsilon: 1e-6,
} as const
const LATENT = {
  kvHeads: 4,
  headDim: 24,
  rope: { theta: 100, dims: 8, pairing: 'interleaved' },
  latent: { rank: 32, queryRank: 40, plainDim: 16, valueDim: 16, normEpsilon: 1e-6 },
} as const

/** Settings that a family requires. */
const PARTS: Readonly<Partial<Record<Family, Partial<ModelConfig>>>> = {
  qwen3moe: EXPERTS,
  olmoe: EXPERTS,
  qwen2moe: EXPERTS,
  granitemoe: EXPERTS,
  ernie4_5_moe: EXPERTS,
  dots1: EXPERTS,
  gpt_oss: EXPERTS,
  phimoe: EXPERTS,
  lfm2moe: { ...EXPERTS, convTaps: 3, attentionLayers: [1] },
  deepseek2: { ...EXPERTS, ...LATENT },
  minicpm3: LATENT,
  lfm2: { convTaps: 3, attentionLayers: [1] },
  lfm3: { convTaps: 3, attentionLayers: [1] },
  apertus: { xielu: [1, 2].map((above) => ({ above, below: 1, slope: 0.5, epsilon: -1e-6 })) },
  bloom: { alibi: 8 },
  mpt: { alibi: 8 },
  mamba: { ...NO_HEADS, ssm: { kind: 'mamba', ...SSM, timeStepRank: 4 } },
  mamba2: { ...NO_HEADS, ...HEADS },
  granitehybrid: { ...HEADS, attentionLayers: [1] },
  qwen3_5: { ssm: DELTA, attentionLayers: [1] },
  qwen3next: { ssm: DELTA, attentionLayers: [1], ...EXPERTS },
  olmo_hybrid: { ssm: DELTA, attentionLayers: [1] },
  falcon_h1: { ...HEADS, recurrentLayers: [0, 1] },
  bamba: { ...HEADS, attentionLayers: [1] },
  nemotron_h: { ...HEADS, attentionLayers: [], mlpLayers: [1] },
  recurrent_gemma: {
    ssm: { kind: 'lru', ...SSM, heads: 4 },
    attentionLayers: [1],
    biases: { output: true, mlp: true },
  },
  gemma3n: {
    layerEmbedding: { size: 16, rows: 70 },
    streams: { count: 4, active: 0, isScaled: true, besideRank: 8 },
  },
  diffllama: { subtracted: [0.3, 0.4] },
  zamba2: {
    ...HEADS,
    headDim: 32,
    attentionLayers: [],
    mlpLayers: [],
    recurrentLayers: [0, 1],
    sharedBlocks: { layers: [1], count: 1, rank: 4, adaptsAttention: false },
  },
  rwkv: { ...NO_HEADS, intermediateSize: 96, ssm: { kind: 'wkv', ...SSM, convKernel: 2, convBias: false } },
  jamba: {
    ssm: { kind: 'mamba', ...SSM, timeStepRank: 4, norms: { epsilon: 1e-6, haveWeights: true } },
    attentionLayers: [1],
  },
}

async function outcome(config: ModelConfig, packed: readonly PackedEncoding[] = []): Promise<unknown> {
  try {
    const shapes = [...expectedTensors('hbm', config)].map(
      ({ place, shape }) => [place.tensor, shape] as const,
    )
    const file = hbmFile(config)
    const given = { ...file, tensors: new Map() }
    const { tensors } = withTensors(given, Object.fromEntries(shapes))
    const stored = [...tensors].map(([name, tensor], at) => {
      const encoding = tensor.shape.length === 2 ? packed[at % packed.length] : undefined
      return [name, encoding ? { ...tensor, packed: encoding, dtype: DTYPE_OF[encoding] } : tensor] as const
    })
    await prepareModel({ ...file, tensors: new Map(stored) }, { weights: 'auto' })
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) && error.code !== 'internal' ? error.code : error
  }
}

/** The sampling defaults and the notes of a model with random shapes and these settings in its files. */
async function preparedWith(
  generationConfig: MetaObject,
  contextLength?: number,
  rope: RopeConfig = BASE.rope,
) {
  const config: ModelConfig = { ...BASE, family: 'llama', ...PARTS['llama'], rope }
  const shapes = [...expectedTensors('hbm', config)].map(({ place, shape }) => [place.tensor, shape] as const)
  const file = { ...hbmFile(config), tensors: new Map(), generationConfig }
  const { sampling, notes } = await prepareModel(withTensors(file, Object.fromEntries(shapes)), {
    weights: 'auto',
    contextLength,
  })
  return { sampling, notes }
}

test('differences from the request are in notes', async () => {
  expect(await preparedWith({ temperature: 0.5 }, BASE.contextLength)).toEqual({
    sampling: { temperature: 0.5 },
    notes: [],
  })
  const { notes } = await preparedWith({ temperature: -1 }, BASE.contextLength + 1)
  expect(notes).toEqual([
    {
      code: 'trained-context',
      text: `the context has ${BASE.contextLength} tokens, the limit of the model, instead of ${BASE.contextLength + 1}`,
      values: { tokens: BASE.contextLength, asked: BASE.contextLength + 1 },
    },
    {
      code: 'ignored-sampling',
      text: 'these sampling defaults of the model are ignored, because they are out of range: temperature -1',
      values: { settings: 'temperature -1' },
    },
  ])
})

test('a context that is longer than the short texts of LongRoPE is noted', async () => {
  const factors = { shortFactors: Array(8).fill(1), longFactors: Array(8).fill(2), magnitude: 1 }
  const scaling = { type: 'longrope', originalContextLength: 16, ...factors } as const
  const notesAt = async (context: number) =>
    (await preparedWith({}, context, { ...BASE.rope, scaling })).notes.map(({ code, values }) => ({
      code,
      values,
    }))
  expect(await notesAt(16)).toEqual([])
  expect(await notesAt(17)).toEqual([{ code: 'long-rotation', values: { tokens: 16, context: 17 } }])
})

/** The codes of the notes of a small Llama whose matrices the file stores as `form`. */
async function notesOf(form: Partial<TensorInfo>, weights: WeightPolicy) {
  const config: ModelConfig = { ...BASE, family: 'llama' }
  const shapes = [...expectedTensors('hbm', config)].map(({ place, shape }) => [place.tensor, shape] as const)
  const { tensors, ...file } = withTensors(
    { ...hbmFile(config), tensors: new Map() },
    Object.fromEntries(shapes),
  )
  const stored = [...tensors].map(
    ([name, tensor]) => [name, roleOf(name) === 'matrix' ? { ...tensor, ...form } : tensor] as const,
  )
  const { notes } = await prepareModel({ ...file, tensors: new Map(stored) }, { weights })
  return notes.map(({ code, values }) => ({ code, values }))
}

test.each<DType>(['Q4_0', 'Q4_K', 'Q5_0', 'Q8_0'])(
  'one scale per output in addition to the groups of %s is noted',
  async (dtype) => {
    // 2 layers of 7 matrices.
    expect(await notesOf({ dtype }, 'w4_channel')).toEqual([
      { code: 'coarser-scales', values: { matrices: 14 } },
    ])
    expect(await notesOf({ dtype }, 'w4')).toEqual([])
    expect(await notesOf({ dtype }, 'auto')).toEqual([])
  },
)

test('one scale per output is not noted if the file has floats or the same scales', async () => {
  expect(await notesOf({ dtype: 'BF16' }, 'w4_channel')).toEqual([])
  expect(await notesOf({ dtype: 'Q4_0', packed: 'w4_channel' }, 'w4_channel')).toEqual([])
})

test.each(FAMILIES)('%s with its required settings is prepared', async (family) => {
  expect(await outcome({ ...BASE, family, ...PARTS[family] })).toBe('none')
})

test.each(FAMILIES)(
  '%s with settings of other families is prepared or rejected with a typed error',
  async (family) => {
    const work = fc.asyncProperty(extra, async (changes) => {
      const config = {
        ...BASE,
        family,
        ...PARTS[family],
        ...(changes as Record<string, MetaValue>),
      } as ModelConfig
      const found = await outcome(config)
      expect(['none', 'architecture', 'unsupported'], String(found)).toContain(found)
    })
    await fc.assert(work, { numRuns: 300 })
  },
)

const encodings = fc.array(fc.constantFrom(...(Object.keys(DTYPE_OF) as PackedEncoding[])), {
  minLength: 1,
  maxLength: 7,
})

test.each(FAMILIES)(
  '%s with matrices in any encodings is prepared or rejected with a typed error',
  async (family) => {
    const work = fc.asyncProperty(encodings, async (packed) => {
      const found = await outcome({ ...BASE, family, ...PARTS[family] }, packed)
      expect(['none', 'architecture', 'unsupported'], String(found)).toContain(found)
    })
    await fc.assert(work, { numRuns: 100 })
  },
)
