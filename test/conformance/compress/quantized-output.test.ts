// Output in foreign formats. In: quantised random Llamas. Out: GGUF that gives our logits in llama.cpp, and
// GPTQ safetensors that give the pack's.
import { describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { roleOf, weightOf } from '../../../src/core/arch/tensors/names.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { type PackContents, writePack } from '../../../src/core/formats/hbm/hbm-writer.ts'
import { type PreparedModel, prepareModel } from '../../../src/engine/load/prepare.ts'
import { nodeHost } from '../../../src/tools/cli/node-host.ts'
import { quantizedGguf, quantizedGptq } from '../../../src/tools/shrink/calibrate/foreign-files.ts'
import { readMatrix } from '../../../src/tools/shrink/calibrate/gram.ts'
import { quantizeModel } from '../../../src/tools/shrink/calibrate/quantize-model.ts'
import { memoryWork } from '../../../src/tools/shrink/calibrate/work-files.ts'
import { centred, llamaCppAddon, llamaCppLogProbabilities, logProbabilities } from '../testing/llama-cpp.ts'
import { ggufFile, jsonFile, newFile, safetensorsFiles } from '../testing/model-files.ts'
import { logitsOf, relativeError, withBuilt } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'

const { signal } = new AbortController()
const MODEL = randomLlama({ seed: 21, heads: 4, kvHeads: 2, headDim: 32, intermediate: 320, gain: 1.3 })
const TOKENS = Array.from({ length: 40 }, (_, index) => (index * 37) % 256)
const addon = llamaCppAddon()
if (addon === undefined) console.warn('skipped: native llama.cpp needs @node-llama-cpp/linux-x64')

type Weights = 'w4' | 'w4m' | 'w8' | 'w4_channel'
const FORMATS = { w4: 'w4_g32', w4m: 'w4m_g32', w8: 'w8_g32', w4_channel: 'w4_channel' } as const

const opened = async (files: readonly File[], weights: 'auto' | Exclude<Weights, 'w4m'> = 'auto') =>
  prepareModel(await openModel(files.map((each) => blobSource(each.name, each))), { weights, forPack: true })

async function quantized<T>(
  files: readonly File[],
  weights: Weights,
  use: (prepared: PreparedModel, contents: PackContents) => Promise<T>,
): Promise<T> {
  const prepared = await opened(files, weights === 'w4m' ? 'w4' : weights)
  const windows = Array.from({ length: 4 }, (_, w) => TOKENS.map((id) => (id * 5 + w) % 256))
  const { contents } = await quantizeModel(prepared, {
    method: 'gptq',
    format: FORMATS[weights],
    drift: 0,
    sweeps: 0,
    windows,
    work: memoryWork(),
    host: nodeHost(),
    threads: 1,
    signal,
  })
  return use(prepared, contents)
}

async function bytesOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of chunks) parts.push(chunk.slice())
  return new Uint8Array(await new Blob(parts).arrayBuffer())
}

const rowsOf = (files: readonly File[], weights: 'auto' | 'f32' = 'auto') =>
  withBuilt(files, { weights }, (built) => logitsOf(built, TOKENS))

describe.each(['w4', 'w4m', 'w8', 'w4_channel'] as const)('GGUF of %s', (weights) => {
  test.skipIf(addon === undefined)("llama.cpp reads it and gives our engine's logits", async () => {
    const source = await ggufFile(MODEL)
    const file = await quantized([source], weights, async (prepared, contents) =>
      newFile('q.gguf', await bytesOf(quantizedGguf(prepared, contents, signal))),
    )
    expect(file.size).toBeLessThan((weights === 'w8' ? 0.32 : 0.22) * source.size)
    const native = (await llamaCppLogProbabilities(file, TOKENS, addon ?? '')).map(centred)
    const own = (await rowsOf([file])).map(logProbabilities).map(centred)
    expect(relativeError(own, native)).toBeLessThan(0.03)
    const float = (await rowsOf([source])).map(logProbabilities).map(centred)
    expect(relativeError(native, float)).toBeLessThan(weights === 'w8' ? 0.05 : 0.6)
  })
})

test.each(['w4', 'w8'] as const)(
  "GPTQ safetensors of %s have exactly the pack's weights",
  async (weights) => {
    const [pack, folder] = await quantized(safetensorsFiles(MODEL), weights, async (prepared, contents) => {
      const { config, data } = await quantizedGptq(prepared, contents, signal)
      const others = safetensorsFiles(MODEL).filter(
        ({ name }) => !/^(config\.json|.*\.safetensors)$/.test(name),
      )
      return [
        newFile('q.hbm', await bytesOf(writePack(contents))),
        [
          ...others,
          newFile('model.safetensors', await bytesOf(data)),
          jsonFile('config.json', { ...MODEL.config, ...config }),
        ],
      ] as const
    })
    const [left, right] = await Promise.all([folder, [pack]].map((files) => opened(files)))
    const names = [...left!.weights.keys()].filter((name) => roleOf(name) === 'matrix')
    expect(names).toHaveLength(14)
    for (const name of names) {
      const [own, packed] = await Promise.all(
        [left!, right!].map(({ weights }) => readMatrix(weightOf(weights, name), signal)),
      )
      expect(own!.map((value) => value + 0)).toEqual(packed!.map((value) => value + 0))
    }
    // The pack has 8-bit tables, and the folder has the model's own.
    expect(relativeError(await rowsOf(folder, 'f32'), await rowsOf([pack], 'f32'))).toBeLessThan(0.03)
  },
)

test('output that cannot be written is rejected with a reason and an alternative', async () => {
  await quantized(safetensorsFiles(MODEL), 'w4m', async (prepared, contents) => {
    await expect(bytesOf(quantizedGguf(prepared, contents, signal))).rejects.toThrow(
      /is not a GGUF file.*write a \.hbm/,
    )
    await expect(quantizedGptq(prepared, contents, signal)).rejects.toThrow(
      /choose --weights w4, or write a \.gguf/,
    )
  })
  const merged = await ggufFile(MODEL)
  await quantized([merged], 'w4', async (prepared, contents) => {
    await expect(quantizedGptq(prepared, contents, signal)).rejects.toThrow(/not a folder with safetensors/)
  })
})
