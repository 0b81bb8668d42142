// Saved sessions on the real engine. In: the small Llama and a random one. Out: whether every build writes
// and reads the same files, and rejects all others.
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { isHalfbyteError } from '../../../src/core/base/errors.ts'
import { checksum } from '../../../src/core/base/sha256.ts'
import type { KvFormat } from '../../../src/core/graph/ir.ts'
import type { Engine } from '../../../src/engine/api/engine.ts'
import type { Session } from '../../../src/index.ts'
import { BUILDS } from '../testing/builds.ts'
import {
  EMBEDDED_OPTIONS,
  EMBEDDED_TURNS,
  GOLDEN_CASES,
  type GoldenCase,
  goldenFile,
  repliesOf,
  TINY_PATH,
} from '../testing/golden.ts'
import { openEngine, repositoryFile } from '../testing/node-engine.ts'

const [F32] = GOLDEN_CASES as [GoldenCase]
const TRAILER_BYTES = 64 + 4 + 8
const PREFACE_BYTES = 16

interface Index {
  length: number
  blockBytes: number[]
  from: number[]
  sums: string[]
  extra: { keep?: unknown; dropped: unknown; extra: Record<string, unknown> }
}

/** The small Llama's first turn, saved. */
async function saveFirstTurn(engine: Engine): Promise<Uint8Array<ArrayBuffer>> {
  await using session = engine.createSession()
  expect(await session.send(EMBEDDED_TURNS[0], EMBEDDED_OPTIONS).text()).toBe(repliesOf('tiny')[0])
  return (await session.save()).bytes()
}

const indexStart = (bytes: Uint8Array): number =>
  bytes.length - TRAILER_BYTES - new DataView(bytes.buffer).getUint32(bytes.length - 12, true)

const indexOf = (bytes: Uint8Array): Index =>
  JSON.parse(new TextDecoder().decode(bytes.subarray(indexStart(bytes), bytes.length - TRAILER_BYTES)))

/** The offset of each part of the file. */
function boundaries(bytes: Uint8Array): number[] {
  const { length, blockBytes, from } = indexOf(bytes)
  const found = [0, 8, 12, PREFACE_BYTES]
  for (const [group, size] of blockBytes.entries()) {
    const blocks = Math.ceil(length / 64) - Math.floor((from[group] ?? 0) / 64)
    for (let block = 0; block < blocks; block++) found.push(found.at(-1)! + size)
  }
  expect(found.at(-1)).toBe(indexStart(bytes))
  return [...found, bytes.length - TRAILER_BYTES, bytes.length - 12, bytes.length - 8]
}

/** The file with a changed index and a valid hash. */
function withIndex(bytes: Uint8Array, change: (index: Index) => unknown): Blob {
  const json = new TextEncoder().encode(JSON.stringify(change(indexOf(bytes))))
  const trailer = new Uint8Array(TRAILER_BYTES)
  trailer.set(new TextEncoder().encode(createHash('sha256').update(json).digest('hex')))
  new DataView(trailer.buffer).setUint32(64, json.length, true)
  trailer.set(new TextEncoder().encode('HBSTATE1'), 68)
  return new Blob([bytes.slice(0, indexStart(bytes)), json, trailer])
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    return isHalfbyteError(error) ? error.code : String(error)
  }
}

describe('the small Llama', () => {
  const files = [repositoryFile(TINY_PATH)]
  let saved: Uint8Array<ArrayBuffer>
  beforeAll(async () => {
    await using engine = await openEngine(files, BUILDS[0])
    saved = await saveFirstTurn(engine)
  })

  test.each(BUILDS)(
    'saves the same bytes with $build on $threads threads, and continues from another build’s',
    async (how) => {
      await using engine = await openEngine(files, how)
      expect(Buffer.compare(await saveFirstTurn(engine), saved)).toBe(0)
      await using session = await engine.restoreSession(new Blob([saved]))
      const { text, usage } = await session.send(EMBEDDED_TURNS[1], EMBEDDED_OPTIONS).result
      expect(text).toBe(repliesOf('tiny')[1])
      expect(usage.cachedTokens).toBe(indexOf(saved).length)
      expect(session.messages).toHaveLength(4)
    },
  )

  test('rejects a file that is cut off anywhere or has one wrong byte, and frees everything', async () => {
    await using engine = await openEngine(files)
    const restored = (bytes: Uint8Array<ArrayBuffer>) => codeOf(engine.restoreSession(new Blob([bytes])))
    const { stateBytes } = await engine.memory()
    for (const at of boundaries(saved)) {
      for (const end of [at - 1, at, at + 1]) {
        if (end >= 0)
          expect(await restored(saved.slice(0, end)), `cut at ${end}`).toMatch(/^(integrity|format)$/)
        if (end < 0) continue
        const wrong = saved.slice()
        wrong[end]! ^= 0x10
        expect(await restored(wrong), `byte ${end}`).toMatch(/^(integrity|format)$/)
      }
    }
    expect((await engine.memory()).stateBytes).toBe(stateBytes)
    expect(await restored(saved)).toBe('none')
  })

  test('rejects a file with a forged index', async () => {
    await using engine = await openEngine(files)
    const { stateBytes } = await engine.memory()
    const extra = (change: object) => (index: Index) => ({
      ...index,
      extra: { ...index.extra, extra: { ...index.extra.extra, ...change } },
    })
    const changes: ((index: Index) => unknown)[] = [
      () => null,
      () => [],
      (index) => ({ ...index, sums: undefined }),
      (index) => ({ ...index, length: -1 }),
      (index) => ({ ...index, tokens: [] }),
      (index) => ({ ...index, extra: null }),
      (index) => ({ ...index, extra: { ...index.extra, keep: 1e9 } }),
      (index) => ({ ...index, extra: { ...index.extra, dropped: 'all' } }),
      extra({ messages: undefined }),
      extra({ messages: [{ role: 'nobody', content: '' }] }),
      extra({ overflow: 'ignore' }),
      extra({ transcript: { text: 'a', ids: [1], cuts: [{ chars: 2, tokens: 1 }] } }),
      extra({ transcript: { text: 'a', ids: [-1], cuts: [] } }),
    ]
    for (const change of changes) {
      expect(await codeOf(engine.restoreSession(withIndex(saved, change))), String(change)).toBe('format')
    }
    const fewer = withIndex(saved, (index) => ({ ...index, sums: index.sums.slice(1) }))
    expect(await codeOf(engine.restoreSession(fewer))).toBe('integrity')
    const endless = withIndex(saved, (index) => ({ ...index, length: 1e15, tokens: Array(99).fill(1) }))
    expect(await codeOf(engine.restoreSession(endless))).toBe('format')
    expect((await engine.memory()).stateBytes).toBe(stateBytes)
    expect(await codeOf(engine.restoreSession(withIndex(saved, (index) => index)))).toBe('none')
  })

  test('rejects state from another model or format, and state that does not fit', async () => {
    const of = async (...how: Parameters<typeof openEngine>) => {
      await using engine = await openEngine(...how)
      return await codeOf(engine.restoreSession(new Blob([saved])))
    }
    expect(await of([await goldenFile(F32)])).toBe('unsupported')
    expect(await of(files, { weights: 'f32' })).toBe('unsupported')
    expect(await of(files, { kvCache: { v: 'fp8' } })).toBe('unsupported')
    expect(await of(files, { contextLength: 16 })).toBe('context-overflow')
  })
})

