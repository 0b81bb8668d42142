// The provider for the AI SDK, based on an engine, an encoder and a reranker, or functions that load them.

import { readFrom, wrongOption } from '../core/base/check-options.ts'
import { HalfbyteError } from '../core/base/errors.ts'
import type { Embedder } from '../encoders/embedder/embedder.ts'
import type { Engine } from '../engine/api/engine.ts'
import type { GenerationResult } from '../engine/api/types.ts'
import { encoderModel, rerankingModel } from './ai-sdk-encoders.ts'
import { callRequest, embedRequest, sdkError, throwToSdk } from './ai-sdk-request.ts'
import type {
  CallOptions,
  EmbedCall,
  EmbeddingModel,
  EmbedResult,
  FinishReason,
  GenerateResult,
  LanguageModel,
  RerankingModel,
  StreamPart,
  ToolCallContent,
  Usage,
} from './ai-sdk-types.ts'
import {
  type EmbeddingModel5,
  type EmbeddingModel6,
  embeddingModel5,
  embeddingModel6,
  type LanguageModel5,
  type LanguageModel6,
  languageModel5,
  languageModel6,
  type RerankingModel6,
  rerankingModel6,
} from './ai-sdk-versions.ts'
import { argumentsTextOf } from './chat-messages.ts'
import { checkEmbedder, checkEngine, loadOnce } from './load-once.ts'

export type * from './ai-sdk-types.ts'
export type {
  EmbeddingModel5,
  EmbeddingModel6,
  GenerateResult5,
  LanguageModel5,
  LanguageModel6,
  RerankingModel6,
  StreamPart5,
  Usage5,
  Warning5,
} from './ai-sdk-versions.ts'

/** A model, or a function that loads it. The function is called once, and again after a failure. */
type Loadable<Model> = Model | (() => Promise<Model>)

/** Options of `createHalfbyte`. At least one of the models is needed. */
export interface HalfbyteProviderOptions {
  /** The chat model. Default: none; calls to it reject with `unsupported`. */
  readonly engine?: Loadable<Engine> | undefined
  /** The sentence encoder of `embeddingModel`. Default: the chat model's hidden states. */
  readonly embedder?: Loadable<Embedder> | undefined
  /** The reranker of `rerankingModel`. Default: none; calls to it reject with `unsupported`. */
  readonly reranker?: Loadable<Embedder> | undefined
  /** The major version of the package `ai` that uses the provider. Default 7. */
  readonly sdk?: 5 | 6 | 7 | undefined
}

type OneModel =
  | { readonly engine: Loadable<Engine> }
  | { readonly embedder: Loadable<Embedder> }
  | { readonly reranker: Loadable<Embedder> }

/** Calling it as a function returns the language model, as with other providers of the SDK. */
export interface HalfbyteProvider {
  (id?: string): LanguageModel
  readonly specificationVersion: 'v4'
  /** `id` names the model only in logs; the engine has one model. */
  languageModel(id?: string): LanguageModel
  /** Vectors for the SDK's `embed` and `embedMany`. */
  embeddingModel(id?: string): EmbeddingModel
  /** For the SDK's `rerank`. */
  rerankingModel(id?: string): RerankingModel
  /** Always throws `unsupported`. */
  imageModel(id: string): never
}

/** The provider for version 6. */
export interface HalfbyteProvider6 {
  (id?: string): LanguageModel6
  readonly specificationVersion: 'v3'
  languageModel(id?: string): LanguageModel6
  embeddingModel(id?: string): EmbeddingModel6
  rerankingModel(id?: string): RerankingModel6
  imageModel(id: string): never
}

/** The provider for version 5. */
export interface HalfbyteProvider5 {
  (id?: string): LanguageModel5
  languageModel(id?: string): LanguageModel5
  textEmbeddingModel(id?: string): EmbeddingModel5
  imageModel(id: string): never
}

