// Estimates a model's speed on this machine from a short run of the same kernels.

import { BLOCK_POSITIONS } from '../../core/abi/constants.ts'
import { type Encoding, groupEncoding, matrixBytes } from '../../core/abi/encodings.ts'
import type { ModelConfig } from '../../core/arch/config/config.ts'
import { expectedTensors } from '../../core/arch/tensors/tensor-names.ts'
import { steadyClock } from '../../core/base/time/clocks.ts'
import { DTYPE_OF } from '../../core/formats/hbm/hbm.ts'
import type { MetaObject } from '../../core/formats/json-files.ts'
import type { ModelFile } from '../../core/formats/readers.ts'
import type { TensorInfo } from '../../core/formats/tensors.ts'
import { probeStep } from '../../core/generate/probe-step.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import { planCosts, planTotals } from '../../core/graph/plan/cost.ts'
import type { Plan } from '../../core/graph/plan/plan.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { Host } from '../../core/runtime/host.ts'
import { openPool, openRuntime } from '../../core/runtime/open-runtime.ts'
import { memoryNeed } from '../load/memory-need.ts'
import { placeModel } from '../load/place-model.ts'
import { prepareModel } from '../load/prepare.ts'

/**
 * Larger than most caches, because a real model's weights come from memory, but small enough to write in
 * about 30 ms.
 */
const WEIGHT_BYTES = 24e6
/**
 * Read as f16, bf16 or f32 this is a positive number of medium size; read as 4-bit or 8-bit codes it has both
 * signs.
 */
const FILL = 0x3c

const SHAPE: ModelConfig = {
  family: 'llama',
  name: 'gauge',
  hiddenSize: 1024,
  layers: 1,
  heads: 16,
  kvHeads: 4,
  headDim: 64,
  intermediateSize: 2816,
  vocabSize: 256,
  normEpsilon: 1e-5,
  rope: { theta: 1e4, dims: 64, pairing: 'halves' },
  contextLength: 64,
  tiedEmbeddings: true,
}

/** Built as a pack, so that its weights are copied unchanged. */
function gaugeModel(encoding: Encoding): ModelFile {
  const inLayer = tensorsOf(SHAPE, encoding).filter(({ name }) => name.startsWith('layers.'))
  const layerBytes = inLayer.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const config = { ...SHAPE, layers: Math.max(1, Math.round(WEIGHT_BYTES / layerBytes)) }
  const tensors = new Map(tensorsOf(config, encoding).map((tensor) => [tensor.name, tensor]))
  const metadata = new Map([['config', config as unknown as MetaObject]])
  return { format: 'hbm', name: config.name, tensors, metadata }
}

const tensorsOf = (config: ModelConfig, encoding: Encoding): TensorInfo[] =>
  Array.from(expectedTensors('hbm', config), ({ name, shape }) => {
    const [n = 0, k] = shape
    const packed = k === undefined ? 'f32' : encoding
    const size = k === undefined ? n * 4 : matrixBytes(encoding, n, k)
    const read = async (_offset: number, length: number) => new Uint8Array(length).fill(FILL)
    const source = { name: config.name, size, read }
    return { name, dtype: DTYPE_OF[packed], shape, source, offset: 0, byteLength: size, packed }
  })

/**
 * Bytes of weights and state that are read for a token at `position`. Rows stay in caches and do not count.
 */
export function decodeBytes(plan: Plan, position: number): number {
  const { decodeBytes: weights, blockBytes, slabBytes } = planTotals(plan)
  return plan.stateGroups.reduce(
    (sum, { window }, group) => {
      const positions = window === 0 ? position : Math.min(position, window)
      return sum + ((blockBytes[group] ?? 0) / BLOCK_POSITIONS) * positions
    },
    weights + 2 * slabBytes,
  )
}

/**
 * Operations per element of recurrent state and row; a weight costs two. The value is between those of a scan
 * and of SSD.
 */
const STATE_OPS = 7

