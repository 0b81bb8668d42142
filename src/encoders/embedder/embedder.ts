// The embedder: a sentence encoder in a worker of this page, which turns texts into vectors.

import type { Remote } from 'comlink'
import { checkKeys, plainOf, readFrom, signalOf } from '../../core/base/check-options.ts'
import type { EngineNote } from '../../core/base/engine-notes.ts'
import { checkOption, choice, FUNCTION, whole } from '../../core/base/options/option-kinds.ts'
import { follow } from '../../core/base/time/abort.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import { asyncDispose } from '../../engine/api/generation.ts'
import { checkedLoad } from '../../engine/api/request/load-options.ts'
import { loadRequest, workerAddress } from '../../engine/api/request/load-request.ts'
import type { AbortOptions, LoadOptions, MemoryUse, ModelSource } from '../../engine/api/types.ts'
import { EngineClient } from '../../engine/wire/client.ts'
import type { Connection } from '../../engine/wire/connection.ts'
import { startEmbedderWorker } from '../../engine/wire/embedder-script.ts'
import type {
  EmbedderInfo,
  EmbedderService,
  EmbedReport,
  EmbedResult,
  EncoderInfo,
  EncoderRequest,
} from '../service/embed-protocol.ts'

import { POOLINGS, type Pooling } from '../service/embed-settings.ts'

export type { EmbedResult, EncoderInfo } from '../service/embed-protocol.ts'
export type { Pooling } from '../service/embed-settings.ts'
export { type FoundVector, VectorIndex } from './vector-index.ts'

/**
 * Options of `Embedder.load`; every key is optional and has the same meaning as for `Engine.load`.
 * `assets.worker` is the script of the embedder's own worker. An unknown key rejects the load with
 * `unsupported`.
 */
export interface EmbedderOptions
  extends Pick<
    LoadOptions,
    | 'signal'
    | 'onProgress'
    | 'threads'
    | 'pool'
    | 'weights'
    | 'cache'
    | 'store'
    | 'dtype'
    | 'build'
    | 'assets'
    | 'hub'
  > {
  /**
   * Maximum number of tokens of a text. Default: the number in the model's files, which is also the upper
   * limit; 2048 for Qwen3, Gemma and ONNX graphs, because larger steps would take hundreds of megabytes.
   */
  readonly maxTokens?: number | undefined
  /**
   * How the hidden states of a text become one vector. Repositories made for transformers.js often leave it
   * to the application. Default: as the model's files say; `mean` if they do not.
   */
  readonly pooling?: Pooling | undefined
}

interface Progress {
  /**
   * Called after each step with the number of finished texts. If it throws, the call rejects with that error.
   */
  readonly onProgress?: ((event: { readonly done: number; readonly total: number }) => void) | undefined
}

/** Options of `Embedder.embed`; every key is optional. */
export interface EmbedTextsOptions extends AbortOptions, Progress {
  /**
   * The kind of the texts: some models use different prompts for questions and passages. Default: the
   * model's own default, usually no prompt.
   */
  readonly kind?: 'query' | 'document' | undefined
  /** A prefix for each text, instead of the model's prompt. */
  readonly prompt?: string | undefined
  /**
   * Number of leading values to keep of each vector, which is then rescaled to length 1. Only models trained
   * for this (Matryoshka) stay accurate. Default: the whole vector.
   */
  readonly dimensions?: number | undefined
  /**
   * Scales each vector to length 1, so that a dot product is the cosine. Default: as stated in the model's
   * files.
   */
  readonly normalize?: boolean | undefined
}

/** Options of `Embedder.rerank`; every key is optional. */
export interface RerankOptions extends AbortOptions, Progress {
  /** Number of best results to return. Default: one per document. */
  readonly topN?: number | undefined
}

/** The result of `Embedder.rerank`. */
export interface RerankResult {
  /**
   * Best first. `index`: the document's index in the call. `score`: higher is better; its range depends on
   * the model, often 0 to 1.
   */
  readonly results: readonly { readonly index: number; readonly score: number }[]
  /**
   * Number of tokens read of each document together with the query, in the order of the documents.
   */
  readonly tokens: readonly number[]
  /** Indices of the documents that, together with the query, were too long and were truncated. */
  readonly truncated: readonly number[]
}

const LOAD_KEYS = [
  ...[
    'signal',
    'onProgress',
    'threads',
    'pool',
    'weights',
    'cache',
    'store',
    'dtype',
    'build',
    'assets',
    'hub',
  ],
  ...['maxTokens', 'pooling'],
]
const RERANK_KEYS = ['signal', 'topN', 'onProgress']
const EMBED_KEYS = ['signal', 'kind', 'prompt', 'dimensions', 'normalize', 'onProgress']

/** A loaded sentence encoder in its own worker. */
export class Embedder implements AsyncDisposable {
  /** The loaded encoder. */
  readonly model: EncoderInfo
  /** Number of threads that compute. */
  readonly threads: number
  /** As for an engine: `shared`, `shards` or `single`. */
  readonly pool: PoolKind
  /** How the embedder differs from the request, and why. */
  readonly notes: readonly EngineNote[]
  /** Kernels in use. */
  readonly build: Build
  // A function, because pages keep objects in proxies, through which a private name cannot be read.
  private readonly client: () => EngineClient