test('forged state with valid hashes stays in its own session', async () => {
  const files = [await goldenFile(F32)]
  const greedy = { temperature: 0, maxTokens: 12, speculation: 'off' } as const
  const question = 'the river goes to the sea '.repeat(12)
  const next = 'and then'
  const ask = async (session: Session) => {
    const first = await session.send(question, greedy).result
    return [first.text, await session.send(next, greedy).text()]
  }
  await using clean = await openEngine(files)
  await using original = clean.createSession()
  const replies = await ask(original)
  const bytes = await (await original.save()).bytes()
  const { blockBytes, sums } = indexOf(bytes)
  const end = indexStart(bytes)
  expect(end).toBe(PREFACE_BYTES + blockBytes[0]! * sums.length)
  for (let at = PREFACE_BYTES; at < end; at += 4) new DataView(bytes.buffer).setFloat32(at, at % 7, true)
  const forged = withIndex(bytes, (index) => ({
    ...index,
    sums: sums.map((_, part) => {
      const start = PREFACE_BYTES + part * blockBytes[0]!
      return checksum(bytes.subarray(start, start + blockBytes[0]!))
    }),
  }))

  await using engine = await openEngine(files)
  const session = await engine.restoreSession(forged)
  const twin = await session.fork()
  expect(await session.send('go on', greedy).text()).not.toBe(await original.send('go on', greedy).text())
  await using beside = engine.createSession()
  expect(await ask(beside)).toEqual(replies)
  await twin.send('go on', greedy).result
  await session.edit(0, 'the hill', greedy).result
  for (const each of [twin, session]) await each[Symbol.asyncDispose]()
  await using afterwards = engine.createSession()
  expect(await ask(afterwards)).toEqual(replies)
})

const FORMATS: readonly KvFormat[] = (['f32', 'int8'] as const).flatMap((k) =>
  (['f32', 'int8', 'fp8'] as const).map((v) => ({ k, v })),
)

test.each(FORMATS)(
  'a session with keys in $k and values in $v continues bit for bit, even after a shift',
  async (kvCache) => {
    const files = [await goldenFile(F32)]
    const greedy = { temperature: 0, maxTokens: 40, logprobs: 2, speculation: 'off' } as const
    await using first = await openEngine(files, { kvCache, contextLength: 160, build: 'relaxed' })
    await using second = await openEngine(files, {
      kvCache,
      contextLength: 160,
      build: 'simd128',
      threads: 2,
    })
    const session = first.createSession({ overflow: 'shift', keep: 5 })
    const ask = ['the river goes to the sea', 'and then', 'why', 'tell me more of it', 'so']
    let dropped = 0
    for (const question of ask) {
      await session.send(question, greedy).result
      await using restored = await second.restoreSession(await session.save())
      await using copy = await session.fork()
      const left = await copy.send('go on', greedy).result
      const right = await restored.send('go on', greedy).result
      expect(right.logprobs).toEqual(left.logprobs)
      // If all messages are dropped, the first engine may still have the beginning of an earlier "go on".
      const { cachedTokens, ...usage } = right.usage
      expect(left.usage).toEqual({ ...usage, cachedTokens: expect.any(Number) })
      expect(cachedTokens).toBeGreaterThan(0)
      expect(left.usage.cachedTokens).toBeGreaterThanOrEqual(cachedTokens)
      dropped = right.usage.droppedTokens
    }
    expect(dropped).toBeGreaterThan(0)
  },
)
