// Tests recurrent families. In: their configurations. Out: plans with few ops and no copies in between, and
// errors for models without a kernel.
import { describe, expect, test } from 'vitest'
import { parseObject, withoutNulls } from '../../formats/json-files.ts'
import type { MetaValue } from '../../formats/tensors.ts'
import { compile } from '../../graph/compile-graph.ts'
import type { Plan } from '../../graph/plan/plan.ts'
import { printPlan } from '../../graph/plan/print.ts'
import { chooseEncoding } from '../../weights/choose-encoding.ts'
import type { Mamba1Config, Mamba2Config, ModelConfig, SsmConfig } from '../config/config.ts'
import { hbmConfig, storedConfig } from '../config/config-hbm.ts'
import { mambaSsmConfig } from '../config/config-hf.ts'
import { Fields } from '../config/fields.ts'
import { ggufSsm, hfRecurrent } from '../config/recurrent-config.ts'
import { validConfig } from '../config/validate.ts'
import { buildGraph } from '../families.ts'
import { roleOf } from '../tensors/names.ts'
import { failureOf } from '../testing/files.ts'

const SIZES = { innerSize: 1536, convKernel: 4, convBias: true }
const MAMBA: Mamba1Config = { kind: 'mamba', ...SIZES, stateSize: 16, timeStepRank: 48 }
const MAMBA2: Mamba2Config = { kind: 'mamba2', ...SIZES, stateSize: 128, heads: 24, groups: 1 }

const config = (
  family: ModelConfig['family'],
  ssm: SsmConfig,
  changes: Partial<ModelConfig> = {},
): ModelConfig => ({
  family,
  name: 'test',
  hiddenSize: 768,
  layers: 2,
  vocabSize: 1000,
  normEpsilon: 1e-5,
  heads: 0,
  kvHeads: 0,
  headDim: 0,
  intermediateSize: 0,
  contextLength: 1 << 20,
  tiedEmbeddings: true,
  rope: { theta: 1e4, dims: 0, pairing: 'halves' },
  ssm,
  ...changes,
})

const limitOf = ({ ssm }: Pick<ModelConfig, 'ssm'>) =>
  ssm?.kind === 'mamba2' ? ssm.timeStepLimit : undefined

const planOf = (model: ModelConfig): Plan =>
  compile(buildGraph(model), {
    tokens: 64,
    logitRows: 4,
    encodingOf: (name) => chooseEncoding('w4', roleOf(name), ['F32']),
  })

const layerOf = (plan: Plan, layer: number): string[] =>
  plan.ops.filter(({ label }) => label.startsWith(`layers.${layer}.`)).map(({ name }) => name)

describe('plans', () => {
  test('a Mamba layer has eight ops; nothing is split, joined or copied', () => {
    const plan = planOf(config('mamba', MAMBA))
    expect(layerOf(plan, 1)).toEqual([
      'rmsnorm',
      'linear_w4a8_g32',
      'conv1d',
      'linear_w8a8_g32',
      'quantize',
      'linear_w8a8_g32',
      'scan',
      'linear_w4a8_g32',
    ])
    expect(plan.slabBytes).toBe(2 * 4 * (1536 * 3 + 1536 * 16))
    expect(printPlan(plan)).toContain('slab at ')
    expect(printPlan(plan)).toContain('per sequence, however long it is')
  })

  test('a Mamba-2 layer has six ops', () => {
    const plan = planOf(config('mamba2', MAMBA2))
    expect(layerOf(plan, 0)).toEqual([
      'rmsnorm',
      'linear_w4a8_g32',
      'conv1d',
      'ssd',
      'rmsnorm',
      'linear_w4a8_g32',
    ])
    expect(plan.slabBytes).toBe(2 * 4 * ((1536 + 256) * 3 + 1536 * 128))
  })

  test("a hybrid's state has blocks for attention, then a slab for the recurrent layers", () => {
    const hybrid = { heads: 12, kvHeads: 4, headDim: 64, intermediateSize: 1024, attentionLayers: [1] }
    const plan = planOf(config('granitehybrid', MAMBA2, hybrid))
    expect(plan.stateGroups.map(({ layers }) => layers)).toEqual([[1]])
    expect(plan.ops.find(({ name }) => name === 'ssd')?.fields['group']).toBe(1)
    expect(layerOf(plan, 1)).toContain('attention')
    expect(layerOf(plan, 1)).not.toContain('ssd')
  })
})

