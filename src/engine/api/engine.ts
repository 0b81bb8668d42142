// The engine: a loaded model in a worker of this page, with sessions and completions.

import { checkKeys, plainOf, readFrom, signalOf } from '../../core/base/check-options.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { type Build, chooseBuild, detectFeatures, mayCompile, NO_WASM } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { EmbedOptions } from '../score/embed.ts'
import type { Score } from '../score/score.ts'
import type { EngineInfo, MemoryUse, ModelInfo, ProbeReport } from '../types/model.ts'
import { EngineClient } from '../wire/client.ts'
import { type Connection, NO_WORKERS, startEngineWorker } from '../wire/connection.ts'
import type { Prompt } from '../wire/protocol.ts'
import { prepareEngineWorker } from '../wire/script.ts'
import { asyncDispose } from './generation.ts'
import { deadlyBytes, noted } from './interrupted.ts'
import { decodeRequest, plainMessages, startReply } from './request/decode-options.ts'
import { checkedLoad } from './request/load-options.ts'
import { loadRequest, prepareRequest, workerAddress } from './request/load-request.ts'
import { createSession, restoreSession } from './session.ts'
import type {
  AbortOptions,
  GenerateOptions,
  Generation,
  LoadOptions,
  ModelSource,
  PrepareOptions,
  ProbeOptions,
  SaidMessage,
  ScoredToken,
  ScoreTokensOptions,
  Session,
  SessionOptions,
  Support,
} from './types.ts'

/** A loaded model in its own worker. Engines share nothing. */
export class Engine implements AsyncDisposable {
  readonly model: ModelInfo
  /** The draft model; undefined if none was loaded. */
  readonly draft: ModelInfo | undefined
  /** Number of threads that compute. */
  readonly threads: number
  /**
   * `shared`: threads that share one memory; `shards`: workers that each have a part of the model; `single`:
   * one thread.
   */
  readonly pool: PoolKind
  /** How the engine differs from the request and why, e.g. fewer threads or a shorter context. */
  readonly notes: readonly EngineNote[]
  /** The sentences of `notes` as one text, in English; undefined if there are none. */
  readonly note: string | undefined
  /** Kernels in use. `relaxed` needs relaxed SIMD; `simd128` runs in every browser with SIMD. */
  readonly build: Build
  // A function, because pages keep engines in proxies (Vue's `ref`, MobX): private members cannot be read
  // through a proxy, and objects read through one become proxies too.
  private readonly client: () => EngineClient

  private constructor(client: EngineClient, info: EngineInfo) {
    this.client = () => client
    this.model = info.model
    this.draft = info.draft
    this.threads = info.threads
    this.pool = info.pool
    this.notes = info.notes
    this.note = info.notes.length > 0 ? info.notes.map(({ text }) => text).join('; ') : undefined
    this.build = info.build
  }

  /** What this page can run. Loads nothing. */
  static async support(): Promise<Support> {
    const features = detectFeatures(globalThis)
    const reason = !features.simd
      ? 'WebAssembly SIMD is not available here; use a browser from 2023 or later'
      : globalThis.Worker === undefined
        ? NO_WORKERS
        : (await mayCompile())
          ? undefined
          : NO_WASM
    return {
      supported: reason === undefined,
      reason,
      build: features.simd ? chooseBuild(features) : undefined,
      sharedMemory: features.sharedMemory,
      cores: globalThis.navigator?.hardwareConcurrency ?? 1,
    }
  }

  /**
   * Starts the engine's worker, which fetches and compiles its WebAssembly. The next `load` or `probe` with
   * the same `assets` uses it and so starts sooner. Call it as soon as the page knows that it will load a
   * model. The worker waits until then; a second call does nothing. If this fails, the load tries again and
   * reports the reason. Throws `unsupported` for a wrong option.
   */
  static prepare(options: PrepareOptions = {}): void {
    const { script, assets } = prepareRequest(options)
    prepareEngineWorker(script, assets)
  }

