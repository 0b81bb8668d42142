import { describe, expect, test } from 'vitest'
import { fixtureFile, fixtureFloats, fixtureText } from '../../helpers/fixture.ts'
import { largestDifference, logitsOf, withBuilt } from '../testing/node-engine.ts'

const gguf = () => [fixtureFile('mamba-random/mamba-random-f32.gguf')]

function golden(): { tokens: number[]; rows: Float32Array[] } {
  const { tokens, n_vocab: width } = JSON.parse(fixtureText('mamba-random/logits-f32.json'))
  const all = fixtureFloats('mamba-random/logits-f32.f32bin')
  const rows = tokens.map((_: number, row: number) => all.subarray(row * width, (row + 1) * width))
  return { tokens, rows }
}

describe('the random model of the fixtures', () => {
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
