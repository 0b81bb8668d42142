// Tests, with tiny random models in exporters' graphs, that Halfbyte gives ONNX Runtime's results for the
// same graph, and stores a table shared by embeddings and logits only once.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bufferSource } from '../../../../../src/core/base/bytes.ts'
import { openGraph } from '../../../../../test/conformance/onnx/open-graph.ts'
import {
  logitsOf,
  relativeError,
  withBuilt,
  withModel,
} from '../../../../../test/conformance/testing/node-engine.ts'
import { ggufBytes } from '../../../../../test/conformance/testing/writers/gguf-writer.ts'
import { inHalves, randomModel } from '../../../random-model.ts'
import { type Shape, TINY } from '../../../shapes.ts'
import { packageOf } from '../../catalogue.ts'
import { ENGINES } from '../../engines.ts'
import { type Ort, OrtText } from '../feeds.ts'
import type * as Write from '../write.ts'

const LLAMA: Shape = { ...TINY, name: 'tiny-llama', family: 'llama' }
/** A table large enough to stay in its file, because constants of up to 64 KB are read immediately. */
const LARGE: Shape = { ...TINY, name: 'large', vocabSize: 2304 }
const IDS = [98, 120, 81, 104, 75, 66, 110]
const isInstalled = (await packageOf(ENGINES.find(({ name }) => name === 'ort-int4')!)) !== undefined

let folder: string
let ort: Ort
let write: typeof Write
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-exporters-'))
  if (!isInstalled) return
  // The name is in a variable, so that type checking does not need the package, which may not be installed.
  const name = 'onnxruntime-web'
  ort = await import(name)
  write = await import('../write.ts')
})
afterAll(() => rm(folder, { recursive: true }))

async function written(shape: Shape, form: Write.GraphForm) {
  const gguf = pathToFileURL(join(folder, `${shape.name}.gguf`))
  const bytes = await ggufBytes(randomModel(shape))
  await writeFile(gguf, bytes)
  return { bytes, files: await write.onnxFiles(gguf, shape, form) }
}

const read = async (url: URL) => bufferSource(basename(url.pathname), new Uint8Array(await readFile(url)))

async function opened({ model, data }: Write.OnnxFiles) {
  const beside = (await readdir(new URL('.', model))).filter((name) => name.endsWith('.json'))
  const others = beside.map((name) => new URL(name, model))
  return openGraph(await Promise.all([model, ...data, ...others].map(read)))
}

/**
 * f32: sums are in a different order. f16: ONNX Runtime rounds rows. Others: int8 rows have different scales.
 */
const TOLERANCES = { 'optimum-f32': 1e-5, 'optimum-f16': 4e-3, 'genai-int4': 0.05, 'tjs-q8': 0.05 } as const
const FORMS = Object.keys(TOLERANCES) as (keyof typeof TOLERANCES)[]

test
  .skipIf(!isInstalled)
  .each([TINY, LLAMA, LARGE].flatMap((shape) => FORMS.map((form) => [shape.name, form, shape] as const)))(
  '%s, %s: ONNX Runtime and Halfbyte agree, and the table is in memory once',
  async (_, form, shape) => {
    const { files } = await written(shape, form)
    const file = await opened(files)
    if (shape === LARGE) expect(file.metadata.get('config')).toMatchObject({ tiedEmbeddings: true })
    const found = await withModel(file, {}, (built) => logitsOf(built, IDS))
    ort.env.wasm.numThreads = 1
    const externalData = await Promise.all(
      files.data.map(async (url) => ({
        path: basename(url.pathname),
        data: new Uint8Array(await readFile(url)),
      })),
    )
    const session = await ort.InferenceSession.create(new Uint8Array(await readFile(files.model)), {
      executionProviders: ['wasm'],
      externalData,
      logSeverityLevel: 3,
    })
    const whole = await new OrtText(ort, session, shape).read(IDS)
    expect(relativeError(found.slice(-1), [whole])).toBeLessThan(TOLERANCES[form])
    const text = new OrtText(ort, session, shape)
    await text.read(IDS.slice(0, 4))
    expect(relativeError([await text.read(IDS.slice(4))], [whole])).toBeLessThan(0.05)
  },
)

const logitsOfGguf = (bytes: Uint8Array) =>
  withBuilt([new File([bytes as BlobPart], 'tiny.gguf')], { weights: 'auto' }, (built) =>
    logitsOf(built, IDS),
  )

test.skipIf(!isInstalled).each([TINY, LLAMA])(
  'the int4 graph of $name gives the logits of its GGUF bit for bit',
  async (shape) => {
    const { bytes, files } = await written(shape, 'genai-int4')
    const found = await withModel(await opened(files), {}, (built) => logitsOf(built, IDS))
    expect(found).toEqual(await logitsOfGguf(bytes))
  },
)

test.skipIf(!isInstalled)('the f16 graph gives the logits of a GGUF in F16', async () => {
  const { files } = await written(LARGE, 'optimum-f16')
  const found = await withModel(await opened(files), {}, (built) => logitsOf(built, IDS))
  const due = await logitsOfGguf(await ggufBytes(inHalves(randomModel(LARGE))))
  // Biases are rounded to f16 in the graph.
  expect(relativeError(found, due)).toBeLessThan(1e-3)
})
