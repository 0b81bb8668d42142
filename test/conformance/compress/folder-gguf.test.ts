// Folders as GGUF. In: random models of each supported family, as safetensors. Out: GGUF with the folder's
// logits, here and in llama.cpp.
import { describe, expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { GGUF_FAMILIES } from '../../../src/tools/shrink/gguf/gguf-settings.ts'
import type { GgufDType } from '../../../src/tools/shrink/gguf/gguf-tensors.ts'
import { modelGguf } from '../../../src/tools/shrink/gguf/model-gguf.ts'
import { FAMILY_CASES } from '../testing/families/family-cases.ts'
import { drawFamily, familySafetensors } from '../testing/families/family-files.ts'
import { TOKENS } from '../testing/families/family-golden.ts'
import { centred, llamaCppAddon, llamaCppLogProbabilities, logProbabilities } from '../testing/llama-cpp.ts'
import { newFile, safetensorsFiles } from '../testing/model-files.ts'
import { largestDifference, logitsOf, relativeError, withBuilt } from '../testing/node-engine.ts'
import { type RandomOptions, randomLlama } from '../testing/random-llama.ts'
import { concat } from '../testing/writers/gguf-writer.ts'

const { signal } = new AbortController()
const addon = llamaCppAddon()
if (addon === undefined) console.warn('skipped: native llama.cpp needs @node-llama-cpp/linux-x64')

const scaling = {
  rope_type: 'llama3',
  factor: 8,
  low_freq_factor: 1,
  high_freq_factor: 4,
  original_max_position_embeddings: 32,
} as const
const random = (options: Omit<RandomOptions, 'seed'>) =>
  safetensorsFiles(randomLlama({ seed: 31, ...options }))

const FOLDERS: Readonly<Record<string, readonly File[]>> = {
  llama: random({ scaling }),
  'llama with tied tables': random({ tied: true, heads: 4, kvHeads: 4 }),
  qwen2: random({ family: 'qwen2', headDim: 32 }),
  ...Object.fromEntries(
    FAMILY_CASES.filter(({ family }) => GGUF_FAMILIES.includes(family)).map((one) => [
      one.family,
      familySafetensors(one, drawFamily(one, 7)),
    ]),
  ),
}

const prepared = async (files: readonly File[]) =>
  prepareModel(await openModel(files.map((each) => blobSource(each.name, each))), {
    weights: 'f32',
    forPack: true,
  })

async function written(files: readonly File[], dtype: GgufDType): Promise<File> {
  const chunks: Uint8Array[] = []
  for await (const chunk of modelGguf(await prepared(files), { dtype, name: 'random', signal }).chunks)
    chunks.push(chunk)
  return newFile('model.gguf', concat(chunks))
}

const rowsOf = (files: readonly File[]) =>
  withBuilt(files, { weights: 'f32', contextLength: 128 }, (built) => logitsOf(built, TOKENS))

test('every family that can be written as GGUF has a case', () => {
  expect(Object.keys(FOLDERS)).toEqual(expect.arrayContaining([...GGUF_FAMILIES]))
})

describe.each(Object.keys(FOLDERS))('%s', (name) => {
  const folder = FOLDERS[name] ?? []

  test('has its folder’s logits and tokens', async () => {
    const gguf = await written(folder, 'F32')
    expect(largestDifference(await rowsOf([gguf]), await rowsOf(folder))).toBeLessThan(1e-4)
    const texts = ['The quick brown fox', ' 3 dogs, 14\n\n cats', 'naïve 漢字 <|im_end|>']
    const ids = (files: readonly File[]) =>
      withBuilt(files, {}, async ({ tokenizer }) =>
        texts.map((text) => tokenizer.encode(text, { addSpecial: true, parseSpecial: true })),
      )
    expect(await ids([gguf])).toEqual(await ids(folder))
  })

  test.skipIf(addon === undefined).each(['F16', 'Q8_0', 'Q4_0'] as const)(
    '%s: llama.cpp reads the file and gives our logits',
    async (dtype) => {
      const gguf = await written(folder, dtype)
      const native = (await llamaCppLogProbabilities(gguf, TOKENS, addon ?? '')).map(centred)
      const own = (await rowsOf([gguf])).map(logProbabilities).map(centred)
      // llama.cpp's quantised products round activations to 8 bits.
      expect(relativeError(own, native)).toBeLessThan(dtype === 'F16' ? 0.005 : 0.1)
    },
  )
})