/** Operations of a prompt. Ops that are cheap compared with its matrix products are omitted. */
export function prefillOps(plan: Plan, tokens: number): number {
  const products = planCosts(plan, { tokens, logitRows: 1, position: 0 }).filter(
    ({ kind }) => kind === 'linear',
  )
  const state = (plan.slabBytes / 4) * STATE_OPS * tokens
  return products.reduce((sum, { ops }) => sum + ops, state)
}

interface GaugeOptions {
  readonly host: Host
  readonly threads: number | 'auto'
  readonly build: Build | 'auto'
  readonly kvCache?: KvFormat | undefined
  readonly signal: AbortSignal
}

/** Estimated tokens per second of a prompt and of a reply. */
export interface Speeds {
  readonly prefillTokensPerSecond: number
  readonly decodeTokensPerSecond: number
}

/** Milliseconds for which decode and prefill are timed; each runs at least once. */
const TIMED_MS = 60
/** Ends the timing if the clock stands still: enough for a best time. */
const MAX_RUNS = 32
/** Shorter than any run, so that a coarse clock does not give infinite speeds. */
const LEAST_MS = 0.001
/**
 * Rows of the timed prefill: enough to use the kernels for many rows, fewer if these would exceed the time.
 */
const FEWEST_ROWS = 8
const MAX_ROWS = 32
/** The position in a conversation that the estimates assume. */
const POSITION = 512
const PREFILL_ROWS = 128

/**
 * Runs a small model in the encoding of most of the plan's weights. Scales its speed by the cost of
 * both plans: decode by bytes moved, prefill by operations. Throws the same errors as loading a model.
 */
export async function gaugeSpeeds(
  plan: Plan,
  contextLength: number,
  { host, threads, build, kvCache, signal }: GaugeOptions,
): Promise<Speeds> {
  const prepared = await prepareModel(gaugeModel(mainEncoding(plan)), { weights: 'auto', kvCache })
  const runtime = await openRuntime({ host, threads, build, ...memoryNeed(prepared) })
  signal.throwIfAborted()
  const { written, step, cache, connect } = await placeModel(runtime.arena, prepared, { signal })
  const run = (rows: number) => probeStep(pool, written, step, cache, rows)
  const pool = await openPool(runtime, {
    host,
    threads,
    probe: (candidate) => probeStep(candidate, written, step, cache),
  })
  connect(pool)
  try {
    const now = steadyClock(() => host.now())
    const timed = (rows: number, forMs: number): number => {
      const start = now()
      let best = Number.POSITIVE_INFINITY
      let at = start
      for (let runs = 0; at - start < forMs && runs < MAX_RUNS; runs++) {
        run(rows)
        const end = now()
        best = Math.min(best, end - at)
        at = end
      }
      return Math.max(best, LEAST_MS)
    }
    const decodeMs = timed(1, TIMED_MS)
    const fewMs = timed(FEWEST_ROWS, 1)
    const rows = Math.max(
      FEWEST_ROWS,
      Math.min(MAX_ROWS, Math.floor((FEWEST_ROWS * TIMED_MS) / Math.max(fewMs, 0.1))),
    )
    const prefillMs = timed(rows, TIMED_MS)
    const position = Math.min(POSITION, Math.floor(contextLength / 2))
    const decodeRatio = decodeBytes(plan, position) / decodeBytes(prepared.plan, 0)
    const tokens = Math.min(PREFILL_ROWS, plan.tokens)
    const prefillRatio = prefillOps(plan, tokens) / prefillOps(prepared.plan, rows)
    return {
      decodeTokensPerSecond: 1000 / (decodeMs * decodeRatio),
      prefillTokensPerSecond: (1000 * tokens) / (prefillMs * prefillRatio),
    }
  } finally {
    pool.dispose()
  }
}

/** The encoding of most weights, by bytes. */
function mainEncoding(plan: Plan): Encoding {
  const bytes = new Map<Encoding, number>()
  for (const { encoding, bytes: size } of plan.slots) {
    const dense = groupEncoding(encoding)
    bytes.set(dense, (bytes.get(dense) ?? 0) + size)
  }
  const [first] = [...bytes].sort(([, left], [, right]) => right - left)
  return first?.[0] ?? 'f32'
}