  /**
   * Starts a worker and loads a model in it.
   *
   * ```ts
   * const engine = await Engine.load('/models/tiny.gguf', { contextLength: 2048 })
   * ```
   *
   * Rejects with a HalfbyteError (`worker`, `network`,
   * `storage-full`, `format`, `architecture`, `integrity`, `out-of-memory`, `unsupported` or `internal`) or
   * with the signal's reason. The worker has then ended, and load may be called again.
   */
  static async load(source: ModelSource, options: LoadOptions = {}): Promise<Engine> {
    const checked = checkedLoad(options, 'onProgress')
    checked.signal?.throwIfAborted()
    return noted(source, checked, ({ onNeed }) =>
      Engine.open(startEngineWorker(workerAddress(checked)), source, checked, onNeed),
    )
  }

  /**
   * Checks whether a model would fit here before its weights are downloaded. It reads headers only (by range
   * requests if the server supports them), allocates and frees memory, and runs kernels for a fifth of a
   * second. By default it assumes less memory than a killed load needed (`interruptedLoads`). Rejects like
   * `load`.
   */
  static async probe(source: ModelSource, options: ProbeOptions = {}): Promise<ProbeReport> {
    const checked = checkedLoad(options, 'limitBytes')
    checked.signal?.throwIfAborted()
    const { limitBytes = await deadlyBytes() } = checked
    return Engine.ask(startEngineWorker(workerAddress(checked)), source, { ...checked, limitBytes })
  }

  /** Like `probe`, through a service that runs elsewhere. @internal */
  static async ask(
    connection: Connection,
    source: ModelSource,
    options: ProbeOptions = {},
  ): Promise<ProbeReport> {
    const client = new EngineClient(connection)
    try {
      const { limitBytes, ...checked } = checkedLoad(options, 'limitBytes')
      const request = { ...loadRequest(source, checked), limitBytes }
      return await client.callAbortable(checked.signal, (service, port) => service.probe(request, port))
    } finally {
      client.close()
    }
  }

  /**
   * Like `load`, through a service that runs elsewhere: in this thread, for the command line and tests.
   * @internal
   */
  static async open(
    connection: Connection,
    source: ModelSource,
    options: LoadOptions = {},
    onNeed?: (neededBytes: number) => void,
  ): Promise<Engine> {
    const client = new EngineClient(connection)
    try {
      const checked = checkedLoad(options, 'onProgress')
      return new Engine(client, await client.load(loadRequest(source, checked), { ...checked, onNeed }))
    } catch (error) {
      client.close()
      throw error
    }
  }

  /** Starts a conversation. Uses no memory until the first message is sent. */
  createSession(options: SessionOptions = {}): Session {
    return readFrom('the options', () => {
      checkKeys('the options', options, ['system', 'messages', 'overflow', 'keep', 'templateArguments'])
      return createSession(this.client(), options)
    })
  }

  /**
   * Continues a saved session with its messages and its state. `saved` is the file from `save`, or the name
   * given to `store`. Rejects with `format` if the file is not a saved session, `unsupported` if it belongs
   * to another model or the name is not stored, `integrity` if its bytes are damaged, `context-overflow`,
   * `out-of-memory`, or the signal's reason. After an error the engine keeps nothing of the session.
   */
  restoreSession(file: Blob | string, options?: AbortOptions): Promise<Session> {
    return restoreSession(this.client(), file, options)
  }

  /**
   * Continues plain text, or token ids unchanged, without the model's chat template. Keeps no state
   * afterwards. Rejects with `unsupported` for ids outside the vocabulary.
   */
  complete(prompt: string | readonly number[], options?: GenerateOptions): Generation {
    return startReply(options, async ({ tools, templateArguments, decode }, sink, isWanted) => {
      if (templateArguments !== undefined) {
        const sentence =
          'templateArguments only work with a chat template, not with plain text; send a message in a session'
        throw new HalfbyteError('unsupported', sentence, { name: 'templateArguments' })
      }
      if (tools !== undefined) {
        throw new HalfbyteError('unsupported', 'plain text cannot have tools; send a message in a session')
      }
      const client = this.client()
      const request = await client.call(() => decodeRequest(decode, isWanted))
      if (request === undefined || !isWanted()) return undefined
      return client.generate({ prompt: plainPrompt(prompt), ...request }, sink)
    })
  }

  /**
   * Number of tokens of plain text, or of a conversation in the model's template, including the tokens that
   * open the reply.
   */
  async countTokens(input: string | readonly SaidMessage[]): Promise<number> {
    const prompt: Prompt =
      typeof input === 'string'
        ? { type: 'text', text: input }
        : { type: 'messages', messages: plainMessages('messages', input) }
    return this.client().call((service) => service.countTokens(prompt))
  }

