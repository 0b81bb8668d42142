// Runs the families on the real kernels. In: small models in every encoding. Out: the logits that their
// graphs define.
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Encoding } from '../abi/encodings.ts'
import { bufferSource } from '../base/bytes.ts'
import { StepBuffer } from '../generate/schedule/step-buffer.ts'
import { compile } from '../graph/compile-graph.ts'
import type { EncodingOf } from '../graph/passes/split.ts'
import { blockBytes } from '../graph/plan/layouts.ts'
import type { WeightSlot } from '../graph/plan/plan.ts'
import { type InterpretedStep, interpret, type Machine } from '../graph/testing/interpret.ts'
import { machineOf } from '../graph/testing/models.ts'
import { Arena, type Ptr } from '../runtime/memory/arena.ts'
import { instantiateEngine } from '../runtime/module.ts'
import { SinglePool } from '../runtime/pool.ts'
import { writePlan } from '../runtime/write-plan.ts'
import { SequenceState } from '../state/sequence-state.ts'
import { StateCache } from '../state/state-cache.ts'
import { streamMatrix, streamVector } from '../weights/stream-weights.ts'
import type { DeltaConfig, Mamba1Config, Mamba2Config, ModelConfig } from './config/config.ts'
import { buildGraph, FAMILIES } from './families.ts'
import { ropeTables } from './rope.ts'
import { roleOf } from './tensors/names.ts'

const FILE = new URL('../../../dist/wasm/halfbyte-simd128-plain.wasm', import.meta.url)
const CAPACITY = { tokens: 6, logitRows: 3, sequences: 1 }

const config = (changes: Partial<ModelConfig>): ModelConfig => ({
  family: 'llama',
  name: 'test',
  hiddenSize: 64,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  intermediateSize: 80,
  vocabSize: 50,
  normEpsilon: 1e-5,
  rope: { theta: 1000, dims: 16, pairing: 'halves' },
  contextLength: 128,
  tiedEmbeddings: false,
  ...changes,
})

/** The engine's steps in miniature: weights are streamed in, records written, activations poisoned. */
async function engineOf(model: ModelConfig, encodingOf: EncodingOf, machine: Machine) {
  const plan = compile(buildGraph(model), { ...CAPACITY, encodingOf })
  const memory = new WebAssembly.Memory({ initial: 64 })
  const engine = instantiateEngine(new WebAssembly.Module(readFileSync(FILE)), memory)
  const arena = new Arena(memory, Number(engine.__heap_base.value))
  const slots: Ptr[] = []
  for (const slot of plan.slots) slots.push(await load(arena, slot, machine))
  const written = writePlan(arena, plan, slots)
  arena.u8.fill(0xff, written.activations, written.activations + plan.arenaBytes)
  const slabBytes = plan.slabBytes > 0 ? [plan.slabBytes] : []
  const groups = plan.stateGroups.length + slabBytes.length
  const step = new StepBuffer(arena, CAPACITY, groups, ropeTables(model, 128))
  const blocks = plan.stateGroups.map(blockBytes)
  const cache = new StateCache({ arena, blockBytes: blocks, slabBytes, contextLength: 128 })
  const state = new SequenceState(cache)
  const pool = new SinglePool(engine, arena)
  return ({ ids, wanted }: InterpretedStep): number[][] => {
    step.begin()
    state.reserve(ids.length)
    step.addSequence(state)
    for (const [row, id] of ids.entries()) step.addToken(id, wanted.includes(row))
    step.finish()
    pool.run(written.records, step.step, 0, written.count)
    state.advance(ids.length)
    return wanted.map((_, row) => {
      const at = (written.activations + plan.logits.arena + row * plan.logits.stride) / 4
      return [...arena.f32.subarray(at, at + plan.logits.width)]
    })
  }
}

async function load(arena: Arena, { ref, bytes, encoding }: WeightSlot, machine: Machine): Promise<Ptr> {
  const address = arena.allocate(bytes, 'the weights')
  const parts = ref.parts.map(({ name, n }) => {
    const values = Float32Array.from(machine.weightOf(name, n, ref.k))
    const source = bufferSource(name, new Uint8Array(values.buffer))
    const shape = ref.kind === 'matrix' ? [n, ref.k] : [n]
    const tensor = { name, dtype: 'F32', shape, source, offset: 0, byteLength: source.size } as const
    return { n, tensor }
  })
  const view = () => arena.u8.subarray(address, address + bytes)
  if (ref.kind === 'vector') await streamVector(parts, view)
  else await streamMatrix(parts, ref.k, encoding, view)
  return address
}

