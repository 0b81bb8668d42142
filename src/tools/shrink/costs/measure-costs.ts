// Times a token's products in each sparse format at several sparsities, and the rest of the token.

import {
  GROUP_SIZE,
  matrixBytes,
  panelBytes,
  type SparseBase,
  sparseTableBytes,
} from '../../../core/abi/encodings.ts'
import { buildGraph } from '../../../core/arch/families.ts'
import { roleOf, weightOf } from '../../../core/arch/tensors/names.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { perSecond, steadyClock } from '../../../core/base/time/clocks.ts'
import { DTYPE_OF } from '../../../core/formats/hbm/hbm.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { Random } from '../../../core/generate/sampler/random.ts'
import { compile } from '../../../core/graph/compile-graph.ts'
import { slotsOf } from '../../../core/graph/plan/cost.ts'
import type { Plan, WeightSlot } from '../../../core/graph/plan/plan.ts'
import type { Build } from '../../../core/runtime/features.ts'
import type { Host } from '../../../core/runtime/host.ts'
import { COST_FORMATS, type CostFormat, type CostTable } from '../../../core/weights/sparse/cost-table.ts'
import { sparseSlot } from '../../../core/weights/sparse/pack.ts'
import { STRIP_PANELS } from '../../../core/weights/sparse/panels.ts'
import type { BuiltModel } from '../../../engine/load/build-model.ts'
import type { PreparedModel } from '../../../engine/load/prepare.ts'
import { openTimedPlan, type RepeatedStep, type TimedPlan } from './timed-plan.ts'

interface PaceOptions {
  /** How many of the last ids run one by one. */
  readonly tokens: number
  readonly now: () => number
  readonly signal: AbortSignal
}

/** A prompt that has been processed. */
export interface Paced {
  /** Tokens per second. */
  readonly prefill: number
  /** Runs the last ids. Returns tokens per second. */
  decode(): Promise<number>
  release(): void
}

/** Processes the first ids with a new sequence. Throws what the scheduler throws. */
export async function pace(
  { scheduler, newSequence }: Pick<BuiltModel, 'scheduler' | 'newSequence'>,
  ids: readonly number[],
  { tokens, now: clock, signal }: PaceOptions,
): Promise<Paced> {
  const now = steadyClock(clock)
  const prompt = ids.slice(0, ids.length - tokens)
  const sequence = newSequence()
  const run = () => scheduler.forward({ sequence, onLogits: () => undefined, signal })
  try {
    sequence.setTokens(prompt)
    const started = now()
    await run()
    return {
      prefill: perSecond(prompt.length, now() - started),
      async decode() {
        const before = now()
        for (const id of ids.slice(prompt.length)) {
          sequence.append(id)
          await run()
        }
        return perSecond(tokens, now() - before)
      },
      release: () => sequence.release(),
    }
  } catch (error) {
    sequence.release()
    throw error
  }
}

const SCALE_BYTES = 16
/** Inputs of a vector. */
const QUAD = 4

/** `format`: undefined for a dense matrix. */
export function standIn(
  [n, k]: readonly [number, number],
  base: SparseBase,
  format: CostFormat | undefined,
  kept: number,
): TensorInfo {
  const source = new Random(n * 31 + k)
  const random = () => source.next()
  const panels = randomPanels(base, n, k, random)
  if (format !== undefined) dropUnits(base, panels, k, format, kept, random)
  const bytes = format === undefined ? panels : sparseSlot(base, format, panels, k)
  const packed = format === undefined ? base : (`${base}_${format}` as const)
  const place = { source: bufferSource('stand-in', bytes), offset: 0, byteLength: bytes.byteLength }
  return { name: 'stand-in', dtype: DTYPE_OF[packed], shape: [n, k], packed, ...place }
}

/** Random codes other than zero's, with scales that keep normed rows at ordinary magnitude. */
function randomPanels(base: SparseBase, n: number, k: number, random: () => number): Uint8Array {
  const bytes = new Uint8Array(matrixBytes(base, n, k))
  const block = panelBytes(base, GROUP_SIZE)
  for (let at = 0; at < bytes.length; at++) {
    const value = Math.floor(random() * 256)
    bytes[at] = base === 'w8_g32' && value === 128 ? 129 : value
  }
  // An f16 pattern near 2^-3 (times 2^8): scales near 0.0005 for 8 bits, and 16 times that for 4.
  const exponent = base === 'w8_g32' ? 0x30 : 0x3c
  for (let at = 0; at < bytes.length; at += block) {
    for (let i = 1; i < SCALE_BYTES; i += 2) bytes[at + i] = exponent | (bytes[at + i]! & 3)
  }
  return bytes
}

