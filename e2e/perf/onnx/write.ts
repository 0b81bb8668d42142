// Writing. In: a GGUF file of a shape, a precision. Out: a folder with an ONNX model of the same weights, its
// data and its tokenizer, written once and kept.
import { openAsBlob } from 'node:fs'
import { mkdir, open, rename, stat, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Shape } from '../../../bench/shapes.ts'
import { byteTokenizer } from '../../../conformance/onnx/byte-tokenizer.ts'
import { blobSource } from '../../../src/base/bytes.ts'
import { openModel } from '../../../src/formats/open-model.ts'
import { decoder, type Precision } from './decoder.ts'
import { dataLayout, modelProto, weightBytes } from './proto.ts'

export interface OnnxFiles {
  readonly model: URL
  readonly data: URL
}

/** The folder lies beside the GGUF. It is made anew when that is younger. */
export async function onnxFiles(gguf: URL, shape: Shape, precision: Precision): Promise<OnnxFiles> {
  const folder = new URL(`${shape.name}-${precision}/`, gguf)
  const at = (name: string) => new URL(name, folder)
  const files = { model: at('model.onnx'), data: at('model.onnx.data') }
  const [made, source] = await Promise.all([stat(files.model).catch(() => undefined), stat(gguf)])
  if (made !== undefined && made.mtimeMs > source.mtimeMs) return files
  console.log(`writing ${fileURLToPath(files.data)}`)
  const { tensors } = await openModel([blobSource(gguf.pathname, await openAsBlob(gguf))])
  const read = async (name: string) => {
    const tensor = tensors.get(name)
    if (tensor === undefined) throw new Error(`${gguf.pathname} has no ${name}`)
    return tensor.source.read(tensor.offset, tensor.byteLength)
  }
  const graph = decoder(shape, precision)
  const { offsets, size } = dataLayout(graph.weights)
  await mkdir(folder, { recursive: true })
  const tokenizer = byteTokenizer(shape.vocabSize)
  await writeFile(at('tokenizer.json'), await tokenizer.read(0, tokenizer.size))
  const part = at('part')
  const file = await open(part, 'w')
  try {
    await file.truncate(size)
    for (const [index, weight] of graph.weights.entries()) {
      const bytes = await weight.make(read)
      const due = weightBytes(weight)
      if (bytes.byteLength !== due) {
        throw new RangeError(`${weight.name}: ${bytes.byteLength} bytes came, ${due} are due`)
      }
      await file.write(bytes, 0, due, offsets[index] ?? 0)
    }
  } finally {
    await file.close()
  }
  await rename(part, files.data)
  await writeFile(files.model, modelProto(graph, basename(files.data.pathname)))
  return files
}
