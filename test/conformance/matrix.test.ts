// A small part of the matrix. In: every family. Out: whether every pool, build, format and KV format gives
// one thread's logits, within the bound. `npm run conformance:all` compares the full matrix.
import { describe, expect, test } from 'vitest'
import { Comparison, FORMAT_BOUND, nameOf, someCells } from './testing/families/matrix.ts'
import { MATRIX_FAMILIES } from './testing/families/matrix-families.ts'

/** The random Phi-3's context is longer than the short context of its LongRoPE. */
const LONG = /^texts of up to \d+ tokens get the positional encoding of longer ones; [^;]*$/

/** Families that cannot be sharded, with the reason in the error message. */
const UNCUT: Readonly<Record<string, RegExp>> = {
  gemma2: /rescale reads/,
  gemma3n: /matchRms reads/,
  gemma4: /rmsnorm reads/,
  granite: /rescale reads/,
  olmo2: /normalises heads of several/,
  olmoe: /normalises heads of several/,
  gpt2: /adds a bias to a sum/,
  gpt_neox: /adds a bias to a sum/,
  cohere: /rescale reads/,
  cohere2: /rescale reads/,
  starcoder2: /adds a bias to a sum/,
  phi2: /adds a bias to a sum/,
  jais2: /adds a bias to a sum/,
  qwen3moe: /route reads/,
  qwen2moe: /route reads/,
  granitemoe: /route reads/,
  lfm2moe: /route reads/,
  ernie4_5_moe: /route reads/,
  dots1: /route reads/,
  deepseek2: /rmsnorm reads/,
  minicpm3: /rmsnorm reads/,
  gpt_oss: /adds a bias to a sum/,
  bloom: /adds a bias to a sum/,
  qwen3next: /route reads/,
}

const TOO_SMALL = /in units of \d+ cannot be split across \d workers/
/** Models that are too small for some shard counts, or whose graph depends on the file's format. */
const PARTLY_UNCUT: Readonly<Record<string, RegExp>> = {
  falcon: TOO_SMALL,
  falcon_h1: new RegExp(`rescale reads|${TOO_SMALL.source}`),
  nemotron_h: TOO_SMALL,
  qwen3_5: new RegExp(`has heads that share keys in alternating order|${TOO_SMALL.source}`),
}

describe.each(MATRIX_FAMILIES.map((family, turn) => ({ ...family, turn })))('$name', (family) => {
  const comparison = new Comparison(family)

  test.each(someCells(family, family.turn).map((cell) => ({ cell, name: nameOf(cell) })))(
    'has the logits of one thread: $name',
    async ({ cell }) => {
      const { difference, bound, note, threads } = await comparison.of(cell)
      expect(difference).toBeLessThanOrEqual(bound)
      if (cell.pool === 'shards' && PARTLY_UNCUT[family.name]?.test(note ?? '') === true) {
        expect(threads).toBeLessThan(cell.threads)
        return
      }
      const uncut = cell.pool === 'shards' ? UNCUT[family.name] : undefined
      expect(note ?? '').toMatch(uncut ?? (family.name === 'phi3' ? LONG : /^$/))
      expect(threads).toBe(uncut === undefined ? cell.threads : 1)
    },
  )

  test('has the same logits in every format', async () => {
    expect(await comparison.ofFormats('auto')).toBeLessThan(FORMAT_BOUND)
  })
})