describe('configurations', () => {
  test.each([
    [{ innerSize: 1530 }, 'unsupported', /ssm.innerSize 1530, .* multiple of 32/],
    [{ innerSize: -32 }, 'architecture', /ssm.innerSize is -32/],
    [{ convKernel: 9 }, 'unsupported', /ssm.convKernel 9, .* from 2 to 8/],
    [{ convKernel: 2.5 }, 'architecture', /ssm.convKernel is 2.5/],
    [{ timeStepRank: 0 }, 'architecture', /ssm.timeStepRank is 0/],
  ] as const)('%j is %s for Mamba', async (changes, code, message) => {
    const failure = await failureOf(() => validConfig('file', config('mamba', { ...MAMBA, ...changes })))
    expect(failure).toEqual({ code, message: expect.stringMatching(message) })
  })

  test.each([
    [{ heads: 0 }, 'architecture', /ssm.heads is 0/],
    [{ groups: 5 }, 'architecture', /divided evenly among 24 heads in 5 groups/],
    [{ heads: 2 }, 'unsupported', /width of a recurrent head 768/],
    [
      { timeStepLimit: [0.5, 0.1] as const },
      'architecture',
      /ssm.timeStepLimit is 0.1 but must be above 0 and above the minimum, 0.5/,
    ],
    [{ stateSize: 6 }, 'unsupported', /ssm.stateSize 6, .* multiple of 4/],
  ] as const)('%j is %s for Mamba-2', async (changes, code, message) => {
    const failure = await failureOf(() => validConfig('file', config('mamba2', { ...MAMBA2, ...changes })))
    expect(failure).toEqual({ code, message: expect.stringMatching(message) })
  })

  test('a kernel supports a state of 24', () => {
    const odd = config('mamba2', { ...MAMBA2, stateSize: 24 })
    expect(validConfig('file', odd).ssm?.stateSize).toBe(24)
    expect(layerOf(planOf(odd), 0)).toContain('ssd')
  })

  test.each([
    [
      'mamba',
      '{"innerSize":64,"stateSize":16,"convKernel":4,"timeStepRank":4,"heads":0,"groups":0,"convBias":true}',
    ],
    [
      'mamba2',
      '{"innerSize":64,"stateSize":16,"convKernel":4,"timeStepRank":0,"heads":2,"groups":1,"convBias":true}',
    ],
  ])('rewriting a pack of %s yields the same bytes', (kind, text) => {
    const packed = { ...config('mamba', MAMBA), ssm: JSON.parse(text) }
    const read = hbmConfig('test', Fields.of('test', withoutNulls(packed)))
    expect(read.ssm?.kind).toBe(kind)
    expect(JSON.stringify(storedConfig(read))).toContain(`"ssm":${text}`)
  })

  test.each([
    ['mamba', '"convBias":true,"timeStepRank":48,"heads":0,"groups":0}', { 'ssm.time_step_rank': 48 }],
    ['mamba2', '"convBias":true,"timeStepRank":0,"heads":24,"groups":1}', { 'ssm.time_step_rank': 24 }],
  ] as const)('a pack of the GGUF file of %s has the fields of both kinds', (family, text, rank) => {
    const sizes = { 'ssm.inner_size': 1536, 'ssm.state_size': 16, 'ssm.conv_kernel': 4 }
    const ssm = ggufSsm(Fields.of('test', { ...sizes, ...rank }), family)
    const stored = JSON.stringify(storedConfig(config(family, ssm)))
    expect(stored).toContain(`"ssm":{"innerSize":1536,"stateSize":16,"convKernel":4,${text}`)
  })

  test('every format’s step size limits are read, and ineffective ones are dropped', async () => {
    const ssm = (limits?: readonly MetaValue[]) => ({
      architectures: ['Mamba2ForCausalLM'],
      hidden_size: 64,
      num_hidden_layers: 1,
      vocab_size: 300,
      state_size: 16,
      num_heads: 8,
      n_groups: 1,
      intermediate_size: 128,
      ...(limits && { time_step_limit: limits }),
    })
    const read = (limits?: readonly MetaValue[]) =>
      limitOf(hfRecurrent(Fields.of('config.json', ssm(limits)), 'mamba2'))
    expect(read()).toBeUndefined()
    expect(read([0, Number.POSITIVE_INFINITY])).toBeUndefined()
    expect(read([0])).toBeUndefined()
    expect(read([0.001, 0.1])).toEqual([0.001, 0.1])
    expect(read([0.001])).toEqual([0.001, Number.POSITIVE_INFINITY])
    const limited = config('mamba2', { ...MAMBA2, timeStepLimit: [0.001, Number.POSITIVE_INFINITY] })
    const packed = withoutNulls(JSON.parse(JSON.stringify(storedConfig(limited))))
    expect(hbmConfig('test', Fields.of('test', packed)).ssm).toEqual(limited.ssm)
    const original = {
      ssm_cfg: { layer: 'Mamba2', dt_limit: [0, 0.5] },
      d_model: 64,
      n_layer: 1,
      vocab_size: 9,
    }
    expect(limitOf(mambaSsmConfig('test', Fields.of('test', original)))).toEqual([0, 0.5])
  })

  test('the config.json of a Mamba-2 may contain a number that JSON does not support', () => {
    const text =
      '{"time_step_limit": [0.0, Infinity], "name": "to Infinity \\" NaN", "x": NaN, "y": -Infinity}'
    expect(parseObject('config.json', text)).toEqual({
      time_step_limit: [0, Number.POSITIVE_INFINITY],
      name: 'to Infinity " NaN',
      x: null,
      y: Number.NEGATIVE_INFINITY,
    })
    expect(() => parseObject('config.json', '{"a": Infinit}')).toThrow(/not valid JSON/)
  })

  test('only Mamba may have 0 heads', () => {
    expect(validConfig('file', config('mamba', MAMBA)).heads).toBe(0)
    expect(() => validConfig('file', config('mamba', MAMBA, { ssm: undefined }))).toThrow(/a mamba needs ssm/)
  })
})