  private constructor(client: EngineClient, { model, threads, pool, notes, build }: EmbedderInfo) {
    this.client = () => client
    this.model = model
    this.threads = threads
    this.pool = pool
    this.notes = notes
    this.build = build
  }

  /**
   * Starts a worker and loads an encoder in it: a folder that sentence-transformers wrote or that was made
   * for transformers.js, by an address that ends with a slash or as Files, or a GGUF file.
   *
   * ```ts
   * const embedder = await Embedder.load('/models/all-MiniLM-L6-v2/')
   * const { vectors } = await embedder.embed(['a cat', 'a dog'])
   * ```
   *
   * Rejects like `Engine.load`. The worker has then ended, and load may be called again.
   */
  static async load(source: ModelSource, options: EmbedderOptions = {}): Promise<Embedder> {
    const checked = checkedOptions(options)
    checked.signal?.throwIfAborted()
    return Embedder.open(startEmbedderWorker(workerAddress(checked)), source, options)
  }

  /** Like `load`, through a service that runs elsewhere. @internal */
  static async open(
    connection: Connection,
    source: ModelSource,
    options: EmbedderOptions = {},
  ): Promise<Embedder> {
    const client = new EngineClient(connection)
    try {
      const { pooling, ...checked } = checkedOptions(options)
      const request: EncoderRequest = { ...loadRequest(source, checked), pooling }
      // The service of an embedder answers with what it has loaded.
      const info: unknown = await client.load(request, checked)
      return new Embedder(client, info as EmbedderInfo)
    } catch (error) {
      client.close()
      throw error
    }
  }

  /**
   * One vector per text, in order, with the number of tokens that were read. Only the beginning of an
   * overlong text is read, and the result's `truncated` lists it. An empty text has a vector too.
   * A text may be given as token ids, which are used unchanged: without a prompt, and with [CLS] and the like
   * only if they are among them.
   *
   * Rejects with `unsupported` for a wrong option, `integrity` if a vector has NaN or infinite values,
   * `out-of-memory`, or the signal's reason.
   */
  async embed(
    texts: readonly (string | readonly number[])[],
    options: EmbedTextsOptions = {},
  ): Promise<EmbedResult> {
    const request = readFrom('the options', () => {
      checkKeys('the options', options, EMBED_KEYS)
      const { kind, prompt, dimensions, normalize } = options
      return { kind, prompt, dimensions, normalize }
    })
    const plain = plainOf('texts', texts)
    return this.told(options, plain.length, (service, port) =>
      service.embed({ ...request, texts: plain }, port),
    )
  }

  /**
   * Scores each document for the query with a reranker, best first. In an overlong pair, the end of the
   * longer text is cut off, and the result's `truncated` lists the document.
   *
   * ```ts
   * const { results } = await reranker.rerank('How tall are giraffes?', passages, { topN: 3 })
   * ```
   *
   * Rejects like `embed`, and with `unsupported` if the model is not a reranker.
   */
  async rerank(
    query: string,
    documents: readonly string[],
    options: RerankOptions = {},
  ): Promise<RerankResult> {
    const topN = readFrom('the options', () => {
      checkKeys('the options', options, RERANK_KEYS)
      return options.topN
    })
    checkOption('topN', topN, whole(1))
    const plain = plainOf('documents', documents)
    const { scores, tokens, truncated } = await this.told(options, plain.length, (service, port) =>
      service.rerank({ query, documents: plain }, port),
    )
    const results = scores.map((score, index) => ({ index, score }))
    results.sort((a, b) => b.score - a.score || a.index - b.index)
    return { results: results.slice(0, topN), tokens, truncated }
  }

  /**
   * Makes a call that reports progress and can be aborted.
   * @internal
   */
  private async told<T>(
    options: AbortOptions & Progress,
    total: number,
    ask: (service: Remote<EmbedderService>, port: MessagePort) => Promise<T>,
  ): Promise<T> {
    const signal = signalOf(options)
    const { onProgress } = readFrom('the options', () => ({ onProgress: options.onProgress }))
    checkOption('onProgress', onProgress, FUNCTION)
    signal?.throwIfAborted()
    const ended = new AbortController()
    const unfollow = follow(ended, signal)
    const listen = (port: MessagePort) => {
      port.onmessage = ({ data }: MessageEvent<EmbedReport>) => {
        try {
          if (!ended.signal.aborted) onProgress?.({ done: data.done, total })
        } catch (error) {
          ended.abort(error)
        }
      }
    }
    try {
      return await this.client().callAbortable(
        ended.signal,
        (service, port) => ask(embedderOf(service), port),
        listen,
      )
    } finally {
      unfollow()
    }
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

function checkedOptions(options: EmbedderOptions): LoadOptions & Pick<EncoderRequest, 'pooling'> {
  const { maxTokens, pooling, ...others } = readFrom('the options', () => {
    checkKeys('the options', options, LOAD_KEYS)
    return { ...options }
  })
  checkOption('pooling', pooling, choice(POOLINGS))
  return { ...checkedLoad({ ...others, contextLength: maxTokens }, 'onProgress'), pooling }
}

/** The service at the other end of an embedder's connection. */
const embedderOf = (service: unknown): Remote<EmbedderService> => service as Remote<EmbedderService>
