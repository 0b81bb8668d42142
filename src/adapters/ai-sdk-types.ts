// The parts of the AI SDK's language model interface (v4) that the provider uses. They are copies, so the
// package does not depend on the SDK; a test compares them with the real types.

/** One message of the SDK's standardised prompt. */
export interface PromptMessage {
  readonly role: string
  readonly content: string | readonly { readonly type: string }[]
}

/** A call in an assistant's message. */
export interface ToolCallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}

/** A result in a tool's message. */
export interface ToolResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: ToolOutput
}

export type ToolOutput =
  | { readonly type: 'text' | 'error-text'; readonly value: string }
  | { readonly type: 'json' | 'error-json'; readonly value: unknown }
  | { readonly type: 'execution-denied'; readonly reason?: string }
  | { readonly type: 'content'; readonly value: readonly { readonly type: string }[] }

export interface FunctionTool {
  readonly type: 'function'
  readonly name: string
  readonly description?: string
  readonly inputSchema: unknown
  readonly strict?: boolean
}

export interface CallOptions {
  readonly prompt: readonly PromptMessage[]
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly stopSequences?: readonly string[]
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly responseFormat?: { readonly type: 'text' } | { readonly type: 'json'; readonly schema?: unknown }
  readonly seed?: number
  readonly tools?: readonly (
    | FunctionTool
    | { readonly type: 'provider' | 'provider-defined'; readonly name: string }
  )[]
  readonly toolChoice?:
    | { readonly type: 'auto' | 'none' | 'required' }
    | { readonly type: 'tool'; readonly toolName: string }
  /** How much the model thinks; becomes variables of its chat template, or a warning. */
  readonly reasoning?: 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'
  readonly abortSignal?: AbortSignal
  /** Key `halfbyte`: any of our generation options, such as `minP`. */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export type Warning =
  | { type: 'unsupported' | 'compatibility'; feature: string; details?: string }
  | { type: 'other'; message: string }

export interface FinishReason {
  unified: 'stop' | 'length' | 'tool-calls' | 'other'
  raw: string | undefined
}

/** Token counts. */
export interface Usage {
  inputTokens: {
    total: number | undefined
    noCache: number | undefined
    cacheRead: number | undefined
    cacheWrite: number | undefined
  }
  outputTokens: { total: number | undefined; text: number | undefined; reasoning: number | undefined }
}

/** A call that a reply requests; `input` is JSON. */
export interface ToolCallContent {
  type: 'tool-call'
  toolCallId: string
  toolName: string
  input: string
}

export interface GenerateResult {
  content: ({ type: 'text'; text: string } | { type: 'reasoning'; text: string } | ToolCallContent)[]
  finishReason: FinishReason
  usage: Usage
  response: { modelId: string }
  warnings: Warning[]
}

export type StreamPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | { type: 'response-metadata'; modelId: string }
  | { type: 'text-start'; id: string }
  | { type: 'text-delta'; id: string; delta: string }
  | { type: 'text-end'; id: string }
  | { type: 'reasoning-start'; id: string }
  | { type: 'reasoning-delta'; id: string; delta: string }
  | { type: 'reasoning-end'; id: string }
  | { type: 'tool-input-start'; id: string; toolName: string }
  | { type: 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-end'; id: string }
  | ToolCallContent
  | { type: 'finish'; usage: Usage; finishReason: FinishReason }
  | { type: 'error'; error: unknown }

/** `LanguageModelV4` in the SDK. */
export interface LanguageModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly supportedUrls: Record<string, RegExp[]>
  doGenerate(options: CallOptions): Promise<GenerateResult>
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamPart> }>
}

export interface EmbedCall {
  readonly values: readonly string[]
  readonly dimensions?: number
  readonly abortSignal?: AbortSignal
  /**
   * Key `halfbyte`: `pooling` and `normalize` for a chat model, `kind`, `prompt` and `normalize` for an
   * encoder.
   */
  readonly providerOptions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

export interface EmbedResult {
  embeddings: number[][]
  usage: { tokens: number }
  warnings: Warning[]
}

/** `EmbeddingModelV4` in the SDK. */
export interface EmbeddingModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: number
  readonly supportsParallelCalls: boolean
  doEmbed(options: EmbedCall): Promise<EmbedResult>
}

export interface RerankCall {
  readonly query: string
  readonly documents:
    | { readonly type: 'text'; readonly values: readonly string[] }
    | { readonly type: 'object'; readonly values: readonly object[] }
  readonly topN?: number
  readonly abortSignal?: AbortSignal
}

export interface RerankResult {
  /** Best first. `index`: the document's index in the call. */
  ranking: { index: number; relevanceScore: number }[]
  warnings: Warning[]
  response: { modelId: string }
}

/** `RerankingModelV4` in the SDK. */
export interface RerankingModel {
  readonly specificationVersion: 'v4'
  readonly provider: string
  readonly modelId: string
  doRerank(options: RerankCall): Promise<RerankResult>
}
