// GPTQ. In: small problems. Out: whether codes match the definition of OBS, and losses the measured ones.
import { describe, expect, test } from 'vitest'
import { decode, type GridFormat } from '../codes/coded-matrix.ts'
import {
  hessianOf,
  measuredLoss,
  obs,
  type Problem,
  type QuantizerOf,
  randomProblem,
  storedScale,
} from '../testing/obs.ts'
import { factorize, plainDense } from './factor.ts'
import { gptq } from './gptq.ts'
import { rtn } from './grid.ts'
import { inputStats } from './hessian.ts'
import { lossOf } from './loss.ts'
import { driftRows, targetsOf } from './targets.ts'

/** Sums over inputs are f32. */
const expectNear = (loss: number, measured: number) =>
  expect(Math.abs(loss / measured - 1)).toBeLessThan(1e-5)

/** Fits grids as the solver does, for comparison with the definition. */
const PLAIN = { search: false }

const FORMATS: readonly GridFormat[] = [
  'w4_g32',
  'w4m_g32',
  'w8_g32',
  'w4_channel',
  'w4_g64',
  'w3_g32',
  'w2_g128',
]

const factorOf = ({ inputs, k }: Problem, options = {}) => factorize('w', inputStats('w', inputs, k), options)

/** 2 `zero` levels around zero, with the clipping of least weighted error; a direct implementation. */
const symmetric =
  (clips: readonly number[], zero = 8): QuantizerOf =>
  (weights, importance) => {
    const peak = weights.reduce((most, w) => (Math.abs(w) > Math.abs(most) ? w : most), 0)
    const level = (w: number, scale: number) =>
      Math.min(zero - 1, Math.max(-zero, Math.floor(w / scale + 0.5)))
    let least = Number.POSITIVE_INFINITY
    let scale = 0
    for (const clip of clips) {
      const codes = weights.map((w) => level(w, (-peak * 8) / (clip * zero)))
      const top = weights.reduce((sum, w, i) => sum + importance[i]! * w * codes[i]!, 0)
      const best = top / codes.reduce((sum, c, i) => sum + importance[i]! * c * c, 0)
      const error = weights.reduce((sum, w, i) => sum + importance[i]! * (w - best * codes[i]!) ** 2, 0)
      if (error < least) [least, scale] = [error, best]
    }
    const stored = storedScale(scale)
    return (w) => (stored === 0 ? 0 : level(w, stored) * stored)
  }
const CLIPS = [8, 8.5, 9, 7.6, 7.2, 6.8]
const ROW_CLIPS = [...CLIPS, 9.6, 10.4, 11.4, 12.6, 14, 16, 19, 23, 28]

const bytes: QuantizerOf = (weights) => {
  const scale = storedScale(Math.max(...weights.map(Math.abs)) / 127)
  return (w) => Math.min(127, Math.max(-127, Math.floor(w / scale + 0.5))) * scale
}

