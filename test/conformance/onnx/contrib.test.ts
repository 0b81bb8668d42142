// The contrib form. In: tiny random models as GGUF, and as the perf suite's graphs of the same weights. Out:
// whether both give the same logits: bit for bit in 4 bits, and nearly in 8 bits per channel.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { decoder, type Precision } from '../../../lab/bench/perf/onnx/decoder.ts'
import { modelProto } from '../../../lab/bench/perf/onnx/proto.ts'
import { onnxFiles } from '../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../lab/bench/random-model.ts'
import { type Shape, TINY } from '../../../lab/bench/shapes.ts'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { bufferSource } from '../../../src/core/base/bytes.ts'
import type { ModelFile } from '../../../src/core/formats/readers.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { logitsOf, relativeError, withBuilt, withModel } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { openGraph } from './open-graph.ts'

const LLAMA: Shape = { ...TINY, name: 'tiny-llama', family: 'llama' }
const IDS = [98, 120, 81, 104, 75, 66, 110, 99, 12, 200, 7, 31]

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-onnx-'))
})
afterAll(() => rm(folder, { recursive: true }))

test.each([TINY, LLAMA])('$name: int4 has the records and the bits of its GGUF', async (shape) => {
  const gguf = pathToFileURL(join(folder, `${shape.name}.gguf`))
  const bytes = await ggufBytes(randomModel(shape))
  await writeFile(gguf, bytes)
  const file = new File([bytes as BlobPart], 'tiny.gguf')
  const expected = await withBuilt([file], {}, (built) => logitsOf(built, IDS))
  const opened = await openWritten(gguf, shape, 'int4')
  const found = await withModel(opened, {}, (built) => logitsOf(built, IDS))
  expect(found).toEqual(expected)
  const family = await openModel([bufferSource('tiny.gguf', bytes)])
  expect(await recordsOf(opened)).toEqual(await recordsOf(family))
})

// 8-bit weights are made from the file's 4 bits, with one scale per output instead of one per 32 inputs.
test.each([TINY, LLAMA])('$name: int8 gives nearly the same results as its GGUF', async (shape) => {
  const gguf = pathToFileURL(join(folder, `${shape.name}.gguf`))
  const bytes = await ggufBytes(randomModel(shape))
  await writeFile(gguf, bytes)
  const file = new File([bytes as BlobPart], 'tiny.gguf')
  const expected = await withBuilt([file], {}, (built) => logitsOf(built, IDS))
  const opened = await openWritten(gguf, shape, 'int8')
  const found = await withModel(opened, {}, (built) => logitsOf(built, IDS))
  expect(relativeError(found, expected)).toBeLessThan(0.05)
})

test('a local window hides all but the last positions', async () => {
  const gguf = pathToFileURL(join(folder, 'window.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(TINY)))
  const {
    data: [data],
  } = await onnxFiles(gguf, TINY, 'int4')
  const bytes = new Uint8Array(await readFile(data))
  const logitsIn = async (window: number) => {
    const graph = decoder(TINY, 'int4')
    const nodes = graph.nodes.map((node) =>
      node.op === 'GroupQueryAttention'
        ? { ...node, attributes: { ...node.attributes, local_window_size: window } }
        : node,
    )
    const model = modelProto({ ...graph, nodes }, basename(data.pathname))
    const sources = [bufferSource('model.onnx', model), bufferSource(basename(data.pathname), bytes)]
    const opened = await openGraph([...sources, byteTokenizer(256)])
    expect(opened.graph.stateGroups.map((group) => group.window)).toEqual([Math.max(0, window)])
    return withModel(opened, {}, (built) => logitsOf(built, IDS))
  }
  const whole = await logitsIn(-1)
  const local = await logitsIn(4)
  expect(local.slice(0, 4)).toEqual(whole.slice(0, 4))
  for (const row of [4, 7, 11]) expect(local[row]).not.toEqual(whole[row])
})

/** The perf suite's graph of a GGUF. */
async function openWritten(gguf: URL, shape: Shape, precision: Precision) {
  const { model, data } = await onnxFiles(gguf, shape, precision)
  const sources = await Promise.all(
    [model, ...data].map(async (url) =>
      bufferSource(basename(url.pathname), new Uint8Array(await readFile(url))),
    ),
  )
  return openGraph([...sources, byteTokenizer(256)])
}

/** A step's records, excluding labels and weight addresses, because equal norms are stored once. */
async function recordsOf(file: ModelFile) {
  const { plan } = await prepareModel(file, { weights: 'auto' })
  return plan.ops.map(({ name, fields }) => ({
    name,
    fields: Object.entries(fields).map(([field, value]) =>
      typeof value === 'object' && 'slot' in value ? [field, 'weight'] : [field, value],
    ),
  }))
}
