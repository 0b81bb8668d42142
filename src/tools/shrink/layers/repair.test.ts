// Making up for dropped layers. In: random models. Out: rows after the layer before the dropped ones,
// compared with those of the whole model and with the least squares they should be.
import { openAsBlob } from 'node:fs'
import { expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { weightOf } from '../../../core/arch/tensors/names.ts'
import { blobSource, bufferSource } from '../../../core/base/bytes.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { EXACT_KV } from '../../../core/graph/ir.ts'
import { type PreparedModel, prepareModel } from '../../../engine/load/prepare.ts'
import { loadSolver, nodeHost } from '../../cli/node-host.ts'
import { readMatrix } from '../calibrate/gram.ts'
import { walk } from '../calibrate/walk.ts'
import { memoryWork } from '../calibrate/work-files.ts'
import { checkDroppable, layerOf, withoutLayers } from './drop-layers.ts'
import { repaired, runsOf } from './repair.ts'

const { signal } = new AbortController()
const ids = (windows: number, length: number) =>
  Array.from({ length: windows }, (_, w) =>
    Array.from({ length }, (_, i) => (7 * w + 5 * i * i + 3 * i) % 90),
  )
const run = { host: nodeHost(), threads: 1, signal }

const prepared = async (layers: number): Promise<PreparedModel> => {
  const files = safetensorsFiles(randomLlama({ seed: 11, layers })).map((file) => blobSource(file.name, file))
  return prepareModel(await openModel(files), { weights: 'f32', forPack: true, kvCache: EXACT_KV })
}

/** The rows after a layer, those of all windows one after the other. */
async function rowsAfter(model: PreparedModel, layer: number, windows: number[][]): Promise<number[]> {
  const rows: Float32Array[] = []
  await walk(model, {
    ...{ ...run, windows, work: memoryWork(), visit: async () => undefined },
    onOutput: (matrices, window, output) => {
      // The last segment of the layer is the last to be kept.
      if (layerOf(matrices[0] ?? '') === layer) rows[window] = output.slice()
    },
  })
  return rows.flatMap((each) => [...each])
}

const distance = (left: readonly number[], right: readonly number[]): number =>
  left.reduce((sum, value, at) => sum + (value - right[at]!) ** 2, 0)

test('with more inputs than tokens, the layer before gives what the dropped ones gave', async () => {
  const windows = ids(1, 60)
  const whole = await prepared(5)
  const goal = await rowsAfter(whole, 3, windows)
  const shallow = withoutLayers(whole, [2, 3])
  const { model, matrices } = await repaired(whole, shallow, [2, 3], { ...run, windows, damp: 1e-5 })
  expect(matrices).toEqual(['layers.1.mlp_down.weight'])
  const before = distance(await rowsAfter(shallow, 1, windows), goal)
  const after = distance(await rowsAfter(model, 1, windows), goal)
  expect(before).toBeGreaterThan(100)
  expect(after / before).toBeLessThan(0.01)
  // The layers after it are those of the whole model.
  const last = (of: PreparedModel) => weightOf(of.weights, `layers.${of.config.layers - 1}.mlp_down.weight`)
  expect(await readMatrix(last(model), signal)).toEqual(await readMatrix(last(whole), signal))
})

test('with more tokens than inputs, it is the nearest that the layer can give', async () => {
  const windows = ids(5, 100)
  const whole = await prepared(4)
  const goal = await rowsAfter(whole, 2, windows)
  const solver = await loadSolver()
  const { model } = await repaired(whole, withoutLayers(whole, [2]), [2], {
    ...{ ...run, windows, damp: 1e-7, solver },
  })
  const name = 'layers.1.mlp_down.weight'
  const values = await readMatrix(weightOf(model.weights, name), signal)
  const costAt = async (step: number) => {
    const moved = values.map((value, at) => value * (1 + step * Math.sin(at)))
    const bytes = new Uint8Array(moved.buffer)
    const tensor: TensorInfo = {
      ...weightOf(model.weights, name),
      source: bufferSource(name, bytes),
      offset: 0,
    }
    const own = { ...model, weights: new Map([...model.weights, [name, tensor]]) }
    return distance(await rowsAfter(own, 1, windows), goal)
  }
  const [less, least, more] = [await costAt(-0.01), await costAt(0), await costAt(0.01)]
  expect(least).toBeLessThan(distance(await rowsAfter(withoutLayers(whole, [2]), 1, windows), goal) / 1.2)
  expect(less).toBeGreaterThan(least)
  expect(more).toBeGreaterThan(least)
  // At the least, the slope is zero: both sides rise alike.
  expect((more - least) / (less - least)).toBeCloseTo(1, 1)
})

test('each run of dropped layers is compensated for on what the repaired layers before it give', async () => {
  const windows = ids(1, 60)
  const whole = await prepared(6)
  const dropped = [1, 4]
  const { model, matrices } = await repaired(whole, withoutLayers(whole, dropped), dropped, {
    ...{ ...run, windows, damp: 1e-5 },
  })
  expect(matrices).toEqual(['layers.0.mlp_down.weight', 'layers.2.mlp_down.weight'])
  const goal = await rowsAfter(whole, 4, windows)
  const made = await rowsAfter(model, 2, windows)
  expect(distance(made, goal)).toBeLessThan(1e-3 * distance(goal, new Array(goal.length).fill(0)))
})

test('layers before the first that is kept are not compensated for', async () => {
  expect(runsOf(6, [0])).toEqual([])
  expect(runsOf(6, [0, 1, 3, 4, 5])).toEqual([{ before: 2, last: 5 }])
  expect(runsOf(6, [1, 3, 4])).toEqual([
    { before: 0, last: 1 },
    { before: 2, last: 4 },
  ])
  const whole = await prepared(3)
  const shallow = withoutLayers(whole, [0])
  expect(await repaired(whole, shallow, [0], { ...run, windows: ids(1, 20) })).toEqual({
    model: shallow,
    matrices: [],
  })
})

test('recurrent layers can go as well', async () => {
  const windows = ids(1, 60)
  const file = 'demo/models/halfbyte-mamba.hbm'
  const source = blobSource(file, await openAsBlob(file))
  const whole = await prepareModel(await openModel([source]), { weights: 'f32', forPack: true })
  const { layers } = whole.config
  checkDroppable(whole.config, 1)
  const shallow = withoutLayers(whole, [layers - 1])
  expect(shallow.config).toMatchObject({ layers: layers - 1, attentionLayers: [] })
  const { model, matrices } = await repaired(whole, shallow, [layers - 1], {
    ...{ ...run, windows, damp: 1e-3, solver: await loadSolver() },
  })
  expect(matrices).toHaveLength(1)
  const goal = await rowsAfter(whole, layers - 1, windows)
  const before = distance(await rowsAfter(shallow, layers - 2, windows), goal)
  expect(before).toBeGreaterThan(0)
  expect(distance(await rowsAfter(model, layers - 2, windows), goal)).toBeLessThan(before / 10)
})
