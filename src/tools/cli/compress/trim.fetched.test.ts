// halfbyte trim on a real model. In: SmolLM2 ("npm run setup -- smollm2"), a text. Out: whether a pack with
// only the text's tokens makes the same predictions.
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { requireModel } from '../../../../scripts/models/real-models.mjs'
import { halfbyte, path, testFolder } from '../testing/program.ts'

testFolder()

const MODEL = requireModel('smollm2')
const STORY =
  'Once upon a time there was a little girl named Lily. She had a red ball and a small dog.\n' +
  'One day the dog ran into the big garden, and Lily could not find him. "Where are you?" she said.\n'

test('SmolLM2, trimmed to the tokens of a text, keeps its predictions', async () => {
  const text = path('stories.txt')
  await writeFile(text, STORY.repeat(100))
  const flags = ['--keep-text', text, '--held-out', '1', '--json', '--force'] as const
  const { code, out } = await halfbyte('trim', MODEL, path('real.hbm'), ...flags)
  expect(code).toBe(0)
  const { tokens, quality } = JSON.parse(out)
  expect(tokens.after).toBeLessThan(1500)
  expect(quality.kl.value).toBeLessThan(1e-5)
  expect(quality.change.value).toBeLessThanOrEqual(0)
})
