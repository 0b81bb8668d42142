// A draft model in the engine. In: the small Llama and random ones. Out: the same replies, or a typed error.
import { expect, test } from 'vitest'
import {
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  goldenFile,
  goldenReply,
  TINY_PATH,
} from '../testing/golden.ts'
import { ggufFile } from '../testing/model-files.ts'
import { openEngine, repositoryFile } from '../testing/node-engine.ts'
import { randomLlama } from '../testing/random-llama.ts'

const [F32, W4] = ['f32', 'w4'].map((name) => GOLDEN_CASES.find((one) => one.name === name)!)

test.each([1, 2])(
  'every draft is accepted if the draft model is the model itself, on %d threads',
  async (threads) => {
    const file = () => repositoryFile(TINY_PATH)
    await using plain = await openEngine([file()], { threads })
    await using drafted = await openEngine([file()], { threads, draft: [file()] })
    expect(drafted.draft).toEqual(plain.model)
    expect(plain.draft).toBeUndefined()
    expect((await drafted.memory()).weightsBytes).toBe(2 * (await plain.memory()).weightsBytes)
    for (const options of [{ temperature: 0 }, { temperature: 1, seed: 3 }]) {
      const ask = (engine: typeof plain) =>
        engine.createSession().send('Tell me a story.', { ...options, maxTokens: 60 }).result
      const { tokens } = await ask(plain)
      const other = await ask(drafted)
      expect(other.tokens).toEqual(tokens)
    }
    // The draft model's state is freed with the rest.
    const session = drafted.createSession()
    await session.send('Hi', { maxTokens: 10, speculation: 'draft' }).result
    await session.send('Why?', { maxTokens: 10, cfgScale: 2 }).result
    await session.dispose()
  },
)

test('a different draft model changes no golden text', async () => {
  const draft = [await ggufFile(randomLlama({ seed: 5, speaks: true }), 'F32')]
  await using engine = await openEngine([await goldenFile(F32!)], { draft })
  const { text, tokens } = await engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).result
  expect({ text, tokens }).toEqual(goldenReply(F32!))
})

test('a draft model with another vocabulary is rejected', async () => {
  const load = openEngine([await goldenFile(W4!)], { draft: [repositoryFile(TINY_PATH)] })
  await expect(load).rejects.toMatchObject({ code: 'unsupported', message: /a different vocabulary/ })
})
