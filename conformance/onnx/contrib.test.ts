// The contrib form. In: tiny random models as GGUF, and as the int4 graphs that the perf suite writes of the
// same weights. Out: whether both give the same logits, bit for bit.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { randomModel } from '../../bench/random-model.ts'
import { type Shape, TINY } from '../../bench/shapes.ts'
import { onnxFiles } from '../../e2e/perf/onnx/write.ts'
import { bufferSource } from '../../src/base/bytes.ts'
import { prepareModel } from '../../src/engine/load/prepare.ts'
import { type ModelFile, openModel } from '../../src/formats/model-file.ts'
import { openOnnx } from '../../src/onnx/open-model.ts'
import { logitsOf, withBuilt, withModel } from '../testing/node-engine.ts'
import { ggufBytes } from '../testing/writers/gguf-writer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'

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
  const { model, data } = await onnxFiles(gguf, shape, 'int4')
  const sources = await Promise.all(
    [model, data].map(async (url) =>
      bufferSource(basename(url.pathname), new Uint8Array(await readFile(url))),
    ),
  )
  const opened = await openOnnx([...sources, byteTokenizer(256)])
  const found = await withModel(opened, {}, (built) => logitsOf(built, IDS))
  expect(found).toEqual(expected)
  const family = await openModel([bufferSource('tiny.gguf', bytes)])
  expect(await recordsOf(opened)).toEqual(await recordsOf(family))
})

/** The records of a step but for labels, and for which weight lies where: equal norms lie there once. */
async function recordsOf(file: ModelFile) {
  const { plan } = await prepareModel(file, { weights: 'auto' })
  return plan.ops.map(({ name, fields }) => ({
    name,
    fields: Object.entries(fields).map(([field, value]) =>
      typeof value === 'object' && 'slot' in value ? [field, 'weight'] : [field, value],
    ),
  }))
}