  /**
   * Token ids of plain text, as read by `complete`: with a beginning-of-sequence token if the model uses one;
   * special tokens are recognised.
   */
  async tokenize(text: string): Promise<number[]> {
    const plain = plainOf('the text', text)
    return [...(await this.client().call((service) => service.tokenize(plain)))]
  }

  /**
   * Text of token ids. Bytes that do not form a character become U+FFFD. Rejects with `format` for an id
   * outside the vocabulary.
   */
  async detokenize(ids: readonly number[]): Promise<string> {
    const plain = plainOf('ids', ids)
    return this.client().call((service) => service.detokenize(plain))
  }

  /**
   * Scores how likely the model finds each continuation after `prompt`, in the given order. Nothing is
   * sampled. A continuation is appended to the prompt unchanged, so include the space before a word.
   *
   * ```ts
   * const [yes, no] = await engine.score('Is the sky blue? Answer:', [' yes', ' no'])
   * const isYes = yes.logProbability > no.logProbability
   * ```
   *
   * Rejects with `unsupported` for an empty prompt, `context-overflow`, or the signal's reason.
   */
  async score(prompt: string, continuations: readonly string[], options?: AbortOptions): Promise<Score[]> {
    const plain = plainOf('the texts', [prompt, continuations] as const)
    const ask = this.client().callAbortable(signalOf(options), (service, port) =>
      service.score(...plain, port),
    )
    return [...(await ask)]
  }

  /**
   * The log-probability of each token of a text given those before it, and the `top` most likely tokens at
   * each position. Nothing is sampled. The text is read as `complete` reads it: with a beginning-of-sequence
   * token if the model uses one; ids are used unchanged.
   *
   * ```ts
   * const tokens = await engine.scoreTokens('The sky is blue.', { top: 3 })
   * const surprising = tokens.filter(({ logprob = 0 }) => logprob < -5)
   * ```
   *
   * Rejects with `unsupported` for a text without tokens or ids outside the vocabulary, `context-overflow`,
   * or the signal's reason.
   */
  async scoreTokens(
    prompt: string | readonly number[],
    options?: ScoreTokensOptions & AbortOptions,
  ): Promise<ScoredToken[]> {
    const signal = signalOf(options)
    const plain = plainOf('the prompt', prompt)
    const top = plainOf(
      'top',
      readFrom('the options', () => options?.top ?? 0),
    )
    const ask = this.client().callAbortable(signal, (service, port) => service.scoreTokens(plain, top, port))
    return [...(await ask)]
  }

  /**
   * One vector per text, computed from the hidden states after the last norm. Its length is the model's
   * hidden size. A text may be given as token ids, which are used unchanged.
   *
   * ```ts
   * const [one, other] = await engine.embed(['a cat', 'a dog'])
   * const cosine = one.reduce((sum, value, index) => sum + value * other[index], 0)
   * ```
   *
   * Rejects with `unsupported` for a text without tokens or ids outside the vocabulary, `context-overflow`,
   * or the signal's reason.
   */
  async embed(
    texts: readonly (string | readonly number[])[],
    options?: EmbedOptions & AbortOptions,
  ): Promise<Float32Array[]> {
    const signal = signalOf(options)
    const plain = plainOf('texts', texts)
    const { pooling, normalize } = readFrom('the options', () => ({ ...options }))
    const ask = this.client().callAbortable(signal, (service, port) =>
      service.embed(plain, { pooling, normalize }, port),
    )
    return [...(await ask)]
  }

  /** Bytes of linear memory by purpose. */
  memory(): Promise<MemoryUse> {
    return this.client().call((service) => service.memory())
  }

  /** Ends the worker. Pending and later calls reject with `disposed`. */
  dispose(): Promise<void> {
    return this.client().dispose()
  }

  [asyncDispose](): Promise<void> {
    return this.dispose()
  }
}

/** The ids of a list or a typed array; anything else counts as text, which the worker checks. */
function plainPrompt(prompt: string | readonly number[]): Prompt {
  const isText = !(Array.isArray(prompt) || ArrayBuffer.isView(prompt))
  return isText
    ? { type: 'text', text: prompt as string }
    : { type: 'ids', ids: plainOf('the prompt', prompt as readonly number[]) }
}
