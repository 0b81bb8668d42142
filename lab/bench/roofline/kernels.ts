// The limit kernels of wasm/limits/limits.c as data: codes, record layout, operations and results of each
// kernel.
import type { Build } from '../../../src/core/runtime/features.ts'

/** `enum limit_code`, in lower case. */
export const LIMIT_CODE = {
  nothing: 0,
  read_one: 1,
  read_eight: 2,
  dot_i16: 3,
  mul_add: 4,
  dot_i8: 5,
  fma: 6,
  dot_i8_pairs: 7,
} as const

/** Word index of each field of `struct limit`, and its length. */
export const LIMIT = { code: 0, address: 1, bytes: 2, rounds: 3, results: 4 } as const
export const LIMIT_WORDS = 5
/** Words from one thread's result to the next: a cache line. */
export const RESULT_WORDS = 16

export type Peak = 'dot_i8' | 'dot_i8_pairs' | 'dot_i16' | 'mul_add' | 'fma'

/** Operations of one round: 8 vector steps; a multiplication and an addition are two. */
export const PEAK_OPS: Readonly<Record<Peak, number>> = {
  dot_i8: 8 * 32,
  dot_i8_pairs: 8 * 32,
  dot_i16: 8 * 16,
  mul_add: 8 * 8,
  fma: 8 * 8,
}

export const PEAKS: Readonly<Record<Build, readonly Peak[]>> = {
  relaxed: ['dot_i8', 'dot_i8_pairs', 'dot_i16', 'mul_add', 'fma'],
  simd128: ['dot_i16', 'mul_add'],
}

/**
 * The integer dots that each build's kernels use. The fastest one counts, because the relaxed build chooses
 * it.
 */
export const DOTS_OF: Readonly<Record<Build, readonly Peak[]>> = {
  relaxed: ['dot_i8', 'dot_i8_pairs'],
  simd128: ['dot_i16'],
}

/** A thread's share of a working set is rounded down to a multiple of this. */
export const SLICE_BYTES = 4096

/** The sum of a read of `bytes` (u32 words of 1) after `rounds` passes. */
export const expectedSum = (bytes: number, rounds: number): number => ((bytes / 4) * rounds) % 2 ** 32

/** The result of a peak kernel after `rounds`: one lane of the same arithmetic, in JavaScript. */
export function expectedPeak(peak: Peak, rounds: number): number {
  const x = [1, 2]
  const w = [1, 2, 3, 4]
  const acc = new Array<number>(8).fill(0)
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < 8; i++) acc[i] = STEP[peak](acc[i] ?? 0, x[i >> 2] ?? 0, w[i % 4] ?? 0)
    for (let i = 0; i < 2; i++) x[i] = MOVE[peak]((x[i] ?? 0) + (w[i] ?? 0))
  }
  const bits = acc.map(BITS[peak])
  return (bits.reduce((sum, value) => (sum + value) | 0, 0) * 4) >>> 0
}

/** The 32 bits of each lane of a vector whose four lanes are equal, from the lane's value. */
const BITS: Readonly<Record<Peak, (value: number) => number>> = {
  dot_i8: (sum) => sum,
  dot_i8_pairs: (sum) => Math.imul(sum & 0xffff, 0x10001),
  dot_i16: (sum) => sum,
  mul_add: bitsOf,
  fma: bitsOf,
}

type Step = (acc: number, x: number, w: number) => number
const integer =
  (terms: number): Step =>
  (acc, x, w) =>
    (acc + terms * x * w) | 0
/** Rounding once or twice makes no difference for the small whole numbers of a test. */
const float: Step = (acc, x, w) => Math.fround(acc + Math.fround(x * w))
const STEP: Readonly<Record<Peak, Step>> = {
  dot_i8: integer(4),
  dot_i8_pairs: integer(2),
  dot_i16: integer(2),
  mul_add: float,
  fma: float,
}
const MOVE: Readonly<Record<Peak, (x: number) => number>> = {
  dot_i8: (x) => (x << 24) >> 24,
  dot_i8_pairs: (x) => (x << 24) >> 24,
  dot_i16: (x) => (x << 16) >> 16,
  mul_add: Math.fround,
  fma: Math.fround,
}

const scratch = new DataView(new ArrayBuffer(4))
function bitsOf(value: number): number {
  scratch.setFloat32(0, value)
  return scratch.getInt32(0)
}
