// Writes a folder with an ONNX model of a GGUF file's weights, its data in files of up to 1 GB, and its
// tokenizer, unless it already exists.
import { openAsBlob } from 'node:fs'
import { mkdir, open, stat, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openModel } from '../../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../../src/core/base/bytes.ts'
import { byteTokenizer } from '../../../../test/conformance/onnx/byte-tokenizer.ts'
import type { Shape } from '../../shapes.ts'
import { type Decoder, decoder, type Precision, type SourcedWeight } from './decoder.ts'
import { genaiDecoder } from './exporters/genai.ts'
import { optimumDecoder } from './exporters/optimum.ts'
import { dataLayout, dataName, modelProto, weightBytes } from './proto.ts'

const DATA = 'model.onnx.data'

export interface OnnxFiles {
  readonly model: URL
  readonly data: readonly [URL, ...URL[]]
}

/**
 * `genai-int4`, `optimum-f32`, `optimum-f16` and `tjs-q8` are exporters' graphs, in which embeddings and
 * logits share a table; the others are those that ONNX Runtime runs fastest.
 */
export type GraphForm = Precision | 'genai-int4' | 'optimum-f32' | 'optimum-f16' | 'tjs-q8'

export function graphOf(shape: Shape, form: GraphForm): Decoder {
  switch (form) {
    case 'genai-int4':
      return genaiDecoder(shape)
    case 'optimum-f32':
      return optimumDecoder(shape, 'f32')
    case 'optimum-f16':
      return optimumDecoder(shape, 'f16')
    case 'tjs-q8':
      return optimumDecoder(shape, 'q8')
    default:
      return decoder(shape, form)
  }
}

/** The folder is next to the GGUF, and is rewritten if the GGUF is newer. */
export async function onnxFiles(gguf: URL, shape: Shape, form: GraphForm): Promise<OnnxFiles> {
  const folder = new URL(`${shape.name}-${form}/`, gguf)
  const at = (name: string) => new URL(name, folder)
  const graph = graphOf(shape, form)
  const { places, sizes } = dataLayout(graph.weights)
  const [first, ...more] = sizes.map((_, file) => at(dataName(DATA, file)))
  const files: OnnxFiles = { model: at('model.onnx'), data: [first!, ...more] }
  const [made, source] = await Promise.all([stat(files.model).catch(() => undefined), stat(gguf)])
  if (made !== undefined && made.mtimeMs > source.mtimeMs) return files
  console.log(`writing ${fileURLToPath(folder)}`)
  const { tensors } = await openModel([blobSource(gguf.pathname, await openAsBlob(gguf))])
  const read = async (name: string) => {
    const tensor = tensors.get(name)
    if (tensor === undefined) throw new Error(`${gguf.pathname} has no ${name}`)
    return tensor.source.read(tensor.offset, tensor.byteLength)
  }
  await mkdir(folder, { recursive: true })
  const tokenizer = byteTokenizer(shape.vocabSize)
  await writeFile(at('tokenizer.json'), await tokenizer.read(0, tokenizer.size))
  for (const [file, size] of sizes.entries()) {
    const placed = graph.weights.map((weight, index) => ({ ...places[index]!, weight }))
    const own = placed.filter((each) => each.file === file)
    await writeData(files.data[file]!, size, own, read)
  }
  // Written last, so that a folder with this file is complete.
  await writeFile(files.model, modelProto(graph, DATA))
  return files
}

async function writeData(
  url: URL,
  size: number,
  placed: readonly { readonly weight: SourcedWeight; readonly offset: number }[],
  read: (name: string) => Promise<Uint8Array>,
): Promise<void> {
  const file = await open(url, 'w')
  try {
    await file.truncate(size)
    for (const { weight, offset } of placed) {
      const bytes = await weight.make(read)
      const due = weightBytes(weight)
      if (bytes.byteLength !== due) {
        throw new RangeError(`${weight.name}: ${bytes.byteLength} bytes were written instead of ${due}`)
      }
      await file.write(bytes, 0, due, offset)
    }
  } finally {
    await file.close()
  }
}
