// The embedded Mamba. In: its pack, a conversation. Out: whether state is kept, truncated, saved and forked
// without processing a prompt again, and never grows.
import { describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/engine/api/engine.ts'
import { BUILDS } from '../testing/builds.ts'
import { EMBEDDED_OPTIONS, EMBEDDED_TURNS, repliesOf, TALKING_MODELS } from '../testing/golden.ts'
import { openEngine, repositoryFile, withBuilt } from '../testing/node-engine.ts'

const [, STORIES, MAMBA] = TALKING_MODELS
const REPLIES = repliesOf(MAMBA.name)
const [FIRST, SECOND] = EMBEDDED_TURNS
const pack = () => repositoryFile(MAMBA.path)

const withEngine = async (use: (engine: Engine) => Promise<void>, options = {}) => {
  await using engine = await openEngine([pack()], options)
  await use(engine)
}

test('is at most 5 MB, with about as many parameters as Halfbyte Stories', async () => {
  expect((await pack().bytes()).length).toBeLessThanOrEqual(5_000_000)
  await withEngine(async ({ model }) => {
    await using llama = await openEngine([repositoryFile(STORIES.path)])
    expect(model.parameters / llama.model.parameters).toBeGreaterThan(0.9)
    expect(model.parameters / llama.model.parameters).toBeLessThan(1.1)
  })
})

describe('a conversation', () => {
  test('a second turn and a fork process only the new tokens', () =>
    withEngine(async (engine) => {
      await using session = engine.createSession()
      const first = await session.send(FIRST, EMBEDDED_OPTIONS).result
      await using copy = await session.fork()
      for (const each of [session, copy]) {
        const { text, usage } = await each.send(SECOND, EMBEDDED_OPTIONS).result
        expect(text).toBe(REPLIES[1])
        expect(usage.cachedTokens).toBeGreaterThanOrEqual(
          first.usage.promptTokens + first.usage.completionTokens - 1,
        )
      }
    }))

  test('a reply that spells a special token is not processed again', () =>
    withEngine(async (engine) => {
      await using session = engine.createSession()
      const choices = ['A turn ends with <|end|> here.']
      const first = await session.send(FIRST, { ...EMBEDDED_OPTIONS, choices }).result
      expect(first.text).toBe(choices[0])
      const { usage } = await session.send(SECOND, EMBEDDED_OPTIONS).result
      const { promptTokens, completionTokens } = first.usage
      expect(usage.cachedTokens).toBeGreaterThanOrEqual(promptTokens + completionTokens - 1)
    }))

  test('an edited message continues from the message before it', () =>
    withEngine(async (engine) => {
      await using session = engine.createSession()
      const first = await session.send(FIRST, EMBEDDED_OPTIONS).result
      await session.send('Who are you?', EMBEDDED_OPTIONS).result
      const { text, usage } = await session.edit(2, SECOND, EMBEDDED_OPTIONS).result
      expect(text).toBe(REPLIES[1])
      expect(usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens - 1)
    }))

  test('a session saved by one build continues in another, and processes only the new tokens', () =>
    withEngine(async (engine) => {
      await using session = engine.createSession()
      const { usage: read } = await session.send(FIRST, EMBEDDED_OPTIONS).result
      const file = await session.save()
      for (const build of BUILDS) {
        await withEngine(async (other) => {
          await using restored = await other.restoreSession(file)
          const { text, usage } = await restored.send(SECOND, EMBEDDED_OPTIONS).result
          expect(text).toBe(REPLIES[1])
          expect(usage.cachedTokens).toBeGreaterThanOrEqual(read.promptTokens + read.completionTokens - 1)
        }, build)
      }
    }))
})

test('takes the same memory after one token and after 10 000', async () => {
  await withBuilt([pack()], { contextLength: 20_000 }, async (built) => {
    const sequence = built.newSequence()
    const after = async (length: number) => {
      sequence.setTokens(Array.from({ length }, (_, index) => (index * 29) % 2048))
      await built.scheduler.forward({ sequence, onLogits: () => {} })
      expect(sequence.cached).toBe(length)
      return built.memory()
    }
    const short = await after(1)
    expect(await after(10_000)).toEqual(short)
  })
})
