// Sessions on the real engine. In: a random model whose greedy text never ends. Out: whether state is kept,
// reused and freed, with the same text as without kept state.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { GenerationResult } from '../../../src/engine/api/types.ts'
import type { BuiltModel } from '../../../src/engine/load/build-model.ts'
import type { Message } from '../../../src/engine/types/conversation.ts'
import {
  GOLDEN_CASES,
  GOLDEN_OPTIONS,
  GOLDEN_PROMPT,
  type GoldenCase,
  goldenFile,
  goldenReply,
} from '../testing/golden.ts'
import { logitsOf, openEngine, withBuilt } from '../testing/node-engine.ts'

const [F32, W4] = ['f32', 'w4'].map((name) => GOLDEN_CASES.find((one) => one.name === name)) as [
  GoldenCase,
  GoldenCase,
]
const GREEDY = { temperature: 0, maxTokens: 24 } as const
const QUESTION = 'tell me where the river goes when the rain falls on the hills'

let engine: Engine
beforeAll(async () => {
  engine = await openEngine([await goldenFile(F32)])
})
afterAll(() => engine.dispose())

const user = (content: string): Message => ({ role: 'user', content })
const assistant = (content: string): Message => ({ role: 'assistant', content })

/** The model's reply after these turns, computed with a full forward pass for every token. */
async function withoutState(
  turns: readonly { readonly prompt: readonly Message[]; readonly reply?: GenerationResult }[],
  tokens: number,
): Promise<readonly number[]> {
  return withBuilt([await goldenFile(F32)], {}, async (built) => {
    const ids = idsOf(built, turns)
    const said: number[] = []
    while (said.length < tokens) {
      const row = (await logitsOf(built, [...ids, ...said])).at(-1) as Float32Array
      said.push(row.indexOf(Math.max(...row)))
    }
    return said
  })
}

/** A conversation's ids if every reply keeps its generated ids. */
function idsOf(built: BuiltModel, turns: Parameters<typeof withoutState>[0]): number[] {
  const ids: number[] = []
  let known = ''
  for (const { prompt, reply } of turns) {
    const text = built.renderPrompt(prompt)
    expect(text.startsWith(known)).toBe(true)
    ids.push(...built.text.encode(text.slice(known.length), known === ''), ...(reply?.tokens ?? []))
    known = text + (reply?.text ?? '')
  }
  return ids
}

