// Compares a timed step with a machine's limits: each op's limit, the share of it that was reached, and
// totals by kind.
import type { OpCost } from '../../../src/core/graph/plan/cost.ts'
import { type Spread, spread } from '../spread.ts'
import { DOTS_OF, type Peak } from './kernels.ts'
import type { Limits } from './limits.ts'
import type { Stage, TimedModel, TimedOp, TimedStep } from './steps.ts'

/** Everything that was measured. */
export interface Measured {
  readonly limits: readonly Limits[]
  readonly models: readonly TimedModel[]
}

/** Ops with the same name and shape, one in each layer; or all ops of a kind; or a whole step. */
export interface Line {
  /** e.g. `mlp_down [tokens, 896]`, `Linear` */
  readonly label: string
  readonly name: string
  readonly kind: OpCost['kind'] | 'step'
  /** Number of ops in the line. */
  readonly count: number
  readonly bytes: number
  readonly ops: number
  readonly ms: Spread
  /** Time at the machine's limit. */
  readonly limitMs: number
  /**
   * limitMs divided by the median time. It exceeds 1 if caches or several streams are faster than one stream.
   */
  readonly share: number
}
export interface StepAnalysis {
  readonly stage: Stage
  readonly build: TimedStep['build']
  readonly threads: number
  readonly tokens: number
  readonly position: number
  /** Most time above the limit first. */
  readonly lines: readonly Line[]
  /** Linear, Attention, Other. */
  readonly kinds: readonly Line[]
  /** The step in one run; its limit is the sum of its ops' limits. */
  readonly step: Line
  /** Tokens per second at the limit, and measured. */
  readonly limitTokensPerSecond: number
  readonly tokensPerSecond: number
}

const KINDS = ['linear', 'attention', 'other'] as const
export const KIND_NAMES = { linear: 'Linear', attention: 'Attention', other: 'Other' } as const

const opBytes = ({ weightBytes, stateBytes, activationBytes }: OpCost): number =>
  weightBytes + stateBytes + activationBytes

/** GB/s of one stream over the smallest measured working set of at least `bytes`, or over the largest one. */
export function readBandwidth({ reads }: Limits, threads: number, bytes: number): number {
  const fitting = reads
    .filter((read) => read.streams === 1 && read.threads === threads)
    .toSorted((a, b) => a.bytes - b.bytes)
  const chosen = fitting.find((read) => read.bytes >= bytes) ?? fitting.at(-1)
  if (chosen === undefined) throw new Error(`no bandwidth was measured with ${threads} threads`)
  return chosen.gigabytesPerSecond.median
}

/** The limits with the best rate of each instead of the median, for a busy machine. */
export const atBest = (limits: Limits): Limits => ({
  ...limits,
  reads: limits.reads.map((read) => ({ ...read, gigabytesPerSecond: best(read.gigabytesPerSecond) })),
  peaks: limits.peaks.map((peak) => ({ ...peak, gigaopsPerSecond: best(peak.gigaopsPerSecond) })),
})
const best = (rates: Spread): Spread => ({ ...rates, median: rates.max })

export function peakOf({ peaks }: Limits, threads: number, peak: Peak): number {
  const found = peaks.find((each) => each.peak === peak && each.threads === threads)
  if (found === undefined) throw new Error(`no peak of ${peak} was measured with ${threads} threads`)
  return found.gigaopsPerSecond.median
}

/** GOP/s of the integer dot that the build's kernels use on this machine. */
export const dotPeak = (limits: Limits, threads: number): number =>
  Math.max(...DOTS_OF[limits.build].map((peak) => peakOf(limits, threads, peak)))

/**
 * Lower bound of an op's milliseconds: the longer of the times to move its bytes and to do its operations.
 * Weights and state are read from the smallest cache, or memory, that holds `coldBytes`, which is everything
 * that the step cycles through; activations from the smallest that holds the op's own.
 */
export function limitMs(cost: OpCost, limits: Limits, threads: number, coldBytes: number): number {
  const cold = (cost.weightBytes + cost.stateBytes) / readBandwidth(limits, threads, coldBytes)
  const warm = cost.activationBytes / readBandwidth(limits, threads, cost.activationBytes)
  const peak = cost.unit === 'integer' ? dotPeak(limits, threads) : peakOf(limits, threads, 'mul_add')
  return Math.max(cold + warm, cost.ops / peak) / 1e6
}

/** Throws when `limits` lacks the step's number of threads. */
export function analyseStep(step: TimedStep, limits: Limits): StepAnalysis {
  const coldBytes = sum(step.ops, ({ cost }) => cost.weightBytes + cost.stateBytes)
  const limitOf = (op: TimedOp) => limitMs(op.cost, limits, step.threads, coldBytes)
  const line = (label: string, kind: Line['kind'], name: string, ops: readonly TimedOp[]): Line => {
    const ms = spread((ops[0]?.ms ?? []).map((_, sample) => sum(ops, (op) => op.ms[sample] ?? 0)))
    const limit = sum(ops, limitOf)
    return {
      label,
      kind,
      name,
      ms,
      limitMs: limit,
      share: limit / ms.median,
      count: ops.length,
      bytes: sum(ops, ({ cost }) => opBytes(cost)),
      ops: sum(ops, ({ cost }) => cost.ops),
    }
  }
  const groups = Map.groupBy(step.ops, ({ name, label }) => `${name} ${withoutLayer(label)}`)
  const lines = [...groups.values()].map((ops) => {
    const [first] = ops as [TimedOp]
    return line(withoutLayer(first.label), first.cost.kind, first.name, ops)
  })
  const kinds = KINDS.map((kind) =>
    line(
      KIND_NAMES[kind],
      kind,
      kind,
      step.ops.filter(({ cost }) => cost.kind === kind),
    ),
  ).filter(({ count }) => count > 0)
  const { stage, build, threads, stepMs, shape } = step
  const ops = line('whole step', 'step', 'step', step.ops)
  const whole = { ...ops, ms: stepMs, share: ops.limitMs / stepMs.median }
  return {
    stage,
    build,
    threads,
    tokens: shape.tokens,
    position: shape.position,
    lines: lines.toSorted((a, b) => lost(b) - lost(a)),
    kinds,
    step: whole,
    limitTokensPerSecond: (shape.tokens / whole.limitMs) * 1000,
    tokensPerSecond: (shape.tokens / stepMs.median) * 1000,
  }
}

/** Every step whose build has limits, in the order of measurement. */
export function analyse({ limits, models }: Measured): StepAnalysis[] {
  return models.flatMap(({ steps }) =>
    steps.flatMap((step) => {
      const own = limits.find(({ build }) => build === step.build)
      return own === undefined ? [] : [analyseStep(step, own)]
    }),
  )
}

/** Milliseconds above the limit. */
const lost = ({ ms, limitMs: limit }: Line): number => ms.median - limit

/** `layers.3.mlp_down [tokens, 896]` as `mlp_down [tokens, 896]`. */
const withoutLayer = (label: string): string => label.replace(/^layers\.\d+\./, '')

const sum = <T>(items: readonly T[], value: (item: T) => number): number =>
  items.reduce((total, item) => total + value(item), 0)
