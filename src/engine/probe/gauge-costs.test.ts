// Costs for estimates. In: shapes of models. Out: approximately the total cost of all ops in their plans.
import { expect, test } from 'vitest'
import type { ModelConfig, RopeConfig } from '../../core/arch/config/config.ts'
import { buildGraph } from '../../core/arch/families.ts'
import { compile } from '../../core/graph/compile-graph.ts'
import { planCosts } from '../../core/graph/plan/cost.ts'
import { decodeBytes, prefillOps } from './gauge.ts'

const NONE = { heads: 0, kvHeads: 0, headDim: 0, intermediateSize: 0 }
const ROPE: RopeConfig = { theta: 1e4, dims: 0, pairing: 'halves' }
const COMMON = {
  name: 'shape',
  layers: 4,
  normEpsilon: 1e-5,
  contextLength: 1024,
  tiedEmbeddings: true,
  hiddenSize: 768,
  vocabSize: 8000,
  rope: ROPE,
} as const
const ssm = { innerSize: 1536, convKernel: 4, convBias: true }
const CONFIGS: readonly ModelConfig[] = [
  {
    ...COMMON,
    family: 'llama',
    heads: 12,
    kvHeads: 4,
    headDim: 64,
    intermediateSize: 2048,
    rope: { ...ROPE, dims: 64 },
  },
  {
    ...COMMON,
    family: 'qwen3moe',
    heads: 12,
    kvHeads: 4,
    headDim: 64,
    intermediateSize: 512,
    rope: { ...ROPE, dims: 64 },
    experts: { count: 16, used: 4, normalize: true },
  },
  {
    ...COMMON,
    ...NONE,
    family: 'mamba',
    ssm: { kind: 'mamba', ...ssm, stateSize: 16, timeStepRank: 48 },
  },
  {
    ...COMMON,
    ...NONE,
    family: 'mamba2',
    ssm: { kind: 'mamba2', ...ssm, stateSize: 128, heads: 24, groups: 1 },
  },
]

test.each(CONFIGS)('$family: the estimate is off by at most a twelfth', (config) => {
  const encodingOf = (name: string) =>
    /norm|bias|conv|decay|skip|router/.test(name) ? ('f32' as const) : ('w4_g32' as const)
  const plan = compile(buildGraph(config), { encodingOf, tokens: 128, logitRows: 4 })
  const bytes = planCosts(plan, { tokens: 1, logitRows: 1, position: 512 }).reduce(
    (sum, { weightBytes, stateBytes }) => sum + weightBytes + stateBytes,
    0,
  )
  const ops = planCosts(plan, { tokens: 128, logitRows: 1, position: 0 }).reduce((sum, op) => sum + op.ops, 0)
  expect(Math.abs(decodeBytes(plan, 512) / bytes - 1)).toBeLessThan(1 / 12)
  expect(Math.abs(prefillOps(plan, 128) / ops - 1)).toBeLessThan(1 / 12)
})
