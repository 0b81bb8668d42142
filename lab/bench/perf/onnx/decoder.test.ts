// Tests that ONNX Runtime reads the graphs of tiny random models, and gives the same results as Halfbyte with
// the same weights.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { logitsOf, relativeError, withBuilt } from '../../../../test/conformance/testing/node-engine.ts'
import { ggufBytes } from '../../../../test/conformance/testing/writers/gguf-writer.ts'
import { randomModel } from '../../random-model.ts'
import { type Shape, TINY } from '../../shapes.ts'
import { packageOf } from '../catalogue.ts'
import { ENGINES } from '../engines.ts'
import { decoder, type Precision } from './decoder.ts'
import { type Ort, OrtText } from './feeds.ts'
import { dataLayout, modelProto, weightBytes } from './proto.ts'
import { onnxFiles } from './write.ts'

const LLAMA: Shape = { ...TINY, name: 'tiny-llama', family: 'llama' }
const IDS = [98, 120, 81, 104, 75, 66, 110]

const kind = ENGINES.find(({ name }) => name === 'ort-int4')!
const isInstalled = (await packageOf(kind)) !== undefined
let folder: string
let ort: Ort

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
  if (!isInstalled) return
  // The name is in a variable, so that type checking does not need the package, which may not be installed.
  const name = 'onnxruntime-web'
  ort = await import(name)
})
afterAll(() => rm(folder, { recursive: true }))

test('weights are stored one after the other, aligned, with the sizes of their shapes', () => {
  const { weights } = decoder(TINY, 'int4')
  for (const most of [2 ** 30, 20_000, 1]) {
    const { places, sizes } = dataLayout(weights, most)
    for (const [index, weight] of weights.entries()) {
      const { file, offset } = places[index]!
      const next = places[index + 1]
      expect(offset % 64).toBe(0)
      const end = next?.file === file ? next.offset : sizes[file]!
      expect(offset + weightBytes(weight)).toBeLessThanOrEqual(end)
      if (offset > 0) expect(end).toBeLessThanOrEqual(most)
    }
    expect(places.at(-1)?.file).toBe(sizes.length - 1)
  }
  expect(dataLayout(weights).sizes).toHaveLength(1)
  expect(dataLayout(weights, 1).sizes).toHaveLength(weights.length)
  expect(new Set(weights.map(({ name }) => name)).size).toBe(weights.length)
})

test('every value that a node reads is an output of an earlier node, an input or a stored weight', () => {
  for (const precision of ['int4', 'int8', 'f32'] as const) {
    const graph = decoder(LLAMA, precision)
    const known = new Set(['', ...[...graph.inputs, ...graph.weights].map(({ name }) => name)])
    for (const { op, inputs, outputs } of graph.nodes) {
      for (const name of inputs) expect(known, `${op} reads ${name}`).toContain(name)
      for (const name of outputs) known.add(name)
    }
    for (const { name } of graph.outputs) expect(known).toContain(name)
  }
})

test('the file names the data file and contains no weights', () => {
  const bytes = modelProto(decoder(TINY, 'int8'), 'weights.bin')
  expect(bytes.byteLength).toBeLessThan(20_000)
  expect(Buffer.from(bytes).toString('latin1')).toContain('weights.bin')
})

test.skipIf(!isInstalled).each([
  ['int4', TINY, 0.05],
  ['int4', LLAMA, 0.05],
  ['int8', TINY, 0.1],
  ['int8', LLAMA, 0.1],
  ['f32', TINY, 0.05],
  ['f32', LLAMA, 0.05],
] as const)('%s: the graph gives Halfbyte’s results', async (precision, shape, tolerance) => {
  const gguf = pathToFileURL(join(folder, `${shape.name}.gguf`))
  const bytes = await ggufBytes(randomModel(shape))
  await writeFile(gguf, bytes)
  const expected = await withBuilt(
    [new File([bytes as BlobPart], 'tiny.gguf')],
    { weights: 'auto' },
    (built) => logitsOf(built, IDS),
  )
  const open = await openDecoder(gguf, shape, precision)
  const whole = await open().read(IDS)
  const error = relativeError([whole], expected.slice(-1))
  expect(error).toBeLessThan(tolerance)
  // The same rows in two runs, with keys and values returned by the first and passed to the second.
  const text = open()
  await text.read(IDS.slice(0, 4))
  const ended = await text.read(IDS.slice(4))
  // Not bit-identical, because int8 activations have one scale per run.
  expect(relativeError([ended], [whole])).toBeLessThan(0.05)
})

async function openDecoder(gguf: URL, shape: Shape, precision: Precision) {
  const { model, data } = await onnxFiles(gguf, shape, precision)
  ort.env.wasm.numThreads = 1
  const externalData = await Promise.all(
    data.map(async (url) => ({ path: basename(url.pathname), data: new Uint8Array(await readFile(url)) })),
  )
  const session = await ort.InferenceSession.create(new Uint8Array(await readFile(model)), {
    executionProviders: ['wasm'],
    externalData,
  })
  return () => new OrtText(ort, session, shape)
}
