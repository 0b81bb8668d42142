// Tables in other formats. In: a random table in a pack's contents. Out: the resulting codes and their
// accuracy.
import { expect, test } from 'vitest'
import { Random } from '../../../../test/helpers/random.ts'
import { bufferSource } from '../../../core/base/bytes.ts'
import { DTYPE_OF } from '../../../core/formats/hbm/hbm.ts'
import type { PackTensor } from '../../../core/formats/hbm/hbm-writer.ts'
import type { TensorInfo } from '../../../core/formats/tensors.ts'
import { packMatrix } from '../../../core/weights/sparse/pack.ts'
import { readMatrix } from '../calibrate/gram.ts'
import type { Format } from '../codes/coded-matrix.ts'
import { TABLES, type TableFormats, withTables } from './coded-tables.ts'

// More rows than one slab holds, and a partial last group.
const N = 2083
const K = 40
const { signal } = new AbortController()
const random = new Random('tables')
const values = Float32Array.from({ length: N * K }, () => random.signed())
const source = bufferSource('table', new Uint8Array(values.buffer))
const table: TensorInfo = {
  name: 't',
  dtype: 'F32',
  shape: [N, K],
  source,
  offset: 0,
  byteLength: source.size,
}

function coded(formats: TableFormats, names: readonly string[] = ['embed.weight', 'other']) {
  const tensors = names.map((name) => packMatrix(name, table, 'f32'))
  const weights = new Map(TABLES.map((name) => [name, table]))
  const tiedEmbeddings = !names.includes('output.weight')
  return withTables({ name: 'x', config: { tiedEmbeddings }, tensors }, weights, formats, signal)
}

const encodingsOf = ({ tensors }: { readonly tensors: readonly PackTensor[] }) =>
  tensors.map(({ name, encoding }) => `${name} ${encoding}`)

/** The largest difference of a weight when read back. */
async function errorOf({ bytes, data }: PackTensor, format: Format): Promise<number> {
  const parts: Uint8Array[] = []
  for await (const chunk of data()) parts.push(chunk)
  const laid = bufferSource('coded', parts[0] as Uint8Array<ArrayBuffer>)
  expect(laid.size).toBe(bytes)
  const read = { ...table, dtype: DTYPE_OF[format], packed: format, source: laid, byteLength: laid.size }
  const own = await readMatrix(read, signal)
  return own.reduce((most, value, at) => Math.max(most, Math.abs(value - (values[at] ?? 0))), 0)
}

test('tables get the requested format, and other matrices keep theirs', async () => {
  const four = coded({ table: 'w4_g32' })
  const eight = coded({ table: 'w8_g32' })
  expect(encodingsOf(four)).toEqual(['embed.weight w4_g32', 'other f32'])
  const error = await errorOf(four.tensors[0] as PackTensor, 'w4_g32')
  expect(error).toBeLessThan(0.2)
  expect(error).toBeGreaterThan(0.02)
  expect(await errorOf(eight.tensors[0] as PackTensor, 'w8_g32')).toBeLessThan(0.005)
  expect(encodingsOf(coded({}))).toEqual(['embed.weight f32', 'other f32'])
})

test('a head in another format becomes a separate matrix', async () => {
  const untied = coded({ table: 'w4_g32', head: 'w8_g32' })
  expect(encodingsOf(untied)).toEqual(['embed.weight w4_g32', 'output.weight w8_g32', 'other f32'])
  expect(untied.config).toEqual({ tiedEmbeddings: false })
  expect(await errorOf(untied.tensors[1] as PackTensor, 'w8_g32')).toBeLessThan(0.005)
  expect(coded({ table: 'w4_g32', head: 'w4_g32' }).config).toEqual({ tiedEmbeddings: true })
})

test("a separate head gets its own format, or the table's", () => {
  const names = ['embed.weight', 'output.weight']
  expect(encodingsOf(coded({ table: 'w4_g32' }, names))).toEqual(names.map((name) => `${name} w4_g32`))
  expect(encodingsOf(coded({ head: 'w8_g32' }, names))).toEqual(['embed.weight f32', 'output.weight w8_g32'])
})
