// AI SDK. In: an engine, or how to load one. Out: a provider whose language model the SDK's functions take.
import { HalfbyteError } from '../../base/errors.ts'
import type { Message } from '../../engine/protocol.ts'
import type { Engine } from '../engine.ts'
import type { GenerateOptions, GenerationResult } from '../types.ts'
import type {
  CallOptions,
  FinishReason,
  GenerateResult,
  LanguageModel,
  PromptMessage,
  StreamPart,
  Usage,
  Warning,
} from './ai-sdk-types.ts'

export type * from './ai-sdk-types.ts'

export interface HalfbyteProviderOptions {
  /** The engine, or what loads it when the first call comes; called once. */
  readonly engine: Engine | (() => Promise<Engine>)
}

export interface HalfbyteProvider {
  readonly specificationVersion: 'v4'
  /** `id` names the model in logs; the engine has one. */
  languageModel(id?: string): LanguageModel
  /** Throws `unsupported`. */
  embeddingModel(id: string): never
  /** Throws `unsupported`. */
  imageModel(id: string): never
}

/** A provider for `generateText`, `streamText` and the rest of the AI SDK. */
export function createHalfbyte({ engine }: HalfbyteProviderOptions): HalfbyteProvider {
  let loading: Promise<Engine> | undefined
  const load = (): Promise<Engine> => {
    loading ??= typeof engine === 'function' ? engine() : Promise.resolve(engine)
    // What failed may be tried again.
    loading.catch(() => {
      loading = undefined
    })
    return loading
  }
  return {
    specificationVersion: 'v4',
    languageModel: (id = 'halfbyte') => languageModel(id, load),
    embeddingModel: () => refuse('embeddings'),
    imageModel: () => refuse('images'),
  }
}

function refuse(what: string): never {
  throw new HalfbyteError('unsupported', `the provider makes no ${what}; ask it for a languageModel`)
}

function languageModel(modelId: string, load: () => Promise<Engine>): LanguageModel {
  return {
    specificationVersion: 'v4',
    provider: 'halfbyte',
    modelId,
    supportedUrls: {},
    doGenerate: async (call) => generate(await load(), call),
    doStream: async (call) => ({ stream: stream(await load(), call) }),
  }
}

async function generate(engine: Engine, call: CallOptions): Promise<GenerateResult> {
  const { options, warnings } = readOptions(call)
  await using session = engine.createSession({ messages: call.prompt.map(readMessage) })
  const result = await session.regenerate(options).result
  return {
    content: result.text === '' ? [] : [{ type: 'text', text: result.text }],
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
        // The SDK takes errors of a running stream as parts of it.
        controller.enqueue({ type: 'error', error })
        controller.close()
      }
    },
    async cancel() {
      await parts.return()
    },
  })
}

const TEXT = { id: '0' } as const

async function* partsOf(engine: Engine, call: CallOptions): AsyncGenerator<StreamPart, void> {
  const { options, warnings } = readOptions(call)
  await using session = engine.createSession({ messages: call.prompt.map(readMessage) })
  yield { type: 'stream-start', warnings }
  yield { type: 'response-metadata', modelId: engine.model.id }
  const generation = session.regenerate(options)
  yield { type: 'text-start', ...TEXT }
  for await (const { text } of generation) yield { type: 'text-delta', ...TEXT, delta: text }
  const result = await generation.result
  yield { type: 'text-end', ...TEXT }
  yield { type: 'finish', usage: usageOf(result), finishReason: reasonOf(result) }
}

function readOptions(call: CallOptions): { options: GenerateOptions; warnings: Warning[] } {
  const warnings: Warning[] = []
  const options: GenerateOptions = {
    maxTokens: call.maxOutputTokens,
    temperature: call.temperature,
    stop: call.stopSequences,
    topP: call.topP,
    topK: call.topK,
    presencePenalty: call.presencePenalty,
    frequencyPenalty: call.frequencyPenalty,
    seed: call.seed,
    schema: schemaOf(call.responseFormat),
    signal: call.abortSignal,
    ...call.providerOptions?.['halfbyte'],
  }
  for (const { name } of call.tools ?? []) warnings.push({ type: 'unsupported', feature: `tool ${name}` })
  return { options, warnings }
}

function schemaOf(format: CallOptions['responseFormat']): object | undefined {
  if (format?.type !== 'json') return undefined
  return typeof format.schema === 'object' && format.schema !== null ? format.schema : { type: 'object' }
}

function readMessage({ role, content }: PromptMessage): Message {
  if (role !== 'system' && role !== 'user' && role !== 'assistant') {
    throw new HalfbyteError('unsupported', `messages of the role "${role}" cannot be read; leave them out`)
  }
  return { role, content: typeof content === 'string' ? content : content.map(readPart).join('') }
}

function readPart(part: { readonly type: string; readonly text?: unknown }): string {
  if (part.type === 'text' && typeof part.text === 'string') return part.text
  // What a model thought before is not part of what it said.
  if (part.type === 'reasoning') return ''
  throw new HalfbyteError('unsupported', `parts of the type "${part.type}" cannot be read; send text only`)
}

const reasonOf = ({ finishReason }: GenerationResult): FinishReason => ({
  unified: finishReason === 'cancelled' ? 'other' : finishReason,
  raw: finishReason,
})

const usageOf = ({ usage: { promptTokens, cachedTokens, completionTokens } }: GenerationResult): Usage => ({
  inputTokens: {
    total: promptTokens,
    noCache: promptTokens - cachedTokens,
    cacheRead: cachedTokens,
    cacheWrite: undefined,
  },
  outputTokens: { total: completionTokens, text: completionTokens, reasoning: undefined },
})