const STEPS: readonly InterpretedStep[] = [
  { ids: [1, 7, 33, 49, 2, 2], position: 0, wanted: [5, 0, 3].sort() },
  { ids: [12, 3], position: 6, wanted: [1] },
  { ids: [40], position: 8, wanted: [0] },
]

/** The largest difference between two logits, and the largest logit. */
async function compare(
  model: ModelConfig,
  encodingOf: EncodingOf,
): Promise<{ error: number; largest: number }> {
  const machine = machineOf(
    encodingOf,
    ropeTables(model, 128).map(({ frequencies }) => frequencies),
  )
  const run = await engineOf(model, encodingOf, machine)
  let error = 0
  let largest = 0
  for (const step of STEPS) {
    const expected = interpret(buildGraph(model), machine, step)
    for (const [row, logits] of run(step).entries()) {
      for (const [id, logit] of logits.entries()) {
        const wanted = expected[row]?.[id] ?? Number.NaN
        // NaN must not pass as a small difference.
        error = Number.isNaN(logit) ? Number.POSITIVE_INFINITY : Math.max(error, Math.abs(logit - wanted))
        largest = Math.max(largest, Math.abs(wanted))
      }
    }
  }
  return { error, largest }
}

const only =
  (encoding: Encoding): EncodingOf =>
  (name) =>
    roleOf(name) === 'vector' ? 'f32' : encoding
/**
 * As in files with mixed quantisation: V, the down projection and the table have types that differ from those
 * of the rest.
 */
const mixed: EncodingOf = (name) => {
  if (/attn_v\.weight|embed|output\.weight$/.test(name)) return 'w8_g32'
  return /mlp_down/.test(name) ? 'f32' : only('w4_g32')(name)
}

const NONE = { heads: 0, kvHeads: 0, headDim: 0, intermediateSize: 0 }
const MAMBA2: Mamba2Config = {
  kind: 'mamba2',
  innerSize: 96,
  stateSize: 16,
  convKernel: 4,
  convBias: true,
  heads: 6,
  groups: 3,
}

const MAMBA1: Mamba1Config = {
  kind: 'mamba',
  innerSize: 96,
  stateSize: 7,
  convKernel: 4,
  convBias: true,
  timeStepRank: 5,
}
const LRU = { innerSize: 96, stateSize: 1, convKernel: 4, convBias: true }
const DELTA: DeltaConfig = {
  kind: 'delta',
  innerSize: 80,
  stateSize: 12,
  convKernel: 4,
  convBias: false,
  heads: 4,
  groups: 2,
  order: 'grouped',
  betaScale: 1,
  epsilon: 1e-6,
}
/** Heads whose keys have 16 dimensions without rotation and 8 with it, and whose values have 14. */
const LATENT = {
  kvHeads: 4,
  headDim: 24,
  rope: { theta: 1000, dims: 8, pairing: 'interleaved' },
  latent: { rank: 44, queryRank: 40, plainDim: 16, valueDim: 14, normEpsilon: 1e-6 },
} as const

