// The models that the manual's blocks name, as random ones of the same kind. Out: files by address.
import { bertBytes } from '../../lab/bench/graphs/bert.ts'
import { ggufFile } from '../../test/conformance/testing/model-files.ts'
import { bertFolder, byPath, randomBert, VOCABULARY } from '../../test/conformance/testing/random-bert.ts'
import { randomLlama } from '../../test/conformance/testing/random-llama.ts'
import { peftFiles, randomLora } from '../../test/conformance/testing/writers/lora-files.ts'
import { colourClassifier, darkDetector, nameLookup, uprightClassifier } from '../examples/small-networks.ts'
import { filesBelow } from '../model-server.ts'
import { seeingModel } from '../networks/seeing-model.ts'
import { tinyOnnx } from '../small-models.ts'

type Files = Map<string, Buffer>

/** The shape of MiniLM's inputs and outputs, with one layer. */
const MINILM = { layers: 1, hidden: 384, heads: 2, intermediate: 64, vocabulary: 7600, positions: 16 }
const SMALL_BERT = { ...MINILM, hidden: 64, vocabulary: VOCABULARY.length, positions: 140 }
const TEMPLATE = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'

const within = async (folder: string, files: ReadonlyMap<string, File>) =>
  (await filesBelow(folder, files)).map(({ name, buffer }) => [name, buffer] as const)

/** A chat model with the names of Llama, which the adapter fits. */
const llama = () => randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: 1024 })
const talking = () =>
  ggufFile(llama(), 'F32', { metadata: { 'tokenizer.chat_template': ['string', TEMPLATE] } })

/** A decoder's graph in the folders of transformers.js. */
async function graphFolder(): Promise<Map<string, File>> {
  const files = new Map<string, File>([['config.json', new File(['{}'], 'config.json')]])
  for (const file of await tinyOnnx()) {
    const isGraph = file.name.endsWith('.onnx')
    if (isGraph) files.set('onnx/model_q4.onnx', file)
    else files.set(file.name.endsWith('.data') ? `onnx/${file.name}` : file.name, file)
  }
  return files
}

/** Files on the page's own server. */
export async function ownFiles(): Promise<Files> {
  const encoder = byPath(bertFolder(randomBert(9)))
  const reranker = byPath(bertFolder(randomBert(9, { isReranker: true })))
  const adapter = peftFiles(randomLora(llama().weights, /proj\.weight$/, 4, 5))
  const [vision, tower] = await seeingModel()
  return new Map<string, Buffer>([
    ['/models/talking.gguf', Buffer.from(await (await talking()).bytes())],
    ['/models/vision.gguf', Buffer.from(await vision!.bytes())],
    ['/models/mmproj.gguf', Buffer.from(await tower!.bytes())],
    ['/models/minilm/onnx/model.onnx', Buffer.from(bertBytes(MINILM))],
    ['/models/classifier.onnx', Buffer.from(colourClassifier())],
    ['/models/upscaler.onnx', Buffer.from(uprightClassifier())],
    ['/models/labels.onnx', Buffer.from(nameLookup())],
    ['/models/detector.onnx', Buffer.from(darkDetector())],
    ...(await within('/models/all-MiniLM-L6-v2/', encoder)),
    ...(await within('/models/ms-marco-MiniLM-L6-v2/', reranker)),
    ...(await within('/adapters/tales/', new Map(adapter.map((file) => [file.name, file])))),
  ])
}

/** Files on other servers, by address. A repository's folder ends with a slash. */
export async function foreignFiles(): Promise<Files> {
  const hub = 'https://huggingface.co/'
  const text = Buffer.from(await (await talking()).bytes())
  const [vision, tower] = (await seeingModel()).map(async (file) => Buffer.from(await file.bytes()))
  const encoder = byPath(bertFolder(randomBert(9)))
  const graphs = await graphFolder()
  const smol = `${hub}ggml-org/SmolVLM-500M-Instruct-GGUF/`
  return new Map<string, Buffer>([
    ['https://models.example/tiny.gguf', text],
    [`${hub}owner/name/model.gguf`, text],
    [`${hub}owner/name/model-Q4_0.gguf`, text],
    ...(await within(`${hub}owner/name/`, graphs)),
    ...(await within(`${hub}owner/model-onnx/`, graphs)),
    [`${hub}LiquidAI/LFM2-350M-GGUF/LFM2-350M-Q4_K_M.gguf`, text],
    [`${smol}SmolVLM-500M-Instruct-Q8_0.gguf`, await vision!],
    [`${smol}mmproj-SmolVLM-500M-Instruct-Q8_0.gguf`, await tower!],
    ...(await within(`${hub}Xenova/bge-small-en-v1.5/`, encoder)),
    [`${hub}Xenova/bge-small-en-v1.5/onnx/model_quantized.onnx`, Buffer.from(bertBytes(SMALL_BERT))],
    ...(await within(`${hub}sentence-transformers/all-MiniLM-L6-v2/`, encoder)),
  ])
}
