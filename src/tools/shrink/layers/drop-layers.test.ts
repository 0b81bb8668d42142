// Dropping layers. In: random models, one with a layer that does nothing. Out: how much each layer changes,
// and packs whose logits are those of the model without the layer.
import { expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { type RandomModel, randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import type { ModelConfig } from '../../../core/arch/config/config.ts'
import { blobSource, bufferSource } from '../../../core/base/bytes.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { openModel } from '../../../core/formats/open-model.ts'
import { EXACT_KV } from '../../../core/graph/ir.ts'
import { buildModel } from '../../../engine/load/build-model.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import { type PreparedModel, prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../cli/node-host.ts'
import { checkDroppable, layerOf, leastInfluential, withoutLayers } from './drop-layers.ts'
import { layerInfluence } from './influence.ts'

const { signal } = new AbortController()
const windows = [0, 1, 2].map((w) => Array.from({ length: 40 }, (_, i) => (7 * w + 5 * i * i + 3) % 90))
const shared = { host: nodeHost(), threads: 1, signal, windows }
const prepared = async (sources: Parameters<typeof openModel>[0]) =>
  prepareModel(await openModel(sources), { weights: 'f32', forPack: true, kvCache: EXACT_KV })
const fromFiles = (model: RandomModel) =>
  prepared(safetensorsFiles(model).map((file) => blobSource(file.name, file)))

/** What a layer adds to the rows is multiplied by `factor`. */
function scaled({ config, weights }: RandomModel, layer: number, factor: number): RandomModel {
  const own = [...weights].map(([name, tensor]) => {
    const adds = new RegExp(`layers\\.${layer}\\.(self_attn\\.o_proj|mlp\\.down_proj)`).test(name)
    return [
      name,
      adds ? { ...tensor, values: tensor.values.map((value) => value * factor) } : tensor,
    ] as const
  })
  return { config, weights: new Map(own) }
}

async function logitsOf(model: PreparedModel): Promise<Float32Array> {
  const hooks = { signal, onProgress: () => undefined }
  const built = await buildModel(model, { host: nodeHost(), threads: 1, build: 'auto' }, hooks)
  try {
    const sequence = built.newSequence()
    sequence.setTokens(windows[0]!)
    let last = new Float32Array()
    const onLogits = (_: number, row: Float32Array) => {
      last = row.slice()
    }
    await built.scheduler.forward({ sequence, logits: 'all', onLogits, signal })
    return last
  } finally {
    await built.dispose()
  }
}

async function packed(model: PreparedModel, dropped: readonly number[]): Promise<PreparedModel> {
  const chunks: Uint8Array[] = []
  for await (const chunk of writePack(await packContents(withoutLayers(model, dropped)), signal))
    chunks.push(chunk)
  const bytes = new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer())
  return prepared([bufferSource('shallow.hbm', bytes)])
}

test.each([undefined, 24])(
  'a layer that does nothing has no influence and can go (window %s)',
  async (window) => {
    const whole = await fromFiles(scaled(randomLlama({ seed: 3, layers: 4, window }), 2, 0))
    const influence = await layerInfluence(whole, shared)
    expect(influence).toHaveLength(4)
    expect(influence[2]).toBeCloseTo(0, 6)
    for (const layer of [0, 1, 3]) expect(influence[layer]).toBeGreaterThan(0.01)
    expect(leastInfluential(influence, 1)).toEqual([2])
    const shallow = await packed(whole, [2])
    expect(shallow.config).toMatchObject({ layers: 3, ...(window && { window: { layers: [0, 1, 2] } }) })
    expect(new Set([...shallow.weights.keys()].map(layerOf))).toEqual(new Set([undefined, 0, 1, 2]))
    const [before, after] = [await logitsOf(whole), await logitsOf(shallow)]
    expect(before.length).toBeGreaterThan(0)
    expect(after).toEqual(before)
    // Another layer is missed.
    expect(await logitsOf(await packed(whole, [1]))).not.toEqual(before)
  },
)

test('a layer that adds more has more influence', async () => {
  const model = randomLlama({ seed: 4, layers: 3 })
  const influenceAt = async (factor: number) =>
    (await layerInfluence(await fromFiles(scaled(model, 1, factor)), shared))[1]!
  const [little, usual, much] = [await influenceAt(0.3), await influenceAt(1), await influenceAt(3)]
  expect(little).toBeLessThan(usual)
  expect(usual).toBeLessThan(much)
  expect(much).toBeLessThan(2)
})

test('layers of the least influence are chosen, the first of equals', () => {
  expect(leastInfluential([0.5, 0.1, 0.3, 0.1, 0.2], 3)).toEqual([1, 3, 4])
  expect(leastInfluential([0.2, 0.2, 0.2], 2)).toEqual([0, 1])
})

test('models whose layers are not alike, or that would have none left, are rejected by name', async () => {
  const { config } = await fromFiles(randomLlama({ seed: 3, layers: 4 }))
  const refused = (more: Partial<ModelConfig>, count = 1) => {
    try {
      checkDroppable({ ...config, ...more }, count)
      return undefined
    } catch (error) {
      return error
    }
  }
  expect(refused({})).toBeUndefined()
  expect(refused({ window: { positions: 8, layers: [0, 1, 2, 3] } })).toBeUndefined()
  for (const [more, reason] of [
    [{ attentionLayers: [1] }, '1 of 4 have attention'],
    [{ window: { positions: 8, layers: [0, 1, 2] } }, '3 of 4 attend to a window only'],
    [{ unrotatedLayers: [3] }, '1 of 4 do not rotate'],
    [{ dividedByLayer: true }, "each divides attention's scores by its number"],
  ] as const) {
    expect(refused(more)).toMatchObject({ code: 'unsupported', message: expect.stringContaining(reason) })
  }
  expect(refused({}, 4)).toMatchObject({ code: 'unsupported', detail: { layers: 4, dropped: 4 } })
})