/** Sets units of the format to the code of zero, each with the same probability. */
function dropUnits(
  base: SparseBase,
  panels: Uint8Array,
  k: number,
  format: CostFormat,
  kept: number,
  random: () => number,
): void {
  const zero = base === 'w4_g32' ? 0x88 : 0x80
  const block = panelBytes(base, GROUP_SIZE)
  const vector = (block - SCALE_BYTES) / (GROUP_SIZE / QUAD)
  const panel = panelBytes(base, k)
  const strip = panel * STRIP_PANELS
  for (let first = 0; first < panels.length; first += strip) {
    for (let group = first; group < first + panel; group += block) {
      for (let quad = group + SCALE_BYTES; quad < group + block; quad += vector) {
        const panelsOf = [0, 1, 2, 3].map((index) => quad + index * panel)
        if (format === 'sb84') {
          for (const at of panelsOf) if (random() >= kept) panels.fill(zero, at, at + vector)
          continue
        }
        for (let input = 0; input < QUAD; input++) {
          if (random() < kept) continue
          for (const at of panelsOf) {
            for (let lane = input; lane < vector; lane += QUAD) panels[at + lane] = zero
          }
        }
      }
    }
  }
}

export interface MeasureOptions {
  readonly host: Host
  readonly signal: AbortSignal
  /** Shown in the table, for users. */
  readonly machine: string
  readonly format: SparseBase
  readonly build: Build | 'auto'
  readonly threads: number
  /** Positions before the token that is timed. */
  readonly position: number
  /** Samples per variant, alternating with dense. */
  readonly samples: number
  /** Minimum length of a sample in milliseconds. Default 2. */
  readonly leastMs?: number
  readonly onProgress?: ((done: number, total: number) => void) | undefined
}

/** The measured shares of kept weights; times in between are interpolated. */
const KEPT = [0.1, 0.3, 0.5, 0.7, 0.9] as const

/**
 * Runs the model's whole step with random codes in place of its products' matrices. Alternates a dense and a
 * sparse variant, so that other load on the machine affects both. Experts keep their weights. Throws
 * `unsupported` for a model without such matrices or a graph, and what loading throws.
 */
export async function measureCosts(prepared: PreparedModel, options: MeasureOptions): Promise<CostTable> {
  const { host, signal, format, samples, threads, leastMs = 2 } = options
  const variants = COST_FORMATS.flatMap((name) => KEPT.map((kept) => ({ name, kept })))
  const total = variants.length
  const whole = standInModel(prepared, format)
  const dense = await openStep(whole, options)
  const denseTimes: Times[] = []
  const curves = new Map<string, Record<CostFormat, [number, number][]>>()
  try {
    const calls = dense.step.callsFor(leastMs)
    for (const [index, { name, kept }] of variants.entries()) {
      options.onProgress?.(index, total)
      const model = standInModel(prepared, format, name, kept)
      const sparse = await openStep(model, options)
      const sparseTimes: Times[] = []
      const own: Times[] = []
      try {
        sparse.step.steps(1)
        for (let sample = 0; sample < samples; sample++) {
          own.push(timesOf(dense.step, whole.plan, calls))
          sparseTimes.push(timesOf(sparse.step, model.plan, calls))
          await host.yieldTask()
          signal.throwIfAborted()
        }
      } finally {
        sparse.close()
      }
      denseTimes.push(...own)
      for (const shape of own[0]?.byShape.keys() ?? []) {
        const lowOf = (times: readonly Times[]) => low(times.map(({ byShape }) => byShape.get(shape)!))
        const ratio = lowOf(sparseTimes) / lowOf(own)
        const curve = curves.get(shape) ?? { sb84: [], sv32: [] }
        curve[name].push([kept, ratio])
        curves.set(shape, curve)
      }
    }
    options.onProgress?.(total, total)
    const { build } = dense.timed
    return tableOf(prepared, denseTimes, curves, {
      ...options,
      build,
      threads: Math.min(threads, dense.timed.maxThreads),
    })
  } finally {
    dense.close()
  }
}

/** Milliseconds of one token. */
interface Times {
  readonly step: number
  /** Per matrix, keyed by `n x k` of merged matrices: the mean over matrices of that shape. */
  readonly byShape: ReadonlyMap<string, number>
  /** Milliseconds of all products together. */
  readonly matrices: number
}

