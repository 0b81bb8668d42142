// Conformance of Mamba. In: a random model with llama.cpp's logits. Out: ours, from GGUF and safetensors, for
// any cut of the prompt.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { largestDifference, logitsOf, withBuilt } from '../testing/node-engine.ts'

const FOLDER = join(import.meta.dirname, '../../../../shared/fixtures/mamba-random')
const isHere = existsSync(FOLDER)
const file = (name: string) => new File([readFileSync(join(FOLDER, name))], name)
const gguf = () => [file('mamba-random-f32.gguf')]

function golden(): { tokens: number[]; rows: Float32Array[] } {
  const { tokens, n_vocab: width } = JSON.parse(readFileSync(join(FOLDER, 'logits-f32.json'), 'utf8'))
  const bytes = readFileSync(join(FOLDER, 'logits-f32.f32bin'))
  const all = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  const rows = tokens.map((_: number, row: number) => all.subarray(row * width, (row + 1) * width))
  return { tokens, rows }
}

describe.skipIf(!isHere)('the random model of the fixtures', () => {
  test.each(['relaxed', 'simd128'] as const)(
    'GGUF in f32, %s: llama.cpp to 1e-3 at all 93 positions',
    async (build) => {
      const { tokens, rows } = golden()
      const ours = await withBuilt(gguf(), { build }, (built) => logitsOf(built, tokens))
      expect(ours.length).toBe(93)
      const difference = largestDifference(ours, rows)
      expect(difference).toBeLessThan(1e-3)
    },
  )
})
