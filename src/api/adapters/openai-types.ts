// OpenAI shapes. In: nothing. Out: the parts of chat completions that the adapter reads and writes, under their own names.

interface TextPart {
  readonly type: 'text'
  readonly text: string
}

/** `developer` is what newer clients call `system`. */
export interface ChatMessageParam {
  readonly role: string
  readonly content?: string | readonly (TextPart | { readonly type: string })[] | null
}

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly json_schema: {
        readonly name?: string
        readonly schema?: object
        readonly strict?: boolean | null
      }
    }

/** What `create` reads. Fields beyond these are named in a warning. */
export interface ChatCompletionParams {
  readonly messages: readonly ChatMessageParam[]
  /** Ignored: the engine has one model. */
  readonly model?: string
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
  readonly temperature?: number | null
  readonly top_p?: number | null
  readonly frequency_penalty?: number | null
  readonly presence_penalty?: number | null
  readonly logit_bias?: Readonly<Record<string, number>> | null
  readonly seed?: number | null
  readonly stop?: string | readonly string[] | null
  /** `json_object` and `json_schema` hold the reply to it. */
  readonly response_format?: ResponseFormat | null
  /** Replies to make, one after the other. Default 1; more cannot be streamed. */
  readonly n?: number | null
}

export type ChatFinishReason = 'stop' | 'length'

export interface CompletionUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  /** `cached_tokens`: those whose state was still there. */
  prompt_tokens_details: { cached_tokens: number }
}

export interface ChatCompletion {
  id: string
  object: 'chat.completion'
  /** Seconds since 1970. */
  created: number
  model: string
  choices: {
    index: number
    message: { role: 'assistant'; content: string; refusal: null }
    finish_reason: ChatFinishReason
    logprobs: null
  }[]
  usage: CompletionUsage
}

export interface ChatCompletionChunk {
  id: string
  object: 'chat.completion.chunk'
  created: number
  model: string
  choices: {
    index: number
    delta: { role?: 'assistant'; content?: string }
    finish_reason: ChatFinishReason | null
  }[]
  /** On the last chunk, when `stream_options.include_usage` asked for it. */
  usage?: CompletionUsage
}