/**
 * A provider for `generateText`, `streamText`, `embed`, `rerank` and the rest of the AI SDK. Models
 * that were not given reject their calls with `unsupported`. Version 5 of the SDK has no rerankers.
 */
export function createHalfbyte(
  options: HalfbyteProviderOptions & OneModel & { readonly sdk: 5 },
): HalfbyteProvider5
export function createHalfbyte(
  options: HalfbyteProviderOptions & OneModel & { readonly sdk: 6 },
): HalfbyteProvider6
export function createHalfbyte(
  options: HalfbyteProviderOptions & OneModel & { readonly sdk?: 7 | undefined },
): HalfbyteProvider
export function createHalfbyte(
  options: HalfbyteProviderOptions & OneModel,
): HalfbyteProvider | HalfbyteProvider6 | HalfbyteProvider5 {
  const { engine, embedder, reranker, sdk = 7 } = readFrom('the options', () => ({ ...options }))
  if (embedder === undefined && reranker === undefined && typeof engine !== 'function') checkEngine(engine)
  const load = loaderOf(engine, checkEngine)
  const loadReranker = loaderOf(reranker, checkEmbedder)
  const loadEmbedder = embedder && loaderOf(embedder, checkEmbedder)
  const language = (id = 'halfbyte') => languageModel(id, load)
  const embedding = (id = 'halfbyte') =>
    loadEmbedder === undefined ? embeddingModel(id, load) : encoderModel(id, loadEmbedder)
  const reranking = (id = 'halfbyte') => rerankingModel(id, loadReranker)
  const imageModel = refuseImages
  switch (sdk) {
    case 5:
      return callable((id?: string) => languageModel5(language(id)), {
        textEmbeddingModel: (id?: string) => embeddingModel5(embedding(id)),
        imageModel,
      })
    case 6:
      return callable((id?: string) => languageModel6(language(id)), {
        specificationVersion: 'v3',
        embeddingModel: (id?: string) => embeddingModel6(embedding(id)),
        rerankingModel: (id?: string) => rerankingModel6(reranking(id)),
        imageModel,
      })
    case 7:
      return callable(language, {
        specificationVersion: 'v4',
        embeddingModel: embedding,
        rerankingModel: reranking,
        imageModel,
      })
    default:
      throw wrongOption('sdk', sdk, '5, 6 or 7')
  }
}

const callable = <Model, Rest extends object>(languageModel: (id?: string) => Model, rest: Rest) =>
  Object.assign((id?: string) => languageModel(id), { languageModel }, rest)

/** Checks a model immediately, and a function's result once it has loaded. */
function loaderOf<Model>(
  model: Loadable<Model> | undefined,
  check: (model: Model | undefined) => void,
): () => Promise<Model> {
  const isFunction = (value: unknown): value is () => Promise<Model> => typeof value === 'function'
  if (model !== undefined && !isFunction(model)) check(model)
  return loadOnce(async () => {
    const loaded = isFunction(model) ? await model() : model
    check(loaded)
    return loaded as Model
  })
}

function refuseImages(): never {
  throw new HalfbyteError('unsupported', 'the provider has no image models; request a languageModel')
}

function embeddingModel(modelId: string, load: () => Promise<Engine>): EmbeddingModel {
  return {
    specificationVersion: 'v4',
    provider: 'halfbyte',
    modelId,
    maxEmbeddingsPerCall: Number.POSITIVE_INFINITY,
    supportsParallelCalls: true,
    doEmbed: async (call) => embed(await load(), call).catch(throwToSdk),
  }
}

async function embed(engine: Engine, call: EmbedCall): Promise<EmbedResult> {
  const { values, dimensions, options } = embedRequest(call)
  const vectors = await engine.embed(values, options)
  const counts = await Promise.all(values.map((text) => engine.countTokens(text)))
  const isCut = dimensions !== undefined && dimensions !== vectors[0]?.length
  return {
    embeddings: vectors.map((vector) => [...vector]),
    usage: { tokens: counts.reduce((sum, count) => sum + count, 0) },
    warnings: isCut ? [{ type: 'unsupported', feature: 'dimensions' }] : [],
  }
}