/** Models with unusual settings. */
const LISTED: readonly (readonly [string, ModelConfig])[] = [
  ['llama', config({})],
  [
    'llama with neighbouring pairs, partly rotated',
    config({ rope: { theta: 500, dims: 8, pairing: 'interleaved' } }),
  ],
  ['llama with heads as wide as a group', config({ heads: 4, kvHeads: 1, headDim: 32 })],
  [
    'llama with odd sizes',
    config({
      hiddenSize: 36,
      heads: 3,
      kvHeads: 3,
      headDim: 12,
      intermediateSize: 50,
      rope: { theta: 100, dims: 12, pairing: 'halves' },
    }),
  ],
  ['qwen2, tied', config({ family: 'qwen2', tiedEmbeddings: true })],
  [
    'mamba',
    config({
      family: 'mamba',
      ...NONE,
      ssm: MAMBA1,
    }),
  ],
  ['mamba2', config({ family: 'mamba2', ...NONE, ssm: MAMBA2, tiedEmbeddings: true })],
  [
    'mamba2 with step size limits',
    config({
      family: 'mamba2',
      ...NONE,
      ssm: { ...MAMBA2, timeStepLimit: [0.5, 0.8] },
      tiedEmbeddings: true,
    }),
  ],
  [
    'granitehybrid',
    config({
      family: 'granitehybrid',
      layers: 3,
      ssm: { ...MAMBA2, convBias: false, convKernel: 3, groups: 1 },
      attentionLayers: [1],
      multipliers: { embedding: 3, residual: 0.5, attention: 0.2, logits: 1 },
      rope: { theta: 1000, dims: 0, pairing: 'halves' },
    }),
  ],
  ['qwen3_5', config({ family: 'qwen3_5', layers: 3, ssm: DELTA, attentionLayers: [1] })],
  [
    'qwen3_5 with GGUF’s order of heads',
    config({ family: 'qwen3_5', ssm: { ...DELTA, order: 'tiled' }, attentionLayers: [1] }),
  ],
  [
    'qwen3next',
    config({
      family: 'qwen3next',
      ssm: DELTA,
      attentionLayers: [1],
      experts: { count: 5, used: 2, normalize: true, size: 48, shared: { size: 40, isGated: true } },
    }),
  ],
  ['olmo_hybrid', config({ family: 'olmo_hybrid', ssm: { ...DELTA, betaScale: 2 }, attentionLayers: [1] })],
  [
    'falcon_h1',
    config({ family: 'falcon_h1', ssm: { ...MAMBA2, gateNorm: false }, recurrentLayers: [0, 1] }),
  ],
  [
    'nemotron_h',
    config({
      family: 'nemotron_h',
      layers: 4,
      ssm: MAMBA2,
      attentionLayers: [2],
      mlpLayers: [1, 3],
      experts: {
        count: 4,
        used: 2,
        normalize: true,
        shared: { size: 40, isGated: false },
        denseLayers: [0, 1, 2],
      },
    }),
  ],
  [
    'recurrent_gemma',
    config({
      family: 'recurrent_gemma',
      layers: 3,
      ssm: { ...LRU, kind: 'lru', heads: 4 },
      attentionLayers: [2],
      window: { positions: 4, layers: [2] },
      biases: { output: true, mlp: true },
      logitCap: 0.4,
    }),
  ],
  [
    'rwkv',
    config({
      family: 'rwkv',
      ...NONE,
      intermediateSize: 80,
      ssm: { ...LRU, kind: 'wkv', stateSize: 3, convKernel: 2, convBias: false },
    }),
  ],
  ['bamba', config({ family: 'bamba', ssm: MAMBA2, attentionLayers: [1] })],
  [
    'jamba',
    config({
      family: 'jamba',
      ssm: { ...MAMBA1, norms: { epsilon: 1e-6, haveWeights: true } },
      attentionLayers: [1],
      rope: { theta: 1000, dims: 0, pairing: 'halves' },
    }),
  ],
  [
    'gemma2',
    config({
      family: 'gemma2',
      window: { positions: 4, layers: [0] },
      embeddingScale: 8,
      attentionScale: 0.3,
      attentionCap: 0.5,
      logitCap: 0.4,
    }),
  ],
  [
    'gemma3',
    config({
      family: 'gemma3',
      window: { positions: 4, layers: [1] },
      localRope: { theta: 20, dims: 16, pairing: 'halves' },
    }),
  ],
  ['lfm2', config({ family: 'lfm2', layers: 3, attentionLayers: [1], convTaps: 3 })],
  ['smollm3', config({ family: 'smollm3', unrotatedLayers: [1] })],
  ['granite', config({ family: 'granite', embeddingScale: 3, residualScale: 0.4, logitScale: 0.25 })],
  [
    'apertus',
    config({
      family: 'apertus',
      xielu: [0.8, 0.6].map((above) => ({ above, below: 0.7, slope: 0.5, epsilon: -1e-6 })),
    }),
  ],
  [
    'cohere',
    config({
      family: 'cohere',
      parallelResidual: true,
      sharedNorm: true,
      logitScale: 0.25,
      tiedEmbeddings: true,
    }),
  ],
  [
    'llama with biases and clipping',
    config({ biases: { qkv: true, output: true, mlp: true, logits: true }, qkvLimit: 0.5 }),
  ],
  ['gpt_neox with fewer biases', config({ family: 'gpt_neox', biases: { qkv: false, output: false } })],
  ['stablelm without head norms', config({ family: 'stablelm', headNorms: false })],
  ['bloom', config({ family: 'bloom', alibi: 8 })],
  [
    'falcon',
    config({
      family: 'falcon',
      kvHeads: 1,
      parallelResidual: true,
      sharedNorm: true,
      tiedEmbeddings: true,
    }),
  ],
  [
    'gptj',
    config({
      family: 'gptj',
      parallelResidual: true,
      sharedNorm: true,
      biases: { output: false, logits: true },
      rope: { theta: 1000, dims: 4, pairing: 'interleaved' },
    }),
  ],
  ['gpt2', config({ family: 'gpt2', tiedEmbeddings: true })],
  [
    'gpt_neox',
    config({
      family: 'gpt_neox',
      parallelResidual: true,
      rope: { theta: 1000, dims: 4, pairing: 'halves' },
    }),
  ],
  ['qwen3moe', config({ family: 'qwen3moe', experts: { count: 6, used: 2, normalize: true } })],
  ['mixtral', config({ experts: { count: 5, used: 2, normalize: true } })],
  [
    'qwen2moe',
    config({
      family: 'qwen2moe',
      layers: 3,
      experts: {
        count: 4,
        used: 2,
        normalize: false,
        size: 48,
        shared: { size: 40, isGated: true },
        denseLayers: [1],
      },
    }),
  ],
  [
    'granitemoe',
    config({
      family: 'granitemoe',
      residualScale: 0.4,
      experts: { count: 4, used: 2, normalize: true, shared: { size: 36, isGated: false } },
    }),
  ],
  [
    'granitehybrid with experts',
    config({
      family: 'granitehybrid',
      layers: 3,
      ssm: { ...MAMBA2, convBias: false, convKernel: 3, groups: 1 },
      attentionLayers: [1],
      multipliers: { embedding: 3, residual: 0.5, attention: 0.2, logits: 1 },
      rope: { theta: 1000, dims: 0, pairing: 'halves' },
      experts: { count: 4, used: 2, normalize: true, size: 40, shared: { size: 80, isGated: false } },
    }),
  ],
  [
    'lfm2moe',
    config({
      family: 'lfm2moe',
      layers: 3,
      attentionLayers: [1],
      convTaps: 3,
      experts: {
        count: 6,
        used: 2,
        normalize: true,
        scoring: 'sigmoid',
        isBiased: true,
        epsilon: 1e-6,
        scale: 1.5,
        denseLayers: [0],
      },
    }),
  ],
  ['lfm3', config({ family: 'lfm3', layers: 3, attentionLayers: [1], convTaps: 3 })],
  [
    'ernie4_5_moe',
    config({
      family: 'ernie4_5_moe',
      experts: {
        count: 6,
        used: 3,
        normalize: true,
        isBiased: true,
        size: 40,
        shared: { size: 80, isGated: false },
      },
    }),
  ],
  [
    'dots1',
    config({
      family: 'dots1',
      window: { positions: 4, layers: [1] },
      experts: {
        count: 6,
        used: 3,
        normalize: true,
        scoring: 'sigmoid',
        isBiased: true,
        epsilon: 1e-20,
        scale: 2.5,
        size: 40,
        shared: { size: 80, isGated: false },
        denseLayers: [0],
      },
    }),
  ],
  [
    'deepseek2 with expert groups',
    config({
      family: 'deepseek2',
      ...LATENT,
      layers: 3,
      experts: {
        count: 8,
        used: 3,
        normalize: true,
        scoring: 'sigmoid',
        isBiased: true,
        epsilon: 1e-20,
        scale: 2.5,
        groups: { count: 4, used: 2, best: 2 },
        size: 40,
        shared: { size: 40, isGated: false },
        denseLayers: [0],
      },
    }),
  ],
  [
    'deepseek2 without a short row for queries, groups ranked by their best expert',
    config({
      family: 'deepseek2',
      ...LATENT,
      headDim: 32,
      latent: { rank: 36, plainDim: 20, valueDim: 30, normEpsilon: 1e-6 },
      rope: { theta: 1000, dims: 12, pairing: 'halves' },
      experts: { count: 8, used: 3, normalize: false, groups: { count: 4, used: 2, best: 1 } },
    }),
  ],
  ['deepseek2, dense and tied', config({ family: 'deepseek2', ...LATENT, tiedEmbeddings: true })],
  ['minicpm3', config({ family: 'minicpm3', ...LATENT, residualScale: 0.4, logitScale: 0.5 })],
  [
    'phimoe',
    config({
      family: 'phimoe',
      hiddenSize: 96,
      experts: { count: 5, used: 2, normalize: false, scoring: 'mixer', epsilon: 0.1 },
    }),
  ],
  [
    'gpt_oss',
    config({
      family: 'gpt_oss',
      window: { positions: 4, layers: [0] },
      experts: { count: 4, used: 2, normalize: true, limit: 2 },
    }),
  ],
  [
    'olmoe with clipping after its norms',
    config({ family: 'olmoe', experts: { count: 5, used: 3, normalize: false }, qkvLimit: 0.5 }),
  ],
  [
    'gemma3n',
    config({
      family: 'gemma3n',
      hiddenSize: 76,
      layers: 5,
      tiedEmbeddings: true,
      attentionScale: 1,
      window: { positions: 4, layers: [0, 2, 3] },
      localRope: { theta: 20, dims: 16, pairing: 'halves' },
      sharedKvLayers: 2,
      mlpSizes: [80, 96, 64, 70, 80],
      gateCutoffs: [
        { layer: 0, deviations: 0.5 },
        { layer: 3, deviations: -0.3 },
      ],
      layerEmbedding: { size: 24, rows: 50 },
      streams: { count: 3, active: 1, isScaled: true, besideRank: 6 },
    }),
  ],
  [
    'gemma4',
    config({
      family: 'gemma4',
      layers: 4,
      attentionScale: 1,
      window: { positions: 4, layers: [0, 2] },
      localRope: { theta: 20, dims: 16, pairing: 'halves' },
      fullHeads: { kvHeads: 1, headDim: 32 },
      rope: { theta: 1000, dims: 32, pairing: 'halves' },
      sharedKvLayers: 2,
      layerEmbedding: { size: 32, rows: 50 },
      layerScales: [0.5, 1.5, 1, 0.75],
    }),
  ],
  ['diffllama', config({ family: 'diffllama', subtracted: [0.3, 0.4] })],
  [
    'diffllama with heads 12 wide',
    config({
      family: 'diffllama',
      heads: 6,
      kvHeads: 6,
      headDim: 12,
      rope: { theta: 1000, dims: 12, pairing: 'halves' },
      subtracted: [0.3, -0.4],
    }),
  ],
  [
    'zamba2',
    config({
      family: 'zamba2',
      layers: 5,
      headDim: 32,
      kvHeads: 4,
      rope: { theta: 1000, dims: 32, pairing: 'halves' },
      ssm: { ...MAMBA2, timeStepLimit: [0.001, 3e38] },
      attentionLayers: [],
      mlpLayers: [],
      recurrentLayers: [0, 1, 2, 3, 4],
      sharedBlocks: { layers: [0, 2, 4], count: 2, rank: 5, adaptsAttention: true },
    }),
  ],
  ['gemma4 without per-layer embeddings', config({ family: 'gemma4', attentionScale: 1 })],
  ['olmoe', config({ family: 'olmoe', experts: { count: 5, used: 3, normalize: false } })],
]

/** A family that is not listed needs only its name. */
const MODELS = [
  ...LISTED,
  ...FAMILIES.filter((family) => !LISTED.some(([, model]) => model.family === family)).map(
    (family) => [family, config({ family })] as const,
  ),
]

describe.skipIf(!existsSync(FILE))('the kernels compute what the graph defines', () => {
  describe.each(MODELS)('%s', (_, model) => {
    test('in f32, to rounding', async () => {
      const { error, largest } = await compare(model, only('f32'))
      expect(error).toBeLessThan(1e-5 * largest)
    })
    test.each([
      ['w8', only('w8_g32')],
      ['w4', only('w4_g32')],
      ['mixed encodings', mixed],
    ])('in %s, to within one code of an activation', async (_name, encodingOf) => {
      const { error, largest } = await compare(model, encodingOf)
      expect(error).toBeLessThan(1e-3 * largest)
    })
  })
})
