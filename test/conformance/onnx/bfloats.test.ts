// bf16 values in f32. In: an export in which all, all but one, or none of a matrix's values are bf16. Out:
// which matrices are kept as bf16, and whether results are bit-identical.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { onnxFiles } from '../../../lab/bench/perf/onnx/write.ts'
import { randomModel } from '../../../lab/bench/random-model.ts'
import { type Shape, TINY } from '../../../lab/bench/shapes.ts'
import { type ByteSource, bufferSource } from '../../../src/core/base/bytes.ts'
import { logitsOf, withModel } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { openGraph } from './open-graph.ts'

/** Matrices of more than 64 KB, which stay in their file. */
const SHAPE: Shape = { ...TINY, name: 'wide', hiddenSize: 256, heads: 4, kvHeads: 2, headDim: 64 }
const IDS = [3, 1, 4, 1, 5, 9, 2, 6]
let folder = ''
let model: Uint8Array
let data: Uint8Array
let dataName = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'halfbyte-bfloats-'))
  const gguf = pathToFileURL(join(folder, 'wide.gguf'))
  await writeFile(gguf, await ggufBytes(randomModel(SHAPE)))
  const files = await onnxFiles(gguf, SHAPE, 'f32-bf16')
  model = new Uint8Array(await readFile(files.model))
  data = new Uint8Array(await readFile(files.data[0]))
  dataName = basename(files.data[0].pathname)
})
afterAll(() => rm(folder, { recursive: true }))

function open(bytes: Uint8Array, bfloats: boolean, more: Partial<ByteSource> = {}) {
  const weights = { ...bufferSource(dataName, bytes), ...more }
  return openGraph([bufferSource('model.onnx', model), weights, byteTokenizer(SHAPE.vocabSize)], { bfloats })
}

const matricesOf = ({ tensors }: Awaited<ReturnType<typeof open>>) =>
  [...tensors.values()].filter(({ shape }) => shape.length === 2)
const dtypesOf = (file: Awaited<ReturnType<typeof open>>) => matricesOf(file).map(({ dtype }) => dtype)

test('matrices of bf16 values are read as bf16, and give the same bits', async () => {
  const asTold = await open(data, false)
  const short = await open(data, true)
  expect(new Set(dtypesOf(asTold))).toEqual(new Set(['F32']))
  expect(new Set(dtypesOf(short))).toEqual(new Set(['BF16']))
  expect(matricesOf(short)[0]?.origin).toBe('f32, all of them bf16: no loss')
  const logits = (file: typeof short) => withModel(file, {}, (built) => logitsOf(built, IDS))
  expect(await logits(short)).toEqual(await logits(asTold))
})

test("any byte range of them equals the upper halves of the file's words", async () => {
  const asTold = await open(data, false)
  const short = await open(data, true)
  const name = 'embed.weight'
  const wide = asTold.tensors.get(name)!
  const narrow = short.tensors.get(name)!
  expect(narrow.byteLength).toBe(wide.byteLength / 2)
  const words = new Uint16Array((await wide.source.read(wide.offset, wide.byteLength)).slice().buffer)
  const expected = new Uint8Array(words.filter((_, at) => at % 2 === 1).buffer)
  for (const [from, length] of [
    [0, narrow.byteLength],
    [1, 1],
    [1, 2],
    [3, 7],
    [1000, 0],
    [narrow.byteLength - 3, 3],
  ] as const) {
    const found = await narrow.source.read(narrow.offset + from, length)
    expect(found).toEqual(expected.slice(from, from + length))
  }
  await expect(narrow.source.read(narrow.byteLength - 1, 2)).rejects.toMatchObject({ code: 'format' })
})

test('a matrix with a single other value stays f32', async () => {
  const file = await open(data, false)
  const { offset, byteLength } = file.tensors.get('embed.weight')!
  const changed = data.slice()
  changed[offset + byteLength - 4] = 1
  const found = await open(changed, true)
  expect(found.tensors.get('embed.weight')).toMatchObject({ dtype: 'F32', offset })
  expect(dtypesOf(found).filter((dtype) => dtype === 'F32')).toHaveLength(1)
})

test('files read in ranges are not scanned', async () => {
  const { read } = bufferSource(dataName, data)
  expect(new Set(dtypesOf(await open(data, true, { readAlone: read })))).toEqual(new Set(['F32']))
})
