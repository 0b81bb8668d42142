// The service of a fake engine: answers a worker's calls with given replies, without a model.
import { HalfbyteError } from '../../../core/base/errors.ts'
import { checkedOptions } from '../../reply/reply-options.ts'
import type { EngineInfo, MemoryUse, ModelInfo } from '../../types/model.ts'
import type { ScoredToken } from '../../types/reply.ts'
import type { EngineService, GenerateRequest, Prompt, SavedSession, TextOrIds } from '../../wire/protocol.ts'
import { NO_REPLY, type Outlet, openOutlet } from '../../wire/reply-stream.ts'
import { type FakeReply, type FakeRequest, sendReply, wordsOf } from './fake-reply.ts'

/** Gets the reply to a request from the test. */
export type Answer = (request: FakeRequest) => FakeReply | Promise<FakeReply>

/** Length of the vectors from `embed`. */
const EMBEDDING = 32

const MEMORY: MemoryUse = { weightsBytes: 0, stateBytes: 0, keptBytes: 0, arenaBytes: 0, totalBytes: 0 }

export class FakeService implements EngineService {
  readonly #model: ModelInfo
  readonly #answer: Answer
  readonly #running = new Set<Outlet>()
  readonly #words: string[] = []
  readonly #ids = new Map<string, number>()
  readonly #stored = new Map<string, SavedSession>()

  constructor(model: ModelInfo, answer: Answer) {
    this.#model = model
    this.#answer = answer
  }

  async load(): Promise<EngineInfo> {
    return { model: this.#model, draft: undefined, threads: 1, pool: 'single', build: 'simd128', notes: [] }
  }

  async probe(): Promise<never> {
    throw new HalfbyteError(
      'unsupported',
      'a fake engine has no files to probe; replace Engine.probe as well',
    )
  }

  generate(request: GenerateRequest, port: MessagePort): void {
    const outlet = openOutlet(port)
    this.#running.add(outlet)
    this.#reply(request, outlet)
      .catch((error) => outlet.fail(error))
      .finally(() => this.#running.delete(outlet))
  }

  async #reply({ prompt, overflow, prefill, ...given }: GenerateRequest, outlet: Outlet): Promise<void> {
    const options = checkedOptions(given.options)
    const { contextLength } = this.#model
    const text = this.#textOf(prompt)
    const promptTokens = wordsOf(text).length
    if (promptTokens > contextLength && overflow !== 'shift') {
      throw new HalfbyteError(
        'context-overflow',
        `the prompt has ${promptTokens} tokens but the context has room for ${contextLength}; shorten it or give the fake ` +
          'engine a model with a longer contextLength',
        { tokens: promptTokens, contextLength },
      )
    }
    if (prefill !== undefined) {
      const usage = { ...NO_REPLY.usage, promptTokens, cachedTokens: promptTokens }
      outlet.end({ ...NO_REPLY, usage, finishReason: 'stop' }, Math.min(contextLength, promptTokens))
      return
    }
    const messages = prompt.type === 'messages' ? prompt.messages : []
    const { tools = [], prefix = '' } = prompt.type === 'messages' ? prompt : {}
    const request: FakeRequest = {
      messages,
      prompt: prompt.type === 'messages' ? (messages.at(-1)?.content ?? '') : text,
      tools,
      prefix,
      options,
      signal: outlet.signal,
    }
    const reply = await this.#answer(request)
    const counted = { promptTokens, idOf: (word: string) => this.#idOf(word) }
    const outcome = await sendReply(reply, request, outlet, counted)
    outlet.end(outcome, Math.min(contextLength, promptTokens + outcome.tokens.length))
  }

  countTokens(prompt: Parameters<EngineService['countTokens']>[0]): number {
    return wordsOf(this.#textOf(prompt)).length
  }

  tokenize(text: string): number[] {
    return wordsOf(text).map((word) => this.#idOf(word))
  }

  detokenize(ids: readonly number[]): string {
    return ids.map((id) => this.#wordOf(id)).join('')
  }

  async score(_prompt: string, continuations: readonly string[]) {
    return continuations.map((text) => {
      const tokens = wordsOf(text).length
      return { logProbability: -tokens, tokens, isGreedy: false }
    })
  }

  async scoreTokens(prompt: TextOrIds): Promise<readonly ScoredToken[]> {
    const ids = typeof prompt === 'string' ? this.tokenize(prompt) : prompt
    return ids.map((id, place) => {
      const text = this.#wordOf(id)
      const bytes = [...new TextEncoder().encode(text)]
      return { id, text, bytes, ...(place > 0 && { logprob: -1 }), top: [] }
    })
  }

  /** Texts that share words have similar vectors. */
  async embed(texts: readonly TextOrIds[]): Promise<Float32Array[]> {
    return texts.map((given) => {
      const text = typeof given === 'string' ? given : this.detokenize(given)
      const vector = new Float32Array(EMBEDDING)
      for (const word of wordsOf(text)) {
        const place = placeOf(word.trim().toLowerCase())
        vector[place] = (vector[place] ?? 0) + 1
      }
      const length = Math.hypot(...vector) || 1
      return vector.map((value) => value / length)
    })
  }

  memory(): MemoryUse {
    return MEMORY
  }

  async fork(): Promise<void> {}

  async save(_session: number, extra: SavedSession): Promise<Blob> {
    return new Blob([JSON.stringify(extra)])
  }

  async store(_session: number, name: string, extra: SavedSession) {
    this.#stored.set(name, extra)
    return { name, size: JSON.stringify(extra).length, saved: 0 }
  }

  async restore(_session: number, file: Blob | string): Promise<SavedSession> {
    const stored = typeof file === 'string' ? this.#stored.get(file) : await savedIn(file)
    if (stored !== undefined) return stored
    throw new HalfbyteError('unsupported', `no session is stored as ${String(file)} in this fake engine`)
  }

  async close(): Promise<void> {}

  async dispose(): Promise<void> {
    for (const outlet of this.#running) outlet.cancel()
  }

  #textOf(prompt: Prompt): string {
    if (prompt.type === 'text') return prompt.text
    if (prompt.type === 'ids') return this.detokenize(prompt.ids)
    return prompt.messages.map(({ content }) => content).join('\n')
  }

  #idOf(word: string): number {
    const known = this.#ids.get(word)
    if (known !== undefined) return known
    this.#ids.set(word, this.#words.length)
    return this.#words.push(word) - 1
  }

  #wordOf(id: number): string {
    const word = this.#words[id]
    if (word !== undefined) return word
    throw new HalfbyteError(
      'format',
      `${id} is not a token of this fake engine, which has seen ${this.#words.length}; ids come from its tokenize`,
      { id },
    )
  }
}

async function savedIn(file: Blob): Promise<SavedSession> {
  try {
    const saved = JSON.parse(await file.text())
    if (Array.isArray(saved.messages)) return saved
  } catch {
    // Told below.
  }
  throw new HalfbyteError(
    'format',
    'this session was not saved by a fake engine; save one with session.save()',
  )
}

function placeOf(word: string): number {
  let sum = 0
  for (const character of word) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003
  return sum % EMBEDDING
}
