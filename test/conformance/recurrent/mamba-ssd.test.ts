// Conformance of SSD. In: outputs of the official Mamba-2 kernels, whole and in parts. Out: whether ours
// match, for chunks and single steps.
//
// The official kernels clamp exponents at 0. If A is positive (never in a trained model) or a step size is
// negative, they compute a different recurrence, as one test shows. Other tests skip heads with a positive A,
// the case with several sequences in a row (A and step sizes of both signs), complex A and dropout, which no
// model that the engine loads has.
import { describe, expect, test } from 'vitest'
import { evaluate, plainMachine } from '../../../wasm/testing/machine.ts'
import {
  BOTH_BUILDS,
  CUTS,
  caseOf,
  expectClose,
  type Head,
  json,
  reference,
  scanChannel,
  silu,
  ssdHead,
  type Tensor,
} from '../testing/mamba-ops.ts'

const BATCHES = [0, 1] as const
const HEADS = [0, 1] as const
const CHUNKS = [0, 1] as const
/** Rows per chunk in the fixtures of parts of the algorithm. */
const CHUNK = 3
/** Softplus turns this number into a step size of 1. */
const ONE = Math.log(Math.E - 1)

/** Runs every head in both builds, in one step and row by row. */
function expectHead(head: Head, y?: readonly number[], state?: readonly number[]): void {
  for (const build of BOTH_BUILDS) {
    for (const cut of CUTS) {
      const ours = ssdHead(build, head, cut)
      if (y !== undefined) expectClose(ours.y.flat(), y, 'tf32')
      if (state !== undefined) expectClose(ours.state.flat(), state, 'tf32')
    }
  }
}

const range = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index)
/** Rows of [batch][row][head][...], and a head's state as [...][channel][state]. */
const rowsOf = (tensor: Tensor, batch: number, head: number, rows: readonly number[]) =>
  rows.map((row) => tensor.line(batch, row, head))
const stateOf = (tensor: Tensor, ...place: number[]) =>
  range(tensor.shape.at(-2)!).map((channel) => tensor.line(...place, channel))

