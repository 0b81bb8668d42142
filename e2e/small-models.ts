// Small models: one per format, in as many files as the format allows, with their replies.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { onnxFiles } from '../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../lab/bench/random-model.ts'
import { TINY } from '../lab/bench/shapes.ts'
import { packOf } from '../test/conformance/testing/families/matrix-families.ts'
import { ggufContents, ggufFile, newFile, safetensorsFiles } from '../test/conformance/testing/model-files.ts'
import { openEngine } from '../test/conformance/testing/node-engine.ts'
import { randomLlama } from '../test/conformance/testing/random-llama.ts'
import { ggufBytes } from '../test/conformance/testing/writers/gguf-writer.ts'
import { peftFiles, randomLora } from '../test/conformance/testing/writers/lora-files.ts'

export interface SmallModel {
  /** By name. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>
  /** The file to load, or '' for the folder. */
  readonly place: string
  /** Options for loading it. */
  readonly adapter?: ReadonlyMap<string, Uint8Array<ArrayBuffer>>
  /** Its answer to `PROMPT` with `OPTIONS`. */
  readonly text: string
}

export const FORMATS = ['gguf', 'split', 'safetensors', 'onnx', 'pack', 'adapter'] as const
export type SmallFormat = (typeof FORMATS)[number]

export const PROMPT = 'the river'
/** Greedy. The penalty keeps the graph's random model from repeating one token forever. */
export const OPTIONS = { temperature: 0, maxTokens: 12, repeatPenalty: 1, frequencyPenalty: 2 } as const

const llama = () => randomLlama({ seed: 38, gain: 1.5, speaks: true })

/** The files of each model; a load gets the first one, or the folder. */
const WRITERS: Readonly<Record<SmallFormat, () => Promise<File[]>>> = {
  gguf: async () => [await ggufFile(llama())],
  split: splitGguf,
  safetensors: async () => safetensorsFiles(llama()),
  onnx: tinyOnnx,
  pack: async () => [await packOf(safetensorsFiles(llama()), 'auto')],
  adapter: async () => [await ggufFile(llama())],
}

export async function smallModel(format: SmallFormat): Promise<SmallModel> {
  const files = await WRITERS[format]()
  const lora =
    format === 'adapter' ? peftFiles(randomLora(llama().weights, /proj\.weight$/, 4, 5)) : undefined
  const engine = await openEngine(files, lora && { lora: [{ source: lora }] })
  const text = await engine.complete(PROMPT, OPTIONS).text()
  await engine.dispose()
  return {
    files: await byName(files),
    place: format === 'safetensors' || format === 'onnx' ? '' : files[0]!.name,
    ...(lora && { adapter: await byName(lora) }),
    text,
  }
}

const byName = async (files: readonly File[]) =>
  new Map(await Promise.all(files.map(async (file) => [file.name, await file.bytes()] as const)))

async function splitGguf(): Promise<File[]> {
  const { metadata, tensors } = ggufContents(llama(), 'F32')
  const half = tensors.length >> 1
  const parts = [tensors.slice(0, half), tensors.slice(half)]
  const written = parts.map(async (own, index) => {
    const split = {
      'split.no': ['u16', index],
      'split.count': ['u16', parts.length],
      'split.tensors.count': ['i32', tensors.length],
    } as const
    const bytes = await ggufBytes({ metadata: { ...(index === 0 && metadata), ...split }, tensors: own })
    return newFile(`split-0000${index + 1}-of-0000${parts.length}.gguf`, bytes)
  })
  return Promise.all(written)
}

/** A graph, its external data, and a tokenizer. */
export async function tinyOnnx(): Promise<File[]> {
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
  const gguf = pathToFileURL(join(folder, 'tiny.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(TINY)))
  const { model, data } = await onnxFiles(gguf, TINY, 'int4')
  const places = [model, ...data, new URL('tokenizer.json', model)]
  const files = places.map(async (place) => newFile(basename(place.pathname), await readFile(place)))
  return Promise.all(files).finally(() => rm(folder, { recursive: true }))
}