describe('gptq', () => {
  test.each([
    [4, 64, 300],
    [3, 76, 200],
    [5, 96, 40],
  ])('chooses the codes of OBS by its definition in groups: [%i, %i] from %i inputs', (n, k, rows) => {
    const problem = randomProblem(n, k, rows, n * k)
    const { coded } = gptq(problem.weights, n, k, 'w4_g32', factorOf(problem, { damp: 0.02 }), PLAIN)
    const reference = obs(problem, hessianOf(problem, 0.02), 32, symmetric(CLIPS))
    expect(decode(coded)).toEqual(reference)
    const eight = gptq(problem.weights, n, k, 'w8_g32', factorOf(problem, { damp: 0.02 }), PLAIN)
    expect(decode(eight.coded)).toEqual(obs(problem, hessianOf(problem, 0.02), 32, bytes))
  })

  test.each<[GridFormat, number, number]>([
    ['w4_g64', 64, 8],
    ['w3_g64', 64, 4],
    ['w2_g32', 32, 2],
    ['w3_g128', 128, 4],
  ])('%s: chooses the codes of OBS by its definition', (format, size, zero) => {
    const [n, k] = [2, 136]
    const problem = randomProblem(n, k, 180, size + zero)
    const { coded } = gptq(problem.weights, n, k, format, factorOf(problem), PLAIN)
    expect(Math.max(...coded.codes)).toBeLessThan(2 * zero)
    expect(decode(coded)).toEqual(obs(problem, hessianOf(problem, 0.01), size, symmetric(ROW_CLIPS, zero)))
  })

  test('chooses the codes of OBS with one scale per output', () => {
    const problem = randomProblem(4, 72, 200, 9)
    const hessian = hessianOf(problem, 0.01)
    const channel = gptq(problem.weights, 4, 72, 'w4_channel', factorOf(problem), PLAIN)
    expect(decode(channel.coded)).toEqual(obs(problem, hessian, 72, symmetric(ROW_CLIPS), true))
  })

  test.each(FORMATS)('%s: the reported loss equals the measured one, before and after', (format) => {
    const problem = randomProblem(6, 80, 250, 3, [7, 40])
    for (const options of [{}, { damp: 0.3 }]) {
      const factor = factorOf(problem, options)
      const { coded, loss, lossBefore } = gptq(problem.weights, 6, 80, format, factor)
      expectNear(loss, measuredLoss(problem, decode(coded)))
      expectNear(lossOf(problem.weights, coded, factor), loss)
      const rounded = decode(rtn(problem.weights, 6, 80, format))
      expectNear(lossBefore, measuredLoss(problem, rounded))
      expect(loss).toBeLessThan(0.8 * lossBefore)
    }
  })

  test.each(FORMATS)('%s: trying other grids and sweeping over the codes lower the loss', (format) => {
    const problem = randomProblem(6, 96, 250, 4)
    const factor = factorOf(problem)
    const losses = [PLAIN, {}, { sweeps: 1 }, { sweeps: 6 }].map((options) => {
      const { coded, loss } = gptq(problem.weights, 6, 96, format, factor, options)
      expectNear(loss, measuredLoss(problem, decode(coded)))
      return loss
    })
    const [plain = 0, searched = 0, once = 0, often = 0] = losses
    if (format !== 'w8_g32') expect(searched).toBeLessThan(0.98 * plain)
    expect(once).toBeLessThan(0.98 * searched)
    expect(often).toBeLessThan(once)
  })

  test('after a sweep, no neighbouring code would be better on its own', () => {
    const problem = randomProblem(2, 64, 200, 12)
    const factor = factorOf(problem)
    const { coded, loss } = gptq(problem.weights, 2, 64, 'w4_g32', factor, { sweeps: 50 })
    for (let at = 0; at < 128; at += 3) {
      for (const step of [-1, 1]) {
        const code = coded.codes[at]! + step
        if (code < 0 || code > 15) continue
        const other = { ...coded, codes: coded.codes.with(at, code) }
        const damped = (codes: typeof coded) =>
          lossOf(problem.weights, codes, factor) +
          decode(codes).reduce((sum, v, i) => sum + factor.added[i % 64]! * (v - problem.weights[i]!) ** 2, 0)
        expect(damped(other)).toBeGreaterThan(damped(coded) * (1 - 2e-3))
      }
    }
    expect(loss).toBeGreaterThan(0)
  })

  test('targets undo a drift of the inputs as far as possible', () => {
    const problem = randomProblem(3, 40, 300, 13)
    const { k, inputs } = problem
    const floats = inputs.map((x, at) => x * 1.2 + (at % k > 0 ? 0.1 * inputs[at - 1]! : 0))
    const drift = new Float64Array(k * k)
    for (let at = 0; at < inputs.length; at += k) {
      for (let i = 0; i < k; i++) {
        for (let j = 0; j < k; j++) drift[i * k + j]! += (floats[at + i]! - inputs[at + i]!) * inputs[at + j]!
      }
    }
    const factor = factorOf(problem, { damp: 0 })
    const targets = targetsOf(problem.weights, 3, k, { drift: driftRows(drift, k, plainDense) }, factor, 1)
    for (let row = 0; row < 3; row++) {
      for (let i = 0; i < k; i++) {
        const next = i + 1 < k ? problem.weights[row * k + i + 1]! : 0
        expect(targets[row * k + i]).toBeCloseTo(1.2 * problem.weights[row * k + i]! + 0.1 * next, 4)
      }
    }
  })

  test('rounds dead inputs to nearest, without changing other codes', () => {
    const problem = randomProblem(4, 64, 200, 5, [3, 33, 34])
    const { coded } = gptq(problem.weights, 4, 64, 'w8_g32', factorOf(problem), PLAIN)
    const other = problem.weights.map((w, i) => ([3, 33, 34].includes(i % 64) ? w / 2 : w))
    const changed = gptq(other, 4, 64, 'w8_g32', factorOf(problem)).coded
    const rounded = decode(rtn(problem.weights, 4, 64, 'w8_g32'))
    const values = decode(coded)
    const others = decode(changed)
    for (let i = 0; i < values.length; i++) {
      if ([3, 33, 34].includes(i % 64))
        expect(Math.abs(values[i]! - problem.weights[i]!)).toBeLessThan(
          1.01 * Math.abs(rounded[i]! - problem.weights[i]!) + 1e-3,
        )
      else expect(others[i]).toBe(values[i])
    }
  })

  test('solves without damping if the inputs allow it, and otherwise throws', () => {
    const problem = randomProblem(3, 64, 300, 6, [5])
    expect(
      gptq(problem.weights, 3, 64, 'w4_g32', factorOf(problem, { damp: 0 }), PLAIN).loss,
    ).toBeGreaterThan(0)
    const short = randomProblem(3, 64, 20, 7)
    expect(() => factorOf(short, { damp: 0 })).toThrow(/Hessian of w is singular after .* raise --damp/)
    const none = { ...short, inputs: short.inputs.map(() => 0) }
    expect(() => factorOf(none)).toThrow(/all 20 inputs of w in the calibration text are zero/)
  })

  test('rejects NaN weights and inputs', () => {
    const problem = randomProblem(2, 32, 50, 8)
    const weights = problem.weights.with(40, Number.NaN)
    expect(() => gptq(weights, 2, 32, 'w4_g32', factorOf(problem))).toThrow(/output 1 and input 8 is NaN/)
    const inputs = problem.inputs.with(33, Number.NaN)
    expect(() => inputStats('layers.0.x', inputs, 32)).toThrow(/input 1 of layers.0.x became NaN/)
  })
})