describe('SSD', () => {
  const whole = (batch: number, head: number): { head: Head; y: number[]; state: number[] } => {
    const { inputs, outputs } = reference('ssd_combined', 'combined_full')
    const rows = range(6)
    return {
      head: {
        x: rowsOf(inputs['X']!, batch, head, rows),
        z: rowsOf(inputs['z']!, batch, head, rows),
        dt: rows.map((row) => inputs['dt']!.at(batch, row, head)),
        bias: inputs['dt_bias']!.at(head),
        b: rowsOf(inputs['B']!, batch, 0, rows),
        c: rowsOf(inputs['C']!, batch, 0, rows),
        a: inputs['A']!.at(head),
        skips: inputs['D']!.line(head),
        state: stateOf(inputs['initial_states']!, batch, head),
      },
      y: rowsOf(outputs['y']!, batch, head, rows).flat(),
      state: stateOf(outputs['final_states']!, batch, head).flat(),
    }
  }

  test('from a state, with a skip per channel', () => {
    const all = BATCHES.flatMap((batch) => HEADS.map((head) => whole(batch, head)))
    const trained = all.filter(({ head }) => head.a < 0)
    expect(trained.length).toBeGreaterThan(0)
    for (const { head, y, state } of trained) expectHead(head, y, state)
  })

  test('the official kernel clamps the exponents between rows of a chunk, which matters if A is positive', () => {
    for (const [batch, head] of BATCHES.flatMap((b) => HEADS.map((h) => [b, h] as const))) {
      const { head: given, y } = whole(batch, head)
      expectClose(
        byChunks(given, (exponent) => Math.min(exponent, 0)),
        y,
        'tf32',
      )
      const unclamped = byChunks(given, (exponent) => exponent)
      const furthest = Math.max(...unclamped.map((value, index) => Math.abs(value - y[index]!)))
      if (given.a > 0) expect(furthest).toBeGreaterThan(0.1)
      else expect(furthest).toBeLessThan(0.05)
    }
  })

  const parts = () => reference('ssd_components', 'chunk_cumsum').inputs['A']!
  const stepsOf = (tensor: Tensor, batch: number, head: number, chunk: number) =>
    tensor.line(batch, head, chunk)
  const trainedHeads = () => HEADS.filter((head) => parts().at(head) < 0)
  const each = (): [number, number, number][] =>
    BATCHES.flatMap((batch) =>
      trainedHeads().flatMap((head) => CHUNKS.map((chunk): [number, number, number] => [batch, head, chunk])),
    )

  test('step sizes pass through softplus', () => {
    const { inputs, outputs } = reference('ssd_components', 'chunk_cumsum')
    const { dt, dt_bias: bias } = inputs as Record<string, Tensor>
    for (const build of BOTH_BUILDS) {
      for (const batch of BATCHES) {
        for (const head of HEADS) {
          const raw = range(8).map((row) => (row < 6 ? dt!.at(batch, row, head) + bias!.at(head) : 0))
          const { vector } = evaluate(plainMachine(build), 'step_size', Float32Array.from(raw))
          const right = CHUNKS.flatMap((chunk) => stepsOf(outputs['dt_out']!, batch, head, chunk))
          expectClose([...vector.subarray(0, 6)], right)
        }
      }
    }
  })

  test('a state of ones decays by the sum of the exponents', () => {
    const { outputs } = reference('ssd_components', 'chunk_cumsum')
    for (const [batch, head, chunk] of each()) {
      const nothing = range(CHUNK).map(() => [0, 0, 0, 0])
      const steps = stepsOf(outputs['dt_out']!, batch, head, chunk)
      const c = range(CHUNK).map(() => [1, 0, 0, 0])
      const right = outputs['dA_cumsum']!.line(batch, head, chunk).map(Math.exp)
      const state = [[1, 0, 0, 0]]
      expectHead({ x: nothing.map(() => [0]), steps, b: nothing, c, a: parts().at(head), state }, right)
    }
  })

  test('step sizes stay within their limits: a state of ones decays by the clamped sizes', () => {
    const { inputs, outputs } = reference('ssd_components', 'chunk_cumsum_clamped')
    for (const [batch, head, chunk] of each()) {
      const rows = range(CHUNK, chunk * CHUNK)
      const raw = rows.map((row) => inputs['dt']!.at(batch, row, head))
      // The case clamps numbers of either sign. Negative ones, which softplus never gives, become the lower
      // limit.
      const steps = raw.map((value) => Math.max(value, 1e-4))
      const nothing = rows.map(() => [0, 0, 0, 0])
      const right = outputs['dA_cumsum']!.line(batch, head, chunk).map(Math.exp)
      const c = rows.map(() => [1, 0, 0, 0])
      const state = [[1, 0, 0, 0]]
      const limits = [0.01, 1] as const
      expectHead({ x: rows.map(() => [0]), steps, b: nothing, c, a: parts().at(head), state, limits }, right)
    }
  })

  test('the state at the end of a chunk', () => {
    const { inputs, outputs } = reference('ssd_components', 'chunk_state')
    for (const [batch, head, chunk] of each()) {
      const rows = range(CHUNK, chunk * CHUNK)
      const b = rowsOf(inputs['B']!, batch, 0, rows)
      const steps = stepsOf(inputs['dt']!, batch, head, chunk)
      const x = rowsOf(inputs['x']!, batch, head, rows)
      const right = stateOf(outputs['states']!, batch, chunk, head).flat()
      expectHead({ x, steps, b, c: b, a: parts().at(head) }, undefined, right)
    }
  })

  test('states are passed from chunk to chunk', () => {
    const { inputs } = reference('ssd_components', 'chunk_state')
    const { outputs } = reference('ssd_components', 'state_passing')
    for (const [batch, head] of BATCHES.flatMap((b) => trainedHeads().map((h) => [b, h] as const))) {
      const until = (chunk: number, right: readonly number[]) => {
        const rows = range(chunk * CHUNK)
        const b = rowsOf(inputs['B']!, batch, 0, rows)
        const steps = range(chunk).flatMap((index) => stepsOf(inputs['dt']!, batch, head, index))
        const x = rowsOf(inputs['x']!, batch, head, rows)
        expectHead({ x, steps, b, c: b, a: parts().at(head) }, undefined, right)
      }
      until(1, stateOf(outputs['states_passed']!, batch, 1, head).flat())
      until(2, outputs['final_states']!.line(batch, head))
    }
  })

  test.each(['chunk_scan_vector_D', 'chunk_scan_matrix_D_z'])(
    'a chunk that starts from a state: %s',
    (name) => {
      const { inputs, outputs } = reference('ssd_components', name)
      const skip = inputs['D']!
      for (const [batch, head, chunk] of each()) {
        const rows = range(CHUNK, chunk * CHUNK)
        const x = rowsOf(inputs['x']!, batch, head, rows)
        expectHead(
          {
            x,
            z: inputs['z'] && rowsOf(inputs['z'], batch, head, rows),
            a: parts().at(head),
            b: rowsOf(inputs['B']!, batch, 0, rows),
            c: rowsOf(inputs['C']!, batch, 0, rows),
            steps: stepsOf(inputs['dt']!, batch, head, chunk),
            skips: skip.shape.length === 2 ? skip.line(head) : x[0]!.map(() => skip.at(head)),
            state: stateOf(inputs['states']!, batch, chunk, head),
          },
          rowsOf(outputs['y']!, batch, head, rows).flat(),
        )
      }
    },
  )

  test.each(['basic', 'causal_seq', 'grouped'])('products of rows of C and B: %s', (name) => {
    const { inputs, outputs } = reference('ssd_bmm', name)
    const { a, b } = inputs as Record<string, Tensor>
    const isGrouped = a!.shape.length === 4
    const sequence = inputs['seq_idx']
    for (const [batch, chunk, group] of BATCHES.flatMap((n) =>
      CHUNKS.flatMap((m) => range(isGrouped ? 2 : 1).map((g) => [n, m, g] as const)),
    )) {
      const rows = range(CHUNK, chunk * CHUNK)
      const read = (tensor: Tensor) =>
        isGrouped ? rowsOf(tensor, batch, group, rows) : rows.map((row) => tensor.line(batch, row))
      const right = (i: number, j: number) =>
        isGrouped ? outputs['out']!.at(batch, chunk, group, i, j) : outputs['out']!.at(batch, chunk, i, j)
      // Each row enters its own channel and nothing decays, so the output of row i is c[i] b[j] for
      // every j up to i.
      const lower = (b: number[][], c: number[][]) =>
        ssdHead(
          'relaxed',
          { x: rows.map((_, i) => rows.map((_, j) => Number(i === j))), dt: rows.map(() => ONE), b, c, a: 0 },
          CUTS[0]!,
        ).y
      const below = lower(read(b!), read(a!))
      const above = lower(read(a!), read(b!))
      for (const [i, j] of range(CHUNK).flatMap((i) => range(CHUNK).map((j) => [i, j] as const))) {
        const isOne = sequence === undefined || sequence.at(batch, rows[i]!) === sequence.at(batch, rows[j]!)
        // Our kernel never combines rows of two sequences. The official kernel's values above the diagonal
        // are unused.
        if (isOne) expectClose([j <= i ? below[i]![j]! : above[j]![i]!], [right(i, j)], 'tf32')
      }
    }
  })

  test.each(['ssd_chunk_scan_case1.json', 'ssd_chunk_scan_varlen.json'])(
    'another implementation, with one state number per channel: %s',
    (name) => {
      const stored = json(name)
      const { inputs, outputs } = caseOf(stored)
      const { X, dt, A, B, C, D, z, initial_states: initial } = inputs as Record<string, Tensor>
      const [batches = 0, , heads = 0, width = 0] = X!.shape
      const ends: number[] = stored.inputs.seq_meta.cu_seqlens
      for (const batch of range(batches)) {
        const rows = range(ends[batch + 1]! - ends[batch]!)
        for (const [h, p] of range(heads).flatMap((h) => range(width).map((p) => [h, p] as const))) {
          const own = (tensor: Tensor, row: number) => {
            const axes = tensor.shape.length
            if (axes === 4) return tensor.at(batch, row, h, p)
            return axes === 3 ? tensor.at(batch, h, p) : tensor.at(h, p)
          }
          const channel = {
            u: rows.map((row) => X!.at(batch, row, h, p)),
            a: [A!.at(h, p)],
            steps: rows.map((row) => dt!.at(batch, row, h)),
            state: [initial!.at(batch, h, p)],
            b: rows.map((row) => [own(B!, row)]),
            c: rows.map((row) => [own(C!, row)]),
            z: rows.map((row) => (z!.shape.length === 3 ? z!.at(batch, row, h) : z!.at(batch, row, h, p))),
            skip: D!.shape.length === 1 ? D!.at(h) : D!.at(h, p),
          }
          const right = rows.map((row) => outputs['Y']!.at(batch, row, h, p))
          for (const build of BOTH_BUILDS) {
            for (const cut of CUTS) expectClose(scanChannel(build, channel, cut).y, right)
          }
        }
      }
    },
  )
})

