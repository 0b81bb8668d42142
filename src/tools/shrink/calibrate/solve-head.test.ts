// The logits matrix by GPTQ. In: a random model in f32, and windows. Out: whether logits on other text are
// closer to the model's than those of a rounded matrix, and whether an interrupted run gives the same codes.
import { describe, expect, test } from 'vitest'
import { safetensorsFiles } from '../../../../test/conformance/testing/model-files.ts'
import { logitsOf, relativeError, withBuilt } from '../../../../test/conformance/testing/node-engine.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { Random } from '../../../../test/helpers/random.ts'
import { openModel } from '../../../core/arch/open-model.ts'
import { blobSource, bufferSource } from '../../../core/base/bytes.ts'
import { writePack } from '../../../core/formats/hbm/hbm-writer.ts'
import { packContents } from '../../../engine/load/pack-model.ts'
import { prepareModel } from '../../../engine/load/prepare.ts'
import { nodeHost } from '../../cli/node-host.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { withTables } from '../vocabulary/coded-tables.ts'
import { matrixSlabs, readMatrix } from './gram.ts'
import { type QuantizeOptions, quantizeModel } from './quantize-model.ts'
import { type SolvedHead, solveHead } from './solve-head.ts'
import { memoryWork } from './work-files.ts'

const { signal } = new AbortController()
const shared = { host: nodeHost(), threads: 1, signal } as const
const files = safetensorsFiles(randomLlama({ seed: 11, intermediate: 88, gain: 1.4 }))
const prepared = () =>
  openModel(files.map((file) => blobSource(file.name, file))).then((file) =>
    prepareModel(file, { weights: 'f32', forPack: true }),
  )
const windows = Array.from({ length: 12 }, (_, w) =>
  Array.from({ length: 64 }, (_, i) => (7 * w + 5 * i * i + 3) % 90),
)
const OTHER = Array.from({ length: 60 }, (_, i) => (55 * i * i + 34) % 90)

const solved = async (format: Format): Promise<SolvedHead> => {
  const model = await prepared()
  return solveHead(model, model.weights, () => 'f32', { ...shared, windows, format, sweeps: 2 })
}

/** Logits on other text with a table and a head in these codes. */
async function logitsWith(formats: { table?: Format; head?: Format }, head?: SolvedHead) {
  const { weights, ...model } = await prepared()
  const whole = await packContents({ ...model, weights }, { signal })
  const contents = withTables(whole, weights, formats, signal, head && (async () => head.bytes))
  const chunks: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of writePack(contents)) chunks.push(chunk.slice())
  return withBuilt([new File(chunks, 'h.hbm')], { weights: 'auto' }, (built) => logitsOf(built, OTHER))
}

describe.each(['w4_g32', 'w8_g32'] as const)('%s', (format) => {
  test('gives logits closer to the model’s than rounding does, on other text', async () => {
    const float = await logitsWith({})
    const head = await solved(format)
    const own = relativeError(await logitsWith({ head: format }, head), float)
    const rounded = relativeError(await logitsWith({ head: format }), float)
    expect(own).toBeLessThan(0.95 * rounded)
    expect(head.loss).toBeLessThan(0.9 * head.lossBefore)
    expect(own).toBeGreaterThan(0)
  })
})

test('quantizeModel solves the head for the compressed model, once', async () => {
  const work = memoryWork()
  const told: string[] = []
  const options: QuantizeOptions = {
    ...shared,
    windows,
    work,
    method: 'gptq',
    format: 'w4_g32',
    head: 'w4_g32',
    drift: 0,
    sweeps: 1,
    onMatrix: ({ name }) => told.push(name),
  }
  const first = await quantizeModel(await prepared(), options)
  const name = first.matrices.at(-1)?.name
  expect(name).toMatch(/^(embed|output)\.weight$/)
  expect(told.at(-1)).toBe(name)
  const again = await quantizeModel(await prepared(), { ...options, onMatrix: () => expect.unreachable() })
  expect(await again.head?.()).toEqual(await first.head?.())
  const rounded = await quantizeModel(await prepared(), { ...options, method: 'rtn', work: memoryWork() })
  expect(rounded.head).toBeUndefined()
})

test('a table read in slabs of rows gives the same rows as the whole', async () => {
  const n = 2083
  const k = 40
  const random = new Random('slabs')
  const values = Float32Array.from({ length: n * k }, () => random.signed())
  const source = bufferSource('t', new Uint8Array(values.buffer))
  const table = {
    name: 't',
    dtype: 'F32',
    shape: [n, k],
    source,
    offset: 0,
    byteLength: source.size,
  } as const
  const slabs: { readonly n: number; readonly values: Float32Array }[] = []
  for await (const slab of matrixSlabs(table, signal)) slabs.push(slab)
  expect(slabs.map((slab) => slab.n)).toEqual([2048, 35])
  const joined = Float32Array.from(slabs.flatMap((slab) => [...slab.values]))
  expect(joined).toEqual(await readMatrix(table, signal))
  expect(joined).toEqual(values)
})
