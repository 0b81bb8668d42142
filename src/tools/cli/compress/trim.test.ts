// halfbyte trim. In: the real program on the embedded model and stories260K. Out: packs with the original's
// output, and the messages for mistakes.

import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { fixturePath } from '../../../../test/helpers/fixture.ts'
import { halfbyte, path, testFolder } from '../testing/program.ts'

testFolder()

const ROOT = join(import.meta.dirname, '../../../..')
const text = path('stories.txt')
const other = path('other.jsonl')
const PARTS = [
  'Once upon a time there was a little girl named Lily. She had a red ball and a small dog.\n',
  'One day the dog ran into the big garden, and Lily could not find him. "Where are you?" she said.\n',
  'Then she saw him under a tree. They were both very happy, and they played until the sun went down.\n',
]

/** Halfbyte Stories with unquantized weights. */
const FLOAT = join(ROOT, 'lab/train/models/halfbyte-stories')

const START = 'Once upon a time'
const GREEDY = ['--prompt', START, '--raw', '--temperature', '0', '--max-tokens', '24'] as const
const said = async (model: string) => (await halfbyte('generate', model, ...GREEDY)).out
let original: string

beforeAll(async () => {
  original = await said('embedded')
  await writeFile(text, [...PARTS, `${START}${original}\n`].join('').repeat(100))
  await writeFile(
    other,
    '{"messages": [{"role": "user", "content": "Quetzalcoatl?"}]}\n{"text": "Xylophone"}\n',
  )
})

describe('trim', () => {
  test('the predictions for a text of kept tokens and the generated text stay the same', async () => {
    const output = path('trimmed.hbm')
    const { code, out, err } = await halfbyte('trim', 'embedded', output, '--keep-text', text, '--json')
    expect([code, err]).toEqual([0, ''])
    const { bytes, tokens, table, texts, quality } = JSON.parse(out)
    expect(bytes).toBe((await readFile(output)).length)
    expect(tokens.after).toBe(tokens.fixed + tokens.counted + tokens.merged)
    expect(tokens.after).toBeLessThan(tokens.before / 4)
    expect(table.after / table.before).toBeCloseTo(tokens.after / tokens.before, 2)
    expect(texts.samePieces).toBeGreaterThan(10)
    // The remaining tokens share the removed tokens' probability.
    expect(quality.kl.value).toBeLessThan(1e-5)
    expect(quality.change.value).toBeLessThan(0)
    expect(quality.tokensAfter).toBe(quality.tokens)
    expect(await said(output)).toBe(original)
    expect(original).toMatch(/Lily/)
  }, 120_000)

  test('fewer tokens and coarser codes lose more, and the report shows it; all texts are counted', async () => {
    const output = path('small.hbm')
    const flags = ['--keep-text', text, '--keep-text', other, '--keep', '40', '--table', 'w4'] as const
    const { code, out } = await halfbyte('trim', 'embedded', output, ...flags)
    expect(code).toBe(0)
    expect(out).toMatch(
      /^\d+ of 6144 tokens: \d+ bytes, special .*, 40 more of the text, \d+ to merge them from$/m,
    )
    expect(out).toMatch(
      /^on \d+ held-out tokens: perplexity .*\(\+[\d.]+ %, .*divergence [\d.]*[1-9]\d* nats/m,
    )
    expect((await halfbyte('inspect', output)).out).toMatch(/^embed\.weight .*Q4_0 -> w4_g32/m)
    const again = await halfbyte('trim', 'embedded', output, ...flags)
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining('--force to replace it') })
    const all = ['--keep-text', text, '--keep-text', other, '--force', '--json', '--held-out', '0'] as const
    const both = JSON.parse((await halfbyte('trim', 'embedded', output, ...all)).out)
    const one = JSON.parse(
      (await halfbyte('trim', 'embedded', output, ...all.slice(0, 2), ...all.slice(4))).out,
    )
    expect(both.tokens.counted).toBeGreaterThan(one.tokens.counted)
    expect(both).not.toHaveProperty('quality')
  }, 120_000)

  test('a 4-bit table solved on the text keeps more of the predictions than a rounded one', async () => {
    const [solved, whole, rounded] = ['solved.hbm', 'whole.hbm', 'rounded.hbm'].map(path) as [
      string,
      string,
      string,
    ]
    const own = ['--keep-text', text, '--held-out', '8', '--json'] as const
    const trim = async (...args: string[]) => JSON.parse((await halfbyte('trim', ...args)).out)
    const { quality, tokens } = await trim(FLOAT, solved, ...own, '--table', 'w4')
    await trim(FLOAT, whole, ...own)
    // Without a text, there is nothing to calibrate on.
    const again = await trim(whole, rounded, '--languages', 'en', '--table', 'w4', '--json')
    expect(again.tokens.after).toBe(tokens.after)
    const lossOf = async (pack: string) => {
      const { out } = await halfbyte('perplexity', pack, text, '--context', '64', '--chunks', '8')
      return Number(/perplexity ([\d.]+)/.exec(out)?.[1])
    }
    const [by, float, near] = [await lossOf(solved), await lossOf(whole), await lossOf(rounded)]
    expect(near).toBeGreaterThan(float)
    expect(Math.abs(by - float)).toBeLessThan(0.6 * Math.abs(near - float))
    expect(quality.kl.value).toBeGreaterThan(0)
  }, 240_000)

  test('languages alone keep the tokens of their scripts, and with a text they drop its tokens of other scripts', async () => {
    const trim = async (...flags: string[]) => {
      const { out, err } = await halfbyte(
        'trim',
        'embedded',
        path('script.hbm'),
        '--force',
        '--json',
        ...flags,
      )
      expect(err).toBe('')
      return JSON.parse(out)
    }
    const latin = await trim('--languages', 'en')
    const greek = await trim('--languages', 'el')
    expect([latin.scripts, greek.scripts]).toEqual([['Latn'], ['Grek']])
    // Its vocabulary is English, so the kept tokens have no letters, and bytes spell any text.
    expect(latin.tokens.after).toBeGreaterThan(greek.tokens.after * 5)
    expect(greek.texts.unchanged).toBe(latin.texts.unchanged)
    expect(latin).not.toHaveProperty('quality')
    const flags = ['--keep-text', text, '--held-out', '0', '--languages', 'el'] as const
    const { tokens } = await trim(...flags)
    expect(tokens.foreign).toBeGreaterThan(20)
  }, 120_000)

  test.each([
    [[], 1, /no option says which tokens to keep; give --keep-text FILE/],
    [['--keep-text', path('none.txt')], 1, /none\.txt cannot be read: .*check the path/],
  ])('%j exits with %i and a line that gives the reason', async (flags, code, message) => {
    const ended = await halfbyte('trim', 'embedded', path('wrong.hbm'), ...flags)
    expect(ended).toMatchObject({ code, err: expect.stringMatching(message) })
    expect(existsSync(path('wrong.hbm'))).toBe(false)
  })
})

test('a trained model keeps its predictions with the tokens of a text', async () => {
  const flags = ['--keep-text', text, '--held-out', '1', '--json'] as const
  const model = fixturePath('stories260k/stories260K-f32.gguf')
  const { code, out } = await halfbyte('trim', model, path('real.hbm'), ...flags, '--force')
  expect(code).toBe(0)
  const { tokens, quality } = JSON.parse(out)
  expect(tokens.after).toBeLessThan(512)
  expect(quality.kl.value).toBeLessThan(1e-5)
  expect(quality.change.value).toBeLessThanOrEqual(0)
}, 180_000)