/**
 * The paper's algorithm in chunks of three rows, in f64. `limit` is applied to exponents between two rows of
 * a chunk.
 */
function byChunks(
  { x, dt = [], bias = 0, z, b, c, a, skips, state = [] }: Head,
  limit: (e: number) => number,
) {
  const steps = dt.map((value) => Math.log1p(Math.exp(value + bias)))
  const dot = (one: readonly number[], two: readonly number[]) =>
    one.reduce((sum, value, index) => sum + value * two[index]!, 0)
  let h = state.map((line) => [...line])
  const y: number[] = []
  for (let first = 0; first < x.length; first += CHUNK) {
    const rows = range(CHUNK, first)
    const sums = rows.map((row) => steps.slice(first, row + 1).reduce((sum, step) => sum + step * a, 0))
    for (const [i, row] of rows.entries()) {
      for (const [p, skip] of (skips ?? []).entries()) {
        let sum = Math.exp(sums[i]!) * dot(h[p]!, c[row]!)
        for (let j = 0; j <= i; j++) {
          const from = first + j
          sum += dot(c[row]!, b[from]!) * Math.exp(limit(sums[i]! - sums[j]!)) * steps[from]! * x[from]![p]!
        }
        y.push((sum + skip * x[row]![p]!) * silu(z![row]![p]!))
      }
    }
    const last = sums.at(-1)!
    h = h.map((line, p) =>
      line.map((value, n) =>
        rows.reduce(
          (sum, row, j) => sum + Math.exp(limit(last - sums[j]!)) * steps[row]! * x[row]![p]! * b[row]![n]!,
          Math.exp(last) * value,
        ),
      ),
    )
  }
  return y
}
