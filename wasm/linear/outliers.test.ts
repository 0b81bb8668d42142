// Outliers. In: activations in which a few channels are 100 times larger. Out: whether one scale per group
// keeps the accuracy that a quantised product with one scale per token loses.

import { expect, test } from 'vitest'
import { matrixBytes, roundUp } from '../../src/core/abi/encodings.ts'
import { packedMatrix } from '../../src/core/weights/testing/reference.ts'
import { randomFrom } from '../../test/helpers/random.ts'
import { type Machine, plainMachine, type Rows } from '../testing/machine.ts'
import { fillMatrix } from '../testing/weights.ts'

const N = 64
const K = 896
const M = 4
/** One in a hundred channels, as in trained models. Each outlier affects only its own group. */
const OUTLIERS = [37, 290, 611, 800]

const isOutlier = (channel: number) => OUTLIERS.includes(channel)

function activations(): Float32Array[] {
  const random = randomFrom(11)
  return Array.from({ length: M }, () =>
    Float32Array.from({ length: K }, (_, i) => (random() * 2 - 1) * (isOutlier(i) ? 100 : 1)),
  )
}

/** Codes with one scale for the whole row, as kernels with one scale per output read them. */
const perToken = (machine: Machine, rows: readonly Float32Array[]): Rows => quantized(machine, rows, 1)
/** Codes with a scale per group of 32. */
const perGroup = (machine: Machine, rows: readonly Float32Array[]): Rows => quantized(machine, rows, 0)

function quantized(machine: Machine, rows: readonly Float32Array[], whole: number): Rows {
  const x = machine.rows(M, K, (m, i) => rows[m]![i]!)
  const q = machine.a8Rows(M, K)
  machine.op('quantize', { x: x.at, x_stride: x.stride, n: K, q: q.at, q_stride: q.stride, whole })
  return q
}

/**
 * The root mean square of the product's error, divided by that of the product without the outliers'
 * contribution.
 */
function relativeError(lay: (machine: Machine, rows: readonly Float32Array[]) => Rows): number {
  const machine = plainMachine('relaxed')
  machine.setStep({ sequences: [{ position: 0, rows: M }] })
  const rows = activations()
  const q = lay(machine, rows)
  const y = machine.rows(M, N)
  const w = machine.matrix('w4_g32', N, K, fillMatrix('w4_g32', 5))
  machine.op('linear_w4a8_g32', {
    w,
    n: N,
    k: K,
    x: q.at,
    x_stride: q.stride,
    y: y.at,
    y_stride: y.stride,
  })
  machine.run()
  const bytes = new Uint8Array(matrixBytes('w4_g32', N, K))
  fillMatrix('w4_g32', 5)(bytes)
  const weights = packedMatrix('w4_g32', bytes, roundUp(N, 32), K)
  let wrong = 0
  let signal = 0
  for (let m = 0; m < M; m++) {
    const found = machine.floats(y, m)
    for (let n = 0; n < N; n++) {
      let ordinary = 0
      let outliers = 0
      for (let i = 0; i < K; i++) {
        const term = weights[n * K + i]! * rows[m]![i]!
        if (isOutlier(i)) outliers += term
        else ordinary += term
      }
      wrong += (found[n]! - ordinary - outliers) ** 2
      signal += ordinary ** 2
    }
  }
  return Math.sqrt(wrong / signal)
}

test('scales per group keep the precision that outlier channels would destroy with one scale per token', () => {
  const group = relativeError(perGroup)
  const token = relativeError(perToken)
  // A step of 100 / 127 is too coarse for values within 1: the error is about half of the values.
  expect(token).toBeGreaterThan(0.2)
  expect(group).toBeLessThan(0.12)
  expect(token / group).toBeGreaterThan(2.5)
})
