// Ternary weights, end to end. In: transformers' BitNet case with weights -1, 0 and 1, in files with 2 bits
// per weight. Out: transformers' logits, and the same bits from every build, pool and pack.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openModel } from '../../../src/core/arch/open-model.ts'
import { blobSource } from '../../../src/core/base/bytes.ts'
import { prepareModel } from '../../../src/engine/load/prepare.ts'
import { BUILDS } from '../testing/builds.ts'
import { BOUNDS } from '../testing/families/matrix.ts'
import { packOf } from '../testing/families/matrix-families.ts'
import { hubFolder } from '../testing/model-files.ts'
import {
  type BuildOptions,
  type Files,
  largestDifference,
  logitsOf,
  relativeError,
  withBuilt,
} from '../testing/node-engine.ts'
import type { StoredTensor } from '../testing/writers/safetensors-writer.ts'
import { type Row, type Tensor, tensorsOf } from '../transformers/weights.ts'

interface Case {
  readonly name: string
  readonly config: { readonly vocab_size: number }
  readonly tensors: readonly Row[]
  readonly logits: Readonly<Record<string, string>>
}

const golden = new URL('../transformers/golden/bitnet.json', import.meta.url)
const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(golden, 'utf8'))
const CASE = cases.find(({ name }) => name === 'ternary weights')!
const TOKENS = Array.from({ length: 40 }, (_, i) => (37 * i + ((i * i) % 11) + 1) % CASE.config.vocab_size)

/** Packs rows r, r + n/4, r + n/2 and r + 3n/4 into the bits of one byte, and adds the scale. */
function packed({ name, shape, values }: Tensor): Record<string, StoredTensor> {
  const [n = 0, k = 0] = shape
  const scale = values.reduce((most, value) => Math.max(most, value))
  const data = new Uint8Array((n / 4) * k)
  for (const [at, value] of values.entries()) {
    const row = Math.floor(at / k)
    data[(row % (n / 4)) * k + (at % k)]! |= (value / scale + 1) << (2 * Math.floor(row / (n / 4)))
  }
  return {
    [name]: { dtype: 'U8', shape: [n / 4, k], data },
    [`${name}_scale`]: { dtype: 'F32', shape: [1], data: bytesOf(Float32Array.of(scale)) },
  }
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

function files(): File[] {
  const stored: Record<string, StoredTensor> = {}
  for (const tensor of tensorsOf(CASE.tensors)) {
    const { name, shape, values } = tensor
    if (name.endsWith('_proj.weight')) Object.assign(stored, packed(tensor))
    else stored[name] = { dtype: 'F32', shape, data: bytesOf(values) }
  }
  const quantization_config = { quant_method: 'bitnet', linear_class: 'autobitlinear' }
  return hubFolder({ ...CASE.config, quantization_config }, stored)
}

const logits = (from: Files, options: BuildOptions) =>
  withBuilt(from, options, (built) => logitsOf(built, TOKENS))

test('in f32, packed weights give the logits of transformers', async () => {
  const rows = await logits(files(), { weights: 'f32' })
  let largest = 0
  let difference = 0
  for (const [position, text] of Object.entries(CASE.logits)) {
    const right = new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)
    for (const [id, logit] of right.entries()) {
      largest = Math.max(largest, Math.abs(logit))
      difference = Math.max(difference, Math.abs(rows[Number(position)]![id]! - logit))
    }
  }
  expect(difference / largest).toBeLessThan(1e-5)
})

test('every matrix of a layer stays in 2 bits, and the logits stay close', async () => {
  const sources = files().map((file) => blobSource(file.name, file))
  const { plan } = await prepareModel(await openModel(sources), { weights: 'auto' })
  const names = plan.ops.map(({ name }) => name).filter((name) => name.startsWith('linear'))
  // Two layers with four products each, and the product for the logits.
  expect(names.filter((name) => name === 'linear_w2a8_g256')).toHaveLength(8)
  expect(names).toHaveLength(9)
  const exact = await logits(files(), { weights: 'f32' })
  expect(relativeError(await logits(files(), {}), exact)).toBeLessThan(0.03)
})

test('builds, thread counts and a pack agree bit for bit', async () => {
  const pack = await packOf(files(), 'auto')
  const tables = []
  for (const options of BUILDS) {
    for (const from of [files(), [pack]]) tables.push(await logits(from, options))
  }
  for (const table of tables) expect(largestDifference(table, tables[0]!)).toBe(0)
})

test('shards are as close to f32 as one thread is', async () => {
  const exact = await logits(files(), { weights: 'f32' })
  const alone = await logits(files(), {})
  const shared = await withBuilt(files(), { pool: 'shards', threads: 2 }, async (built) => {
    expect(built.info).toMatchObject({ pool: 'shards', threads: 2 })
    return logitsOf(built, TOKENS)
  })
  expect(relativeError(shared, exact)).toBeLessThan(1.2 * relativeError(alone, exact))
  expect(relativeError(shared, alone)).toBeLessThan(BOUNDS.channel)
})

test("heads of 16 are split at group boundaries, even with a norm before attention's last matrix", async () => {
  const { config, tensors } = cases.find(({ name }) => name === 'two KV heads')!
  const stored = [...tensorsOf(tensors)].map(
    ({ name, shape, values }) => [name, { dtype: 'F32', shape, data: bytesOf(values) }] as const,
  )
  const plain = hubFolder(config, Object.fromEntries(stored))
  const alone = await logits(plain, { weights: 'w8' })
  const shared = await logits(plain, { weights: 'w8', pool: 'shards', threads: 4 })
  expect(relativeError(shared, alone)).toBeLessThan(BOUNDS.quantized)
})