describe('a conversation', () => {
  test('processes only the new tokens of each turn, and replies as it would without kept state', async () => {
    const session = engine.createSession()
    const first = await session.send(QUESTION, GREEDY).result
    expect(first).toMatchObject({ finishReason: 'length', usage: { cachedTokens: 0, completionTokens: 24 } })
    const used = session.contextUsed
    const second = await session.send('and then', GREEDY).result
    // Everything but the last token, which was generated but never processed.
    expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens - 1)
    expect(second.usage.promptTokens).toBeGreaterThan(used)
    const turns = [
      { prompt: [user(QUESTION)], reply: first },
      { prompt: [user(QUESTION), assistant(first.text), user('and then')] },
    ]
    expect(second.tokens).toEqual(await withoutState(turns, 24))
    expect(session.messages).toEqual([
      user(QUESTION),
      assistant(first.text),
      user('and then'),
      assistant(second.text),
    ])
    await session.dispose()
  })

  test('keeps the ids of a reply even if its text encodes to other ids', async () => {
    const session = engine.createSession()
    const first = await session.send(QUESTION, { temperature: 1, seed: 35, maxTokens: 24 }).result
    const encoded = await withBuilt([await goldenFile(F32)], {}, async (built) =>
      built.text.encode(first.text, false),
    )
    expect(encoded).not.toEqual(first.tokens)
    const second = await session.send('and then', GREEDY).result
    expect(second.usage.cachedTokens).toBe(first.usage.promptTokens + first.usage.completionTokens - 1)
    const turns = [
      { prompt: [user(QUESTION)], reply: first },
      { prompt: [user(QUESTION), assistant(first.text), user('and then')] },
    ]
    expect(second.tokens).toEqual(await withoutState(turns, 24))
    await session.dispose()
  })

  test('keeps the beginning that an edited message shares with the earlier one', async () => {
    const session = engine.createSession()
    const first = await session.send(QUESTION, GREEDY).result
    await session.send('and then', GREEDY).result
    const edited = await session.edit(2, 'but why', GREEDY).result
    expect(edited.usage.cachedTokens).toBeGreaterThanOrEqual(
      first.usage.promptTokens + first.usage.completionTokens - 1,
    )
    expect(edited.usage.cachedTokens).toBeLessThan(edited.usage.promptTokens)
    const turns = [
      { prompt: [user(QUESTION)], reply: first },
      { prompt: [user(QUESTION), assistant(first.text), user('but why')] },
    ]
    expect(edited.tokens).toEqual(await withoutState(turns, 24))
    await session.dispose()
  })

  test('regenerates the same greedy reply and processes only one token', async () => {
    const session = engine.createSession()
    const first = await session.send(QUESTION, GREEDY).result
    const again = await session.regenerate(GREEDY).result
    expect(again.tokens).toEqual(first.tokens)
    expect(again.usage.cachedTokens).toBe(first.usage.promptTokens - 1)
    await session.dispose()
  })

  test('forks into two independent sessions', async () => {
    const session = engine.createSession()
    const first = await session.send(QUESTION, GREEDY).result
    const copy = await session.fork()
    const [left, right] = await Promise.all([
      session.send('and then', GREEDY).result,
      copy.send('but why', GREEDY).result,
    ])
    const followedBy = (text: string) => [
      { prompt: [user(QUESTION)], reply: first },
      { prompt: [user(QUESTION), assistant(first.text), user(text)] },
    ]
    expect(left.tokens).toEqual(await withoutState(followedBy('and then'), 24))
    expect(right.tokens).toEqual(await withoutState(followedBy('but why'), 24))
    await Promise.all([session.dispose(), copy.dispose()])
  })

  test('frees its state when it is disposed', async () => {
    const before = (await engine.memory()).stateBytes
    const session = engine.createSession()
    await session.send(QUESTION, GREEDY).result
    expect((await engine.memory()).stateBytes).toBeGreaterThan(before)
    await session.dispose()
    expect((await engine.memory()).stateBytes).toBe(before)
  })

  test('stops at the end of its context, and rejects the next turn with both numbers', async () => {
    await using small = await openEngine([await goldenFile(F32)], { contextLength: 100 })
    const session = small.createSession()
    const first = await session.send(QUESTION, { temperature: 0 }).result
    expect(first.finishReason).toBe('length')
    expect(first.usage.promptTokens + first.usage.completionTokens).toBe(100)
    await expect(session.send('and then', GREEDY).result).rejects.toMatchObject({
      code: 'context-overflow',
      detail: { contextLength: 100 },
    })
    expect(session.messages).toHaveLength(2)
    expect((await session.edit(0, 'why', GREEDY).result).tokens).toEqual(
      await withoutState([{ prompt: [user('why')] }], 24),
    )
  })
})