function languageModel(modelId: string, load: () => Promise<Engine>): LanguageModel {
  return {
    specificationVersion: 'v4',
    provider: 'halfbyte',
    modelId,
    supportedUrls: {},
    doGenerate: async (call) => generate(await load(), call).catch(throwToSdk),
    doStream: async (call) => ({ stream: stream(await load(), call) }),
  }
}

async function generate(engine: Engine, call: CallOptions): Promise<GenerateResult> {
  const { messages, options, warnings } = callRequest(call, engine.model.templateArguments)
  await using session = engine.createSession({ messages })
  const result = await session.regenerate(options).result
  return {
    content: [
      ...(result.reasoning === undefined ? [] : [{ type: 'reasoning', text: result.reasoning } as const]),
      ...(result.text === '' ? [] : [{ type: 'text', text: result.text } as const]),
      ...callsOf(result),
    ],
    finishReason: reasonOf(result),
    usage: usageOf(result),
    response: { modelId: engine.model.id },
    warnings,
  }
}

function stream(engine: Engine, call: CallOptions): ReadableStream<StreamPart> {
  const parts = partsOf(engine, call)
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      } catch (error) {
        // The SDK expects errors of a running stream as parts of the stream.
        controller.enqueue({ type: 'error', error: sdkError(error) })
        controller.close()
      }
    },
    async cancel() {
      await parts.return()
    },
  })
}

async function* partsOf(engine: Engine, call: CallOptions): AsyncGenerator<StreamPart, void> {
  const { messages, options, warnings } = callRequest(call, engine.model.templateArguments)
  await using session = engine.createSession({ messages })
  yield { type: 'stream-start', warnings }
  yield { type: 'response-metadata', modelId: engine.model.id }
  const generation = session.regenerate(options)
  let open: 'text' | 'reasoning' | undefined
  let id = -1
  for await (const { text, reasoning } of generation) {
    const part = reasoning === undefined ? 'text' : 'reasoning'
    if (part !== open) {
      if (open !== undefined) yield { type: `${open}-end`, id: String(id) }
      open = part
      yield { type: `${part}-start`, id: String(++id) }
    }
    yield { type: `${part}-delta`, id: String(id), delta: reasoning ?? text }
  }
  if (open !== undefined) yield { type: `${open}-end`, id: String(id) }
  const result = await generation.result
  for (const call of callsOf(result)) {
    const { toolCallId: id, toolName, input } = call
    yield { type: 'tool-input-start', id, toolName }
    yield { type: 'tool-input-delta', id, delta: input }
    yield { type: 'tool-input-end', id }
    yield call
  }
  yield { type: 'finish', usage: usageOf(result), finishReason: reasonOf(result) }
}

const callsOf = ({ toolCalls = [] }: GenerationResult): ToolCallContent[] =>
  toolCalls.map((call) => ({
    type: 'tool-call',
    toolCallId: call.id,
    toolName: call.name,
    input: argumentsTextOf(call),
  }))

function reasonOf({ finishReason, toolCalls = [] }: GenerationResult): FinishReason {
  if (finishReason === 'stop' && toolCalls.length > 0) return { unified: 'tool-calls', raw: finishReason }
  return { unified: finishReason === 'cancelled' ? 'other' : finishReason, raw: finishReason }
}

const usageOf = ({
  usage: { promptTokens, cachedTokens, completionTokens, reasoningTokens },
}: GenerationResult): Usage => ({
  inputTokens: {
    total: promptTokens,
    noCache: promptTokens - cachedTokens,
    cacheRead: cachedTokens,
    cacheWrite: undefined,
  },
  outputTokens: {
    total: completionTokens,
    text: completionTokens - reasoningTokens,
    reasoning: reasoningTokens,
  },
})
