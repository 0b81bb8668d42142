// Cost measurements. In: random models of two kinds. Out: a table that can be read back, with each shape of
// the model's products, and stand-ins with the requested zeros.
import { describe, expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import {
  randomRecurrent,
  recurrentSafetensors,
} from '../../../../test/conformance/testing/random-recurrent.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource } from '../../../core/base/bytes.ts'
import { COST_FORMATS, parseCostTable } from '../../../core/weights/sparse/cost-table.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../cli/node-host.ts'
import { readMatrix } from '../calibrate/gram.ts'
import { type MeasureOptions, measureCosts, standIn } from './measure-costs.ts'

const { signal } = new AbortController()
const prepared = async (files: readonly File[]) =>
  prepareModel(await openModel(files.map((file) => blobSource(file.name, file))), {
    weights: 'w4',
    forPack: true,
  })
const options = {
  host: nodeHost(),
  signal,
  machine: 'a machine',
  build: 'auto' as const,
  threads: 1,
  position: 3,
  samples: 2,
  leastMs: 0.1,
} satisfies Partial<MeasureOptions>

describe.each(['w4_g32', 'w8_g32'] as const)('%s', (format) => {
  test.each([
    ['llama', safetensorsFiles(randomLlama({ seed: 3 })), ['128x64', '64x64', '320x64', '64x160']],
    ['mamba', recurrentSafetensors(randomRecurrent('mamba', 4)), undefined],
  ])(
    '%s: every shape of its products is timed, and the table can be read back',
    async (_, files, shapes) => {
      const model = await prepared(files)
      const progress: number[] = []
      const onProgress = (done: number, total: number) => progress.push(done / total)
      const table = await measureCosts(model, { ...options, format, onProgress })
      expect(parseCostTable('own', JSON.parse(JSON.stringify(table)))).toEqual(table)
      if (shapes !== undefined) expect(table.matrices.map(({ n, k }) => `${n}x${k}`)).toEqual(shapes)
      for (const matrix of table.matrices) {
        for (const name of COST_FORMATS)
          expect(matrix[name].map(([kept]) => kept)).toEqual([0.1, 0.3, 0.5, 0.7, 0.9])
      }
      expect(progress.at(-1)).toBe(1)
    },
    60_000,
  )
})

test('stops on an abort', async () => {
  const stop = new AbortController()
  const model = await prepared(safetensorsFiles(randomLlama({ seed: 3 })))
  const running = measureCosts(model, {
    ...options,
    format: 'w4_g32',
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('enough')),
  })
  await expect(running).rejects.toThrow('enough')
})

test.each([
  ['sb84', 8, 4],
  ['sv32', 32, 1],
] as const)('%s: stand-ins drop whole units, about as many as requested', async (format, rows, inputs) => {
  const n = 96
  const k = 256
  for (const base of ['w4_g32', 'w8_g32'] as const) {
    const dense = await readMatrix(standIn([n, k], base, undefined, 1), signal)
    const values = await readMatrix(standIn([n, k], base, format, 0.3), signal)
    expect(Math.max(...dense.map(Math.abs))).toBeLessThan(1)
    let kept = 0
    for (let row = 0; row < n; row += rows) {
      for (let input = 0; input < k; input += inputs) {
        const unit = Array.from({ length: rows * inputs }, (_, at) => {
          return values[(row + Math.floor(at / inputs)) * k + input + (at % inputs)]!
        })
        const zeros = unit.filter((value) => value === 0).length
        if (zeros < unit.length) kept++
        // One in 16 or 256 kept codes happens to be zero.
        expect(zeros === unit.length || zeros < unit.length / 2).toBe(true)
      }
    }
    expect(kept / ((n * k) / (rows * inputs))).toBeCloseTo(0.3, 1)
  }
})
