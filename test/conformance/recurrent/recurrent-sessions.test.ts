// Sessions on recurrent state. In: random models of each kind of state. Out: whether state is kept, can be
// truncated anywhere, and is never computed twice.
import { describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import type { Message } from '../../../src/engine/types/conversation.ts'
import { BUILDS } from '../testing/builds.ts'
import { familyCases } from '../testing/families/family-cases.ts'
import { drawFamily, familyGguf } from '../testing/families/family-files.ts'
import { newFile } from '../testing/model-files.ts'
import { logitsOf, openEngine, withBuilt } from '../testing/node-engine.ts'
import { type RecurrentFamily, randomRecurrent, recurrentGguf } from '../testing/random-recurrent.ts'

const RANDOM: readonly RecurrentFamily[] = ['mamba', 'mamba2', 'granitehybrid']
/** Models with the gated delta rule, and with both kinds of state in each layer. */
const CASES = ['qwen3_5', 'falcon_h1'] as const
const FAMILIES = [...RANDOM, ...CASES]
const TOKENS = Array.from({ length: 150 }, (_, index) => (index * 53 + ((index * index) % 17)) % 250)
const SIZES = { hidden: 64, heads: 4, kvHeads: 2, headDim: 16, wide: 96, context: 1024 }
const GREEDY = { temperature: 0, maxTokens: 12 } as const
const QUESTION = 'tell me where the river goes when the rain falls on the hills'

async function fileOf(family: (typeof FAMILIES)[number]): Promise<File> {
  const random = RANDOM.find((each) => each === family)
  if (random !== undefined) return recurrentGguf(randomRecurrent(random, 11))
  const one = familyCases(SIZES).find((each) => each.family === family)!
  return newFile(`${family}.gguf`, await familyGguf(one, drawFamily(one, 11)))
}

/** The bytes of the state after all of TOKENS, processed in pieces. */
async function stateOf(built: BuiltModel, pieces: readonly number[]): Promise<Buffer> {
  const sequence = built.newSequence()
  let end = 0
  for (const rows of pieces) {
    end += rows
    sequence.setTokens(TOKENS.slice(0, end))
    expect(sequence.cached).toBe(end - rows)
    await built.scheduler.forward({ sequence, onLogits: () => {} })
  }
  const chunks: Uint8Array[] = []
  for await (const chunk of sequence.save('same', undefined)) chunks.push(chunk)
  sequence.release()
  return Buffer.concat(chunks)
}

describe.each(FAMILIES)('%s', (family) => {
  test('one step, chunks and single rows give the same state, in every build and with two threads', async () => {
    const file = await fileOf(family)
    const pieces = [[150], [1, 64, 5, 80], Array<number>(150).fill(1)]
    const states: Buffer[] = []
    for (const each of BUILDS) {
      await withBuilt([file], each, async (built) => {
        for (const piece of pieces) states.push(await stateOf(built, piece))
      })
    }
    expect(states.length).toBeGreaterThan(pieces.length)
    for (const state of states) expect(state.equals(states[0]!)).toBe(true)
  })

  const withEngine = async (use: (engine: Engine) => Promise<void>) => {
    const engine = await openEngine([await fileOf(family)])
    try {
      await use(engine)
    } finally {
      await engine.dispose()
    }
  }

  test('a second turn processes only the new tokens and gives the reply of a fresh session', () =>
    withEngine(async (engine) => {
      const session = engine.createSession()
      const first = await session.send(QUESTION, GREEDY).result
      // A fork shares the slab until it writes to it, and continues from the same position.
      const copy = await session.fork()
      const second = await session.send('and then', GREEDY).result
      expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens - 1)
      const forked = await copy.send('and then', GREEDY).result
      // The checkpoint at the end of the other session's message may be even later.
      expect(forked.usage.cachedTokens).toBeGreaterThanOrEqual(second.usage.cachedTokens)
      expect(forked.tokens).toEqual(second.tokens)
    }))

  test('closed sessions use no state, and remaining state is reported as cached', () =>
    withEngine(async (engine) => {
      const session = engine.createSession()
      await session.send(QUESTION, GREEDY).result
      const fork = await session.fork()
      await fork.send('and then', GREEDY).result
      const { stateBytes } = await engine.memory()
      expect(stateBytes).toBeGreaterThan(0)
      await session.dispose()
      await fork.dispose()
      const ended = await engine.memory()
      expect(ended.stateBytes).toBe(0)
      expect(ended.keptBytes).toBeGreaterThan(0)
    }))

  test('a saved session continues without processing its prompt again', () =>
    withEngine(async (engine) => {
      const session = engine.createSession()
      await session.send(QUESTION, GREEDY).result
      const saved = await session.save()
      const right = await session.send('and then', GREEDY).result
      const restored = await engine.restoreSession(saved)
      const resumed = await restored.send('and then', GREEDY).result
      expect(resumed.tokens).toEqual(right.tokens)
      expect(resumed.usage.cachedTokens).toBeGreaterThanOrEqual(right.usage.cachedTokens)
    }))

  test('a conversation processed in one step has checkpoints at the ends of its messages', () =>
    withEngine(async (engine) => {
      const messages: Message[] = [
        { role: 'user', content: QUESTION },
        { role: 'assistant', content: 'because the hills are steep' },
      ]
      const session = engine.createSession({ messages })
      await session.send('and then', GREEDY).result
      const edited = await session.edit(2, 'but why', GREEDY).result
      // The count includes the tokens that open a reply.
      const read = await engine.countTokens(messages)
      expect(edited.usage.cachedTokens).toBeGreaterThan(read / 2)
      expect(edited.usage.cachedTokens).toBeLessThanOrEqual(read)
      const fresh = engine.createSession({ messages })
      expect((await fresh.send('but why', GREEDY).result).tokens).toEqual(edited.tokens)
    }))

  test('an edited message continues from the checkpoint before it', () =>
    withEngine(async (engine) => {
      const session = engine.createSession()
      const first = await session.send(QUESTION, GREEDY).result
      await session.send('and then', GREEDY).result
      const edited = await session.edit(2, 'but why', GREEDY).result
      expect(edited.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens - 1)
      const fresh = engine.createSession()
      await fresh.send(QUESTION, GREEDY).result
      expect((await fresh.send('but why', GREEDY).result).tokens).toEqual(edited.tokens)
    }))
})

test('the memory of a session does not grow with its length', async () => {
  await withBuilt([await fileOf('mamba')], { contextLength: 20_000 }, async (built) => {
    const sequence = built.newSequence()
    const after = async (length: number) => {
      sequence.setTokens(Array.from({ length }, (_, index) => TOKENS[index % 150]!))
      await built.scheduler.forward({ sequence, onLogits: () => {} })
      expect(sequence.cached).toBe(length)
      return built.memory()
    }
    const short = await after(1)
    expect(short.stateBytes).toBeGreaterThan(0)
    expect(await after(10_000)).toEqual(short)
  })
})

test('threads and other sequences do not change a row’s bits', async () => {
  const file = await fileOf('mamba2')
  const alone = await withBuilt([file], {}, (built) => logitsOf(built, TOKENS))
  const beside = await withBuilt([file], { threads: 2 }, async (built) => {
    const other = logitsOf(built, TOKENS.toReversed())
    const own = await logitsOf(built, TOKENS)
    await other
    return own
  })
  expect(beside).toEqual(alone)
})
