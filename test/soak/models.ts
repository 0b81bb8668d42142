// Makes the soak's tiny models, of each kind of state and in each format, as files, and adapters for one of
// them.
import { readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onnxFiles } from '../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../lab/bench/random-model.ts'
import { TINY } from '../../lab/bench/shapes.ts'
import type { GenerateOptions } from '../../src/engine/api/types.ts'
import { byteTokenizer } from '../conformance/onnx/byte-tokenizer.ts'
import { ggufFile } from '../conformance/testing/model-files.ts'
import { randomLlama } from '../conformance/testing/random-llama.ts'
import {
  type RecurrentFamily,
  randomRecurrent,
  recurrentGguf,
} from '../conformance/testing/random-recurrent.ts'
import { ggufBytes } from '../conformance/testing/writers/gguf-writer.ts'
import { ggufLora, peftFiles, randomLora } from '../conformance/testing/writers/lora-files.ts'

export interface SoakModel {
  readonly name: string
  readonly files: readonly File[]
  /** Enough for only a few conversations, so that memory sometimes runs out. */
  readonly stateBytes: number
  /** Prompt words that its tokenizer can encode. */
  readonly words: readonly string[]
  readonly constraints: readonly GenerateOptions[]
  /** Adapters that fit it. */
  readonly adapters: readonly (readonly File[])[]
}

export const CONTEXT_LENGTH = 384

const KiB = 1024
const WORDS = 'the river goes to the sea and hello world why do hills fall on rain é 12 {"a"} \n'.split(' ')
const CONSTRAINTS: readonly GenerateOptions[] = [
  { choices: ['yes', 'no', 'perhaps'] },
  { pattern: '[a-z]{3,9}( [a-z]+)?' },
  { schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } },
  { grammar: 'root ::= ("ab" | "c")+ "."' },
]
const COMMON = { stateBytes: 640 * KiB, words: WORDS, constraints: CONSTRAINTS, adapters: [] } as const

/** The tokens of the exports are the first 96 bytes, which include no lower-case letters. */
const EXPORT_TOKENS = 96
const EXPORTED = {
  ...COMMON,
  words: ['THE', 'RIVER', 'GOES', 'TO', 'THE', 'SEA', 'WHY', '12', '?\n'],
  constraints: [
    { choices: ['YES', 'NO', 'PERHAPS'] },
    { pattern: '[A-Z]{3,9}( [A-Z]+)?' },
    { grammar: 'root ::= ("AB" | "C")+ "."' },
  ],
}

const recurrent = async (family: RecurrentFamily): Promise<SoakModel> => ({
  ...COMMON,
  name: family,
  files: [await recurrentGguf(randomRecurrent(family, 11))],
})

async function tokenizerFile(count: number): Promise<File> {
  const source = byteTokenizer(count)
  return new File([(await source.read(0, source.size)) as BlobPart], 'tokenizer.json')
}

const fileAt = async (path: string) => new File([await readFile(path)], basename(path))

/** An export of torch, as the conformance tests read it. */
async function exported(name: string): Promise<SoakModel> {
  const path = join(import.meta.dirname, '../conformance/onnx/exports', name, 'model.onnx')
  return { ...EXPORTED, name, files: [await fileAt(path), await tokenizerFile(EXPORT_TOKENS)] }
}

/** ONNX Runtime's own operators with 4-bit weights in a separate file. */
async function contrib(folder: string): Promise<SoakModel> {
  const gguf = pathToFileURL(join(folder, 'tiny.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(TINY)))
  const { model, data } = await onnxFiles(gguf, TINY, 'int4')
  const paths = [model, ...data].map(({ pathname }) => pathname)
  const files = [...(await Promise.all(paths.map(fileAt))), await tokenizerFile(TINY.vocabSize)]
  return { ...COMMON, name: 'contrib-int4', files }
}

/**
 * Models with keys and values, with biases, with a window, with recurrent state of both kinds, with both
 * together, and exports.
 */
export async function soakModels(folder: string): Promise<SoakModel[]> {
  const spoken = { gain: 1.5, speaks: true } as const
  const llama = randomLlama({ seed: 38, ...spoken })
  const adapters = [
    peftFiles(randomLora(llama.weights, /proj\.weight$/, 4, 5)),
    [await ggufLora(randomLora(llama.weights, /[qv]_proj\.weight$/, 2, 6), llama.config.head_dim)],
  ]
  return [
    { ...COMMON, name: 'llama', files: [await ggufFile(llama)], adapters },
    {
      ...COMMON,
      name: 'qwen2',
      files: [await ggufFile(randomLlama({ seed: 7, family: 'qwen2', ...spoken }), 'F16')],
    },
    { ...COMMON, name: 'windowed', files: [await ggufFile(randomLlama({ seed: 5, window: 80, ...spoken }))] },
    await recurrent('mamba'),
    await recurrent('mamba2'),
    await recurrent('granitehybrid'),
    await exported('llama-cache'),
    await exported('mamba-channels'),
    await contrib(folder),
  ]
}
