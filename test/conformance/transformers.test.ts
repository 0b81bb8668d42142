// Conformance with transformers. In: small models of odd shapes from every family. Out: whether logits match
// transformers' in float64.
//
// transformers/golden has the expected logits. transformers/make.py writes them and lists the versions that
// it needs.
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { hubFolder } from './testing/model-files.ts'
import { logitsOf, withBuilt } from './testing/node-engine.ts'
import type { StoredTensor } from './testing/writers/safetensors-writer.ts'
import { type Row, tensorsOf } from './transformers/weights.ts'

interface Case {
  readonly name: string
  /** config.json as transformers writes it. */
  readonly config: { readonly vocab_size: number }
  readonly tensors: readonly Row[]
  /** The context length with which the model is loaded. Scaling for long contexts depends on it. */
  readonly context?: number
  /** By position: base64 of f32, little endian. */
  readonly logits: Readonly<Record<string, string>>
}

const POSITIONS = 40
/** The largest difference among the compared logits, relative to the largest of them. */
const BOUND = 1e-5

const folder = new URL('./transformers/golden/', import.meta.url)
const FAMILIES = readdirSync(folder).map((file) => {
  const { cases }: { cases: readonly Case[] } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
  return { family: file.replace('.json', ''), cases }
})

function filesOf({ config, tensors }: Case): File[] {
  const stored: Record<string, StoredTensor> = {}
  for (const { name, shape, values } of tensorsOf(tensors)) {
    stored[name] = { dtype: 'F32', shape, data: new Uint8Array(values.buffer) }
  }
  return hubFolder(config, stored)
}

test('there are at least 211 cases, of 83 configurations', () => {
  expect(FAMILIES).toHaveLength(83)
  expect(FAMILIES.flatMap(({ cases }) => cases).length).toBeGreaterThanOrEqual(211)
})

const POOLS = [
  { threads: 1, pool: 'single' },
  { threads: 2, pool: 'shards' },
] as const
const RUNS = FAMILIES.flatMap((family) => POOLS.map((pool) => ({ ...family, pool })))

describe.each(RUNS)('$family, $pool.pool', ({ cases, pool }) => {
  test.each(cases)('$name', async (one) => {
    const tokens = Array.from(
      { length: POSITIONS },
      (_, i) => (37 * i + ((i * i) % 11) + 1) % one.config.vocab_size,
    )
    const options = {
      contextLength: one.context ?? 64,
      weights: 'f32',
      kvCache: { k: 'f32', v: 'f32' },
    } as const
    const files = filesOf(one)
    const rows = await withBuilt(files, { ...options, ...pool }, (built) => logitsOf(built, tokens))
    let largest = 0
    let difference = 0
    for (const [position, text] of Object.entries(one.logits)) {
      const right = new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer)
      const row = rows[Number(position)]!
      expect(row).toHaveLength(right.length)
      for (const [id, logit] of right.entries()) {
        largest = Math.max(largest, Math.abs(logit))
        difference = Math.max(difference, Math.abs(row[id]! - logit))
      }
    }
    expect(difference / largest).toBeLessThan(BOUND)
  })
})
