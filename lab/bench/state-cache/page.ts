// The reload bench's page: measures the time to the first token of a session's next turn, restored from
// storage and kept in memory.

import { Engine, type LoadOptions, storedSessions } from '../../../src/index.ts'
import { Random } from '../../../test/helpers/random.ts'

export interface Reload {
  /** Tokens of the conversation, and the size of its stored file. */
  readonly context: number
  readonly fileBytes: number
  /** Number of tokens that each of the two turns processed. */
  readonly fresh: number
  /** Time from the restoring call to the session, and to the first token of its next turn. */
  readonly restoreMs: number
  readonly restoredMs: number
  /** Time from `send` to the first token of the same turn without restoring. */
  readonly keptMs: number
}

declare global {
  interface Window {
    storeSession(modelUrl: string, options: LoadOptions, tokens: number): Promise<void>
    measureReload(modelUrl: string, options: LoadOptions, fresh: number): Promise<Reload>
  }
}

const NAME = 'bench'
const PLAIN = { temperature: 0, speculation: 'off' } as const
const KEPT_TURNS = 5

let random = new Random(1)
let texts = 0
const letter = (at: number) => String.fromCharCode(98 + (at % 24))
/** Letters that are one token each in the benches' vocabulary. No text begins like one of the previous 23. */
const words = (length: number): string => {
  const text = Array.from({ length: length - 1 }, () => letter(random.below(24)))
  return [letter(texts++), ...text].join('')
}

window.storeSession = async (modelUrl, options, tokens) => {
  await using engine = await Engine.load(modelUrl, options)
  const session = engine.createSession()
  await session.send(words(tokens - 40), { ...PLAIN, choices: [words(20)] }).result
  await session.store(NAME)
}

window.measureReload = async (modelUrl, options, fresh) => {
  random = new Random(performance.timeOrigin)
  await using engine = await Engine.load(modelUrl, options)
  const first = { ...PLAIN, maxTokens: 1 } as const
  await engine.createSession().send(words(fresh), first).result
  const start = performance.now()
  const session = await engine.restoreSession(NAME)
  const restoreMs = performance.now() - start
  const past = [...session.messages]
  const context = session.contextUsed
  const { usage } = await session.send(words(fresh), first).result
  const restoredMs = performance.now() - start
  const read = usage.promptTokens - usage.cachedTokens
  const kept: number[] = []
  // A kept session has already processed the end of the reply and the line break after it, so its message
  // gets that many more letters: both turns then process the same number of tokens.
  let letters = fresh
  for (let turn = 0; turn <= KEPT_TURNS; turn++) {
    session.setMessages(past)
    const at = performance.now()
    const { promptTokens, cachedTokens } = (await session.send(words(letters), first).result).usage
    const again = promptTokens - cachedTokens
    if (turn === 0) letters += read - again
    else if (again === read) kept.push(performance.now() - at)
    else throw new Error(`the restored turn processed ${read} tokens, a later one ${again}`)
  }
  const keptMs = kept.sort((a, b) => a - b)[KEPT_TURNS >> 1] ?? Number.NaN
  const [stored] = await storedSessions()
  return { context, fileBytes: stored?.size ?? 0, fresh: read, restoreMs, restoredMs, keptMs }
}
