// Valid models. Tiny models of several kinds as files to damage, and functions that load one and generate its
// first tokens.

import { openModel } from '../../src/core/arch/open-model.ts'
import { type ByteSource, bufferSource } from '../../src/core/base/bytes.ts'
import { CODED_DTYPES } from '../../src/core/formats/testing/random-blocks.ts'
import { modelText, modelTokenizer } from '../../src/engine/load/model-text.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { FAMILY_CASES } from '../conformance/testing/families/family-cases.ts'
import { drawFamily, familyGguf, familySafetensors } from '../conformance/testing/families/family-files.ts'
import { ggufFile, safetensorsFiles } from '../conformance/testing/model-files.ts'
import { nodeService, openEngine } from '../conformance/testing/node-engine.ts'
import { type RandomModel, randomLlama } from '../conformance/testing/random-llama.ts'
import {
  randomRecurrent,
  recurrentGguf,
  recurrentSafetensors,
} from '../conformance/testing/random-recurrent.ts'
import { typedGguf } from '../conformance/testing/writers/typed-gguf.ts'
import { type Input, textOf } from './input.ts'

/** One layer of width 32: about 60 kB in f16. */
export const tinyLlama = (family: 'llama' | 'qwen2' = 'llama'): RandomModel =>
  randomLlama({
    seed: 9,
    family,
    layers: 1,
    heads: 2,
    kvHeads: 1,
    intermediate: 32,
    contextLength: 64,
    tied: family === 'qwen2',
    speaks: family === 'llama',
  })

/**
 * Two layers of width 256, whose 14 matrices cycle through the quantised types, starting at index `turn`;
 * about 500 kB.
 */
export async function typedLlama(turn: number): Promise<File> {
  const model = randomLlama({
    seed: 9,
    layers: 2,
    heads: 2,
    kvHeads: 1,
    headDim: 128,
    intermediate: 256,
    contextLength: 64,
    speaks: true,
  })
  let next = turn
  return typedGguf(model, () => CODED_DTYPES[next++ % CODED_DTYPES.length] ?? 'F32')
}

export const bytesOfFile = async (file: File): Promise<Uint8Array> => new Uint8Array(await file.arrayBuffer())

/** The files by their names, text files as text. */
export async function inputOf(files: readonly File[]): Promise<Input> {
  const parts: Record<string, string | Uint8Array> = {}
  for (const file of files) {
    parts[file.name] = /\.(json|jinja)$/.test(file.name) ? await file.text() : await bytesOfFile(file)
  }
  return parts
}

export interface NamedModel {
  readonly family: string
  readonly files: readonly File[]
}

/** Every family as GGUF. */
export async function ggufModels(): Promise<NamedModel[]> {
  const models: NamedModel[] = [
    { family: 'llama', files: [await ggufFile(tinyLlama(), 'F16')] },
    { family: 'qwen2', files: [await ggufFile(tinyLlama('qwen2'), 'F16')] },
  ]
  for (const one of FAMILY_CASES) {
    const bytes = await familyGguf(one, drawFamily(one, 1))
    models.push({ family: one.family, files: [new File([bytes as Uint8Array<ArrayBuffer>], 'model.gguf')] })
  }
  for (const family of ['mamba', 'mamba2', 'granitehybrid'] as const) {
    models.push({ family, files: [await recurrentGguf(randomRecurrent(family, 1))] })
  }
  return models
}

/** Every family as a folder of the hub. */
export function safetensorsModels(): NamedModel[] {
  return [
    { family: 'llama', files: safetensorsFiles(tinyLlama(), 'F16') },
    { family: 'qwen2', files: safetensorsFiles(tinyLlama('qwen2'), 'F16') },
    ...FAMILY_CASES.map((one) => ({ family: one.family, files: familySafetensors(one, drawFamily(one, 1)) })),
    ...(['mamba', 'mamba2', 'granitehybrid'] as const).map((family) => ({
      family,
      files: recurrentSafetensors(randomRecurrent(family, 1)),
    })),
  ]
}

/** The prompt for every loaded model. */
export const SAID = 'hello world'

const encoder = new TextEncoder()

/** An input's files as the loader receives them. Parts without a dot in their name are not files. */
export function sourcesOf(input: Input): ByteSource[] {
  return Object.entries(input)
    .filter(([name]) => name.includes('.'))
    .map(([name, part]) => bufferSource(name, typeof part === 'string' ? encoder.encode(part) : part))
}

/** Reads a model like a page: its plan, its tokenizer and, if the input's `depth` says so, two tokens. */
export async function readModel(input: Input): Promise<string> {
  const file = await openModel(sourcesOf(input))
  const prepared = await prepareModel(file, { weights: 'auto' })
  const tokenizer = modelTokenizer(file, prepared.plan.logits.width)
  modelText(tokenizer)
  tokenizer.encode(SAID)
  if (textOf(input, 'depth') !== 'load') return 'planned'
  await speak(input)
  return 'ran'
}

/** Loads the files on one thread and generates two tokens. Throws the error that a page would see. */
export async function speak(input: Input): Promise<void> {
  const files = Object.entries(input)
    .filter(([name]) => name.includes('.'))
    .map(([name, part]) => new File([part as string], name))
  const engine = await openEngine(files, { threads: 1, contextLength: 64 }, nodeService())
  try {
    await engine.complete('hello', { temperature: 0, maxTokens: 2 }).result
  } finally {
    await engine.dispose()
  }
}