describe('a reply', () => {
  const golden = goldenReply(F32).text

  test('ends before a stop text that spans several tokens, and streams none of it', async () => {
    const stop = 'r worlbw'
    expect(golden).toContain(stop)
    const generation = engine.complete(GOLDEN_PROMPT, { ...GOLDEN_OPTIONS, stop: ['never', stop] })
    let streamed = ''
    for await (const { text } of generation) streamed += text
    const result = await generation.result
    expect(result).toMatchObject({ finishReason: 'stop', text: golden.slice(0, golden.indexOf(stop)) })
    expect(streamed).toBe(result.text)
  })

  test('that ends with the beginning of a stop text loses nothing', async () => {
    const stop = `${golden.slice(-5)}q`
    const { text } = await engine.complete(GOLDEN_PROMPT, { ...GOLDEN_OPTIONS, stop: [stop] }).result
    expect(text).toBe(golden)
  })

  test('streams the text of its result', async () => {
    const generation = engine.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS)
    const chunks = []
    for await (const chunk of generation) chunks.push(chunk)
    expect(chunks.map(({ text }) => text).join('')).toBe(golden)
    expect(chunks.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(48)
    expect((await generation.result).timings.decodeTokensPerSecond).toBeGreaterThan(0)
  })

  test('that is aborted half-way rejects with the reason, and its session continues from before the message', async () => {
    const session = engine.createSession()
    const controller = new AbortController()
    const reason = new Error('enough')
    const running = session.send(QUESTION, { ...GREEDY, maxTokens: 400, signal: controller.signal })
    const read = async () => {
      for await (const _ of running) controller.abort(reason)
    }
    await expect(read()).rejects.toBe(reason)
    await expect(running.result).rejects.toBe(reason)
    expect(session.messages).toEqual([])
    const next = await session.send(QUESTION, GREEDY).result
    expect(next.tokens).toEqual(await withoutState([{ prompt: [user(QUESTION)] }], 24))
    await session.dispose()
  })

  test('that is cancelled half-way keeps its text, and the next turn continues from it', async () => {
    const session = engine.createSession()
    const running = session.send(QUESTION, { ...GREEDY, maxTokens: 400 })
    let chunks = 0
    for await (const _ of running) if (++chunks === 10) running.cancel('enough')
    const first = await running.result
    expect(first).toMatchObject({ finishReason: 'cancelled', reason: 'enough' })
    expect(first.tokens.length).toBeGreaterThanOrEqual(10)
    expect(first.tokens.length).toBeLessThan(400)
    const second = await session.send('and then', GREEDY).result
    expect(second.usage.cachedTokens).toBeGreaterThanOrEqual(first.usage.promptTokens + 9)
    const turns = [
      { prompt: [user(QUESTION)], reply: first },
      { prompt: [user(QUESTION), assistant(first.text), user('and then')] },
    ]
    expect(second.tokens).toEqual(await withoutState(turns, 24))
    await session.dispose()
  })

  test('is the same for the same seed and differs for another seed', async () => {
    const draw = (seed?: number) =>
      engine.complete(GOLDEN_PROMPT, { temperature: 1, maxTokens: 24, ...(seed !== undefined && { seed }) })
        .result
    const one = await draw(7)
    const same = await draw(7)
    const other = await draw(8)
    expect(same.tokens).toEqual(one.tokens)
    expect(other.tokens).not.toEqual(one.tokens)
    expect(one.seed).toBe(7)
    const unseeded = await draw()
    expect((await draw(unseeded.seed)).tokens).toEqual(unseeded.tokens)
  })
})

describe('side by side', () => {
  test.each([1, 2])('memory growth on %d threads leaves every session intact', async (threads) => {
    await using crowded = await openEngine([await goldenFile(F32)], { threads })
    const before = (await crowded.memory()).totalBytes
    const sessions = Array.from({ length: 48 }, () => crowded.createSession())
    const prompt = (index: number) => `${'abcdefghijklmnopqrstuvwxyz '[index % 27]} ${QUESTION} `.repeat(7)
    const first: GenerationResult[] = []
    for (const [index, session] of sessions.entries()) {
      first.push(await session.send(prompt(index), { ...GREEDY, maxTokens: 2 }).result)
    }
    expect((await crowded.memory()).totalBytes).toBeGreaterThan(before)
    // The session with the oldest state, after memory has grown.
    const second = (await sessions[0]!.send('so', { ...GREEDY, maxTokens: 4 }).result).tokens
    const turns = [
      { prompt: [user(prompt(0))], reply: first[0]! },
      { prompt: [user(prompt(0)), assistant(first[0]!.text), user('so')] },
    ]
    expect(second).toEqual(await withoutState(turns, 4))
    expect(first[27]!.tokens).toEqual(first[0]!.tokens)
  })

  test('sessions of one engine share its steps but not their texts', async () => {
    const prompts = ['a', 'the sea', QUESTION, `${QUESTION} `.repeat(4), 'why']
    const alone: (readonly number[])[] = []
    for (const prompt of prompts) alone.push((await engine.complete(prompt, GREEDY).result).tokens)
    const together = await Promise.all(prompts.map((prompt) => engine.complete(prompt, GREEDY).result))
    expect(together.map(({ tokens }) => tokens)).toEqual(alone)
  })

  test('two engines in one process are independent', async () => {
    await using first = await openEngine([await goldenFile(F32)], { threads: 2 })
    await using second = await openEngine([await goldenFile(W4)], { threads: 2, weights: 'w4' })
    const texts = await Promise.all(
      [first, second, first, second].map((each) => each.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).text()),
    )
    const f32 = goldenReply(F32).text
    const w4 = goldenReply(W4).text
    expect(texts).toEqual([f32, w4, f32, w4])
    await first.dispose()
    expect(await second.complete(GOLDEN_PROMPT, GOLDEN_OPTIONS).text()).toBe(w4)
  })
})
