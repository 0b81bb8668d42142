// Vision towers. In: random mmproj files of odd shapes. Out: whether rows match a definition in f64, with any
// number of threads.
import { describe, expect, test } from 'vitest'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { openFiles } from '../../../src/core/formats/open-files.ts'
import type { Build } from '../../../src/core/runtime/features.ts'
import { openPool, openRuntime } from '../../../src/core/runtime/open-runtime.ts'
import type { WeightPolicy } from '../../../src/core/weights/policy.ts'
import { memoryNeed } from '../../../src/engine/load/memory-need.ts'
import { ENGINE_TOOLS } from '../../../src/engine/load/open/open-vision.ts'
import { Vision } from '../../../src/engine/load/vision/vision.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { signedFrom } from '../../helpers/random.ts'
import { type RandomTower, randomTower, towerFile, towerRowsOf } from './random-tower.ts'

interface Run {
  readonly build?: Build
  readonly threads?: number
  readonly weights?: WeightPolicy
  readonly file?: File
}

const patchesOf = ({ shape: { grid, patch } }: RandomTower, seed: number): Float32Array[] => {
  const next = signedFrom(seed)
  return Array.from({ length: grid ** 2 }, () => Float32Array.from({ length: 3 * patch ** 2 }, next))
}

async function openedTower(model: RandomTower, { file, weights = 'auto' }: Run = {}) {
  const host = nodeHost()
  const source = blobSource('mmproj.gguf', file ?? (await towerFile(model)))
  const opened = await openFiles([source], host)
  return new Vision(opened, ENGINE_TOOLS, {
    weights,
    modelPlan: { hidden: model.shape, tokens: 256, stateGroups: [] },
  })
}

async function rowsOf(model: RandomTower, patches: readonly Float32Array[], run: Run = {}) {
  const { build = 'relaxed', threads = 1 } = run
  const host = nodeHost()
  const tower = await openedTower(model, run)
  const need = memoryNeed(...tower.models)
  const runtime = await openRuntime({ host, build, threads, ...need })
  await tower.place(runtime.arena, {})
  const pool = await openPool(runtime, { host, threads, probe: () => undefined })
  try {
    const all = new Float32Array(patches.length * patches[0]!.length)
    for (const [index, patch] of patches.entries()) all.set(patch, index * patch.length)
    return tower.encode(pool, all)
  } finally {
    pool.dispose()
  }
}

function expectRows(found: Float32Array, right: readonly Float64Array[], most: number) {
  const width = right[0]!.length
  expect(found.length).toBe(right.length * width)
  for (const [row, values] of right.entries()) {
    const difference = Math.max(...values.map((value, i) => Math.abs(value - found[row * width + i]!)))
    expect(difference / Math.hypot(...values)).toBeLessThan(most)
  }
}

describe("gives the definition's rows", () => {
  test.each(Array.from({ length: 30 }, (_, seed) => seed))('of a random tower, %i', async (seed) => {
    const model = randomTower(seed)
    const patches = patchesOf(model, seed)
    expectRows(await rowsOf(model, patches), towerRowsOf(model, patches), 1e-5)
  })

  test('gives the same bits on any number of threads and in both builds', async () => {
    for (const model of [randomTower(5, { grid: 12 }), randomTower(4, { grid: 12 })]) {
      const patches = patchesOf(model, 1)
      const first = await rowsOf(model, patches)
      for (const run of [{ threads: 3 }, { build: 'simd128' }] as const)
        expect(await rowsOf(model, patches, run)).toEqual(first)
    }
  })

  test("gives approximately the definition's rows in 8 bits", async () => {
    const model = randomTower(2, { inner: 96, headDim: 32 })
    const patches = patchesOf(model, 1)
    expectRows(await rowsOf(model, patches, { weights: 'w8' }), towerRowsOf(model, patches), 0.02)
  })

  test('of an older file, in which the names of the two products are swapped', async () => {
    const model = randomTower(1)
    const patches = patchesOf(model, 1)
    const exchanged: Record<string, string> = { ffn_up: 'ffn_down', ffn_down: 'ffn_up' }
    const rename = (name: string) => name.replace(/ffn_up|ffn_down/, (part) => exchanged[part]!)
    const file = await towerFile(model, { rename })
    expectRows(await rowsOf(model, patches, { file }), towerRowsOf(model, patches), 1e-5)
  })
})

describe('rejected with the cause', () => {
  test.each<[string, Parameters<typeof towerFile>[1], string, RegExp]>([
    [
      'another architecture',
      { change: { 'general.architecture': ['string', 'llama'] } },
      'architecture',
      /not a vision tower/,
    ],
    [
      'an unknown projector',
      { change: { 'clip.projector_type': ['string', 'resampler'] } },
      'unsupported',
      /"resampler"/,
    ],
    [
      'impossible sizes',
      { change: { 'clip.vision.patch_size': ['u32', 0] } },
      'architecture',
      /patchSize is 0/,
    ],
    [
      'patches that do not fit',
      { change: { 'clip.vision.image_size': ['u32', 1021] } },
      'architecture',
      /1021/,
    ],
    [
      'too many patches',
      { change: { 'clip.vision.image_size': ['u32', 2040], 'clip.vision.patch_size': ['u32', 4] } },
      'architecture',
      /65025|260100/,
    ],
    [
      'a missing tensor',
      { rename: (name) => name.replace('v.blk.0.ln1.bias', 'v.other') },
      'architecture',
      /v\.blk\.0\.ln1\.bias/,
    ],
    [
      'an unused tensor',
      { rename: (name) => name.replace('v.blk.0.ln2.bias', 'v.blk.0.ln1.bias2') },
      'architecture',
      /ln2/,
    ],
    [
      'a deviation of 0',
      { change: { 'clip.vision.image_std': ['f32[]', [0.5, 0, 0.5]] } },
      'architecture',
      /deviation/,
    ],
    [
      'two channels',
      { change: { 'clip.vision.image_mean': ['f32[]', [0.5, 0.5]] } },
      'architecture',
      /three numbers/,
    ],
  ])('%s', async (_, options, code, message) => {
    const model = randomTower(6, { projector: 'gemma3' })
    const file = await towerFile(model, options)
    await expect(openedTower(model, { file })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test.each<[string, number, string, RegExp]>([
    ['n_wa_pattern', 0, 'unsupported', /n_wa_pattern 0, which is not supported/],
    ['window_size', 1, 'architecture', /windows of 0 patches/],
  ])('%s %i of a tower with windows', async (key, value, code, message) => {
    const model = randomTower(4)
    const file = await towerFile(model, { change: { [`clip.vision.${key}`]: ['u32', value] } })
    await expect(openedTower(model, { file })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
  })

  test('a tower of another model', async () => {
    const model = randomTower(6, { projector: 'gemma3' })
    const other = { ...model, shape: { ...model.shape, width: model.shape.width + 1 } }
    await expect(openedTower(other, { file: await towerFile(model) })).rejects.toMatchObject({
      code: 'architecture',
      detail: { width: model.shape.width, modelWidth: model.shape.width + 1 },
    })
  })
})
