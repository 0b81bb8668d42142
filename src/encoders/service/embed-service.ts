// The service of an embedder: answers a page's calls for one encoder.

import { shown, wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import { checkValues, choice, TEXT } from '../../core/base/options/option-kinds.ts'
import { SerialQueue } from '../../core/base/time/serial-queue.ts'
import { isCount } from '../../core/base/values.ts'
import { encodePair, encodeWhole } from '../../core/text/tokenize/read/encoder-tokenizer.ts'
import type { MemoryUse } from '../../engine/api/types.ts'
import { checkedIds } from '../../engine/load/prompt-ids.ts'
import { abortable, checkText, loadReports, textsOf, textsOrIds } from '../../engine/serve.ts'
import type { EncoderLoader } from './build-encoder.ts'
import type {
  EmbedderInfo,
  EmbedderService,
  EmbedReport,
  EmbedRequest,
  EmbedResult,
  EncoderInfo,
  EncoderRequest,
  RerankRequest,
  RerankScores,
} from './embed-protocol.ts'
import type { EmbedSettings } from './embed-settings.ts'
import type { EncodedText } from './embed-texts.ts'
import type { LoadedEncoder } from './loaded-encoder.ts'

/** A service without a model; `loadModel` implements its `load`. */
export function createEmbedderService(loadModel: EncoderLoader): EmbedderService {
  return new Service(loadModel)
}

class Service implements EmbedderService {
  readonly #loadModel: EncoderLoader
  #model: LoadedEncoder | undefined
  /** Calls share one step, so they run one at a time. */
  readonly #queue = new SerialQueue()

  constructor(loadModel: EncoderLoader) {
    this.#loadModel = loadModel
  }

  async load(request: EncoderRequest, port: MessagePort): Promise<EmbedderInfo> {
    const reports = loadReports(port)
    this.#model = await abortable(port, (signal) => this.#loadModel(request, { signal, ...reports }))
    return this.#model.info
  }

  embed(request: EmbedRequest, port: MessagePort): Promise<EmbedResult> {
    return abortable(port, async (signal) => {
      const model = this.#loaded('embed')
      const { settings, info } = model
      const texts = textsOrIds('texts', request.texts)
      const dimensions = dimensionsOf(request.dimensions, info.model.dimensions)
      const prompt = promptOf(settings, request)
      const skipped = skippedRows(model, prompt)
      const encoded = texts.map((text) =>
        typeof text === 'string'
          ? { ...encodeWhole(model.tokenizer, prompt + text, info.model.maxTokens), skipped }
          : givenIds(model, text, request),
      )
      const run = {
        pooling: settings.pooling,
        normalize: request.normalize ?? settings.normalize,
        dimensions,
        signal,
        onDone: (done: number) => port.postMessage({ type: 'done', done } satisfies EmbedReport),
      }
      const all = encoded.map(({ ids, skipped }): EncodedText => ({ ids: nonEmpty(ids), skipped }))
      return {
        vectors: await this.#queue.run(() => model.embed(all, run)),
        tokens: encoded.map(({ ids }) => ids.length),
        truncated: encoded.flatMap(({ isTruncated }, index) => (isTruncated ? [index] : [])),
      }
    })
  }

  rerank(request: RerankRequest, port: MessagePort): Promise<RerankScores> {
    return abortable(port, async (signal) => {
      const { settings, tokenizer, info, score, embed } = this.#loaded('rerank')
      checkText('query', request.query)
      const first = tokenizer.encode(request.query)
      const form = tokenizer.pair ?? noPairs(info.model.id)
      const pairs = textsOf('documents', request.documents).map((document) =>
        encodePair(form, first, tokenizer.encode(document), info.model.maxTokens),
      )
      const all = pairs.map(({ words }): EncodedText => ({ ids: words, skipped: 0 }))
      const onDone = (done: number) => port.postMessage({ type: 'done', done } satisfies EmbedReport)
      const run = { pooling: settings.pooling, normalize: false, signal, onDone }
      const states = await this.#queue.run(() => embed(all, run))
      return {
        scores: states.map((state) => score!(state)),
        tokens: pairs.map(({ words }) => words.length),
        truncated: pairs.flatMap(({ isTruncated }, index) => (isTruncated ? [index] : [])),
      }
    })
  }

  memory(): MemoryUse {
    return this.#loaded().memory()
  }

  async dispose(): Promise<void> {
    const model = this.#model
    this.#model = undefined
    await this.#queue.settled()
    await model?.dispose()
  }

  /** Throws `unsupported` if the model does not do `task`. */
  #loaded(task?: EncoderInfo['task']): LoadedEncoder {
    if (this.#model === undefined) throw new HalfbyteError('disposed', 'this embedder has no model; load one')
    const { id, task: own } = this.#model.info.model
    if (task === undefined || task === own) return this.#model
    throw new HalfbyteError(
      'unsupported',
      own === 'rerank'
        ? `${id} is a reranker and cannot compute vectors; call rerank, or load a sentence encoder`
        : `${id} computes vectors and cannot score pairs; call embed, or load a reranker such as ms-marco-MiniLM`,
      { task: own },
    )
  }
}

function noPairs(model: string): never {
  throw new HalfbyteError(
    'unsupported',
    `the tokenizer of ${model} does not say how to join a query and a document; pass a tokenizer.json whose post-processor has a pair template`,
  )
}

function dimensionsOf(asked: unknown, most: number): number | undefined {
  if (asked === undefined || (isCount(asked) && asked >= 1 && asked <= most)) return asked
  throw wrongOption(
    'dimensions',
    asked,
    `a whole number from 1 to ${most}, the length of the model's vectors`,
  )
}

/** The options of texts, besides the length of their vectors. */
export const TEXT_OPTIONS = { kind: choice(['query', 'document']), prompt: TEXT }

/**
 * The prompt before each text. If the model's files have no prompt for a kind, texts of that kind have none.
 */
function promptOf({ prompts, defaultPrompt }: EmbedSettings, { kind, prompt }: EmbedRequest): string {
  checkValues(TEXT_OPTIONS, { kind, prompt })
  if (prompt !== undefined) return prompt
  if (kind === undefined) return defaultPrompt
  return (kind === 'query' ? prompts['query'] : (prompts['document'] ?? prompts['passage'])) ?? ''
}

/** Number of prompt rows, including the ids before each text, if the model does not pool them. */
function skippedRows({ settings, tokenizer }: LoadedEncoder, prompt: string): number {
  if (settings.poolsPrompt || prompt === '') return 0
  return tokenizer.prefix.length + tokenizer.encode(prompt).length
}

/** The caller's ids, with nothing added around them. */
function givenIds(
  { tokenizer, info }: LoadedEncoder,
  text: readonly number[],
  { kind, prompt = '' }: EmbedRequest,
): ReturnType<typeof encodeWhole> & { readonly skipped: number } {
  if (kind !== undefined || prompt !== '')
    throw new HalfbyteError(
      'unsupported',
      'token ids are used unchanged, so they cannot have a prompt; pass texts, or omit kind and prompt',
      { name: kind === undefined ? 'prompt' : 'kind' },
    )
  const ids = checkedIds('a text in texts', text, { logitRows: { vocab: tokenizer.vocabSize } })
  const { maxTokens } = info.model
  return { ids: ids.slice(0, maxTokens), isTruncated: ids.length > maxTokens, skipped: 0 }
}

function nonEmpty(ids: readonly number[]): readonly number[] {
  if (ids.length > 0) return ids
  throw new HalfbyteError(
    'unsupported',
    `the text ${shown('')} has no tokens in this model; pass at least one word`,
  )
}