function timesOf(step: RepeatedStep, plan: Plan, calls: number): Times {
  const whole = step.steps(calls)
  const ops = step.ops(calls)
  const sums = new Map<string, { ms: number; count: number }>()
  let matrices = 0
  for (const [index, op] of plan.ops.entries()) {
    const slot = slotsOf(op)
      .map((each) => plan.slots[each]!)
      .find(isProduct)
    if (slot === undefined) continue
    const shape = shapeOf(slot)
    const { ms, count } = sums.get(shape) ?? { ms: 0, count: 0 }
    sums.set(shape, { ms: ms + ops[index]!, count: count + 1 })
    matrices += ops[index]!
  }
  const byShape = new Map([...sums].map(([shape, { ms, count }]) => [shape, ms / count]))
  return { step: whole, byShape, matrices }
}

/** Whether a matrix is pruned; experts are not. */
export const isProduct = ({ ref: { kind, parts } }: WeightSlot): boolean =>
  kind === 'matrix' && parts.every(({ name }) => roleOf(name) === 'matrix' && !name.includes('.experts.'))

const shapeOf = ({ ref: { parts, k } }: WeightSlot): string =>
  `${parts.reduce((sum, { n }) => sum + n, 0)}x${k}`

/** The 10th percentile, because other load on the machine can only add time. */
const low = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 10)] ?? Number.NaN

function tableOf(
  { file }: PreparedModel,
  dense: readonly Times[],
  curves: ReadonlyMap<string, Readonly<Record<CostFormat, readonly (readonly [number, number])[]>>>,
  { machine, build, threads, format }: Pick<CostTable, 'machine' | 'build' | 'threads' | 'format'>,
): CostTable {
  const matrices = [...curves].map(([shape, ratios]) => {
    const [n = 0, k = 0] = shape.split('x').map(Number)
    const denseMs = low(dense.map(({ byShape }) => byShape.get(shape)!))
    const inMs = (name: CostFormat) =>
      ratios[name].map(([kept, ratio]): [number, number] => [kept, rounded(ratio * denseMs)])
    return { n, k, denseMs: rounded(denseMs), sb84: inMs('sb84'), sv32: inMs('sv32') }
  })
  // Every matrix's time includes the overhead of running an op alone, so the rest must not.
  const restMs = rounded(low(dense.map(({ step }) => step)) - low(dense.map(({ matrices }) => matrices)))
  if (!(restMs > 0)) throw disturbed(restMs)
  return { version: 1, machine, model: file.name, build, threads, format, restMs, matrices }
}

const disturbed = (restMs: number): HalfbyteError =>
  new HalfbyteError(
    'unsupported',
    `a token takes ${restMs} ms less than its products, so the machine was busy; measure again with more --samples`,
    { restMs },
  )

const rounded = (ms: number): number => Number(ms.toPrecision(5))

/** The model with random codes in the measured matrices. */
function standInModel(
  prepared: PreparedModel,
  base: SparseBase,
  format?: CostFormat,
  kept = 1,
): PreparedModel {
  const { file, config, plan } = prepared
  const made = new Map<string, ReturnType<typeof standIn>>()
  const weights = new Map(prepared.weights)
  for (const { ref } of plan.slots.filter(isProduct)) {
    for (const { name, n } of ref.parts) {
      const shape = `${n}x${ref.k}`
      const tensor = made.get(shape) ?? standIn([n, ref.k], base, format, kept)
      made.set(shape, tensor)
      weights.set(name, tensor)
    }
  }
  if (made.size === 0) {
    throw new HalfbyteError(
      'unsupported',
      `${file.name} has no matrices that can be pruned; measure another model`,
    )
  }
  const own = new Map(
    plan.slots.flatMap(({ ref, encoding }) => ref.parts.map(({ name }) => [name, encoding] as const)),
  )
  const encodingOf = (name: string) => weightOf(weights, name).packed ?? own.get(name) ?? 'f32'
  const stripBytesOf = (name: string): number => {
    const { byteLength, shape } = weightOf(weights, name)
    return byteLength - sparseTableBytes(shape[0] ?? 0)
  }
  const { tokens, logitRows } = plan
  const compiled = compile(buildGraph(config), { tokens, logitRows, encodingOf, stripBytesOf })
  return { ...prepared, plan: compiled, weights }
}

interface OpenStep {
  readonly timed: TimedPlan
  readonly step: RepeatedStep
  close(): void
}

async function openStep(model: PreparedModel, options: MeasureOptions): Promise<OpenStep> {
  const { host, build, threads, signal } = options
  const timed = await openTimedPlan(model, { host, build, threads, signal })
  try {
    await timed.resize(Math.min(threads, timed.maxThreads))
    const position = Math.min(options.position, model.contextLength - 1)
    const step = timed.repeat({ tokens: 1, logitRows: 1, position })
    const close = () => {
      step.release()
      timed.dispose()
    }
    return { timed, step, close }
  } catch (error) {
    timed.dispose()
    throw error
  }
}
