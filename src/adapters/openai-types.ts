// The parts of OpenAI's chat completions and embeddings that the adapter uses, under OpenAI's names.
import type { EmbedTextsOptions } from '../encoders/embedder/embedder.ts'
import type { Engine } from '../engine/api/engine.ts'
import type { GenerateOptions } from '../engine/api/types.ts'

interface TextPart {
  readonly type: 'text'
  readonly text: string
}

interface ImagePart {
  readonly type: 'image_url'
  /** `detail` is ignored: the model's own processor decides how an image is split. */
  readonly image_url: { readonly url: string; readonly detail?: string }
}

interface FunctionCall {
  name: string
  /** JSON text. */
  arguments: string
}

/** A call that a reply requests. */
export interface ChatToolCall {
  id: string
  type: 'function'
  function: FunctionCall
}

/** Newer clients write `developer` for `system`. */
export interface ChatMessageParam {
  readonly role: string
  /** Images, for vision models, are `image_url` parts with `data:` addresses. */
  readonly content?: string | readonly (TextPart | ImagePart | { readonly type: string })[] | null
  /** Role `assistant`: the calls requested by the model. */
  readonly tool_calls?: readonly (ChatToolCall | { readonly type: string; readonly id: string })[] | null
  /** Role `tool`: the call that this message answers. */
  readonly tool_call_id?: string | null
  /** Ignored, with a warning, as are other fields. */
  readonly name?: string | null
  readonly refusal?: string | null
  /** Role `assistant`: the thought before the answer, for templates that read it. */
  readonly reasoning_content?: string | null
}

export interface ChatTool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    readonly parameters?: object
    readonly strict?: boolean | null
  }
}

/** `required`, or the name of a function, forces the reply to be a call. */
export type ChatToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } }

export type ResponseFormat =
  | { readonly type: 'text' }
  /** `schema`: in the form that llama.cpp's server accepts. */
  | { readonly type: 'json_object'; readonly schema?: object }
  | {
      readonly type: 'json_schema'
      readonly json_schema: {
        readonly name?: string
        readonly schema?: object
        readonly strict?: boolean | null
      }
    }

/** The sampling fields that chats and text completions share. */
export interface SamplingParams {
  /** Divides the logits before sampling. 0 is greedy. Default: what the model's files recommend, else 1. */
  readonly temperature?: number | null
  /**
   * Keeps the most likely tokens whose probabilities add up to this. 1 is off. Default: what the model's
   * files recommend, else 1.
   */
  readonly top_p?: number | null
  /** Subtracted from a recent token's logit once for each occurrence. Default 0. */
  readonly frequency_penalty?: number | null
  /** Subtracted from a recent token's logit once. Default 0. */
  readonly presence_penalty?: number | null
  /** Value to add to the logit, by token id. Default: none. */
  readonly logit_bias?: Readonly<Record<string, number>> | null
  /** The same seed, messages and fields give the same reply. Default, and for -1: random. */
  readonly seed?: number | null
  /** Texts that end the reply and never appear in it; empty ones are ignored. Default: none. */
  readonly stop?: string | readonly string[] | null
  /** Same as in vLLM's and llama.cpp's servers (-1: all); see `SamplerOptions`. Default: the engine's. */
  readonly top_k?: number | null
  readonly min_p?: number | null
  readonly typical_p?: number | null
  readonly repetition_penalty?: number | null
  /**
   * A GBNF grammar that constrains the reply, as in llama.cpp's server; an empty string means none. Default:
   * none.
   */
  readonly grammar?: string | null
  /** Any other option of a reply, under the engine's names. Takes precedence over the fields above. */
  readonly halfbyte?: GenerateOptions | null
}

/** The fields that `create` reads; null is the same as absent. Other fields cause a warning. */
export interface ChatCompletionParams extends SamplingParams {
  /** The conversation so far. A final assistant message is the beginning of the reply. */
  readonly messages: readonly ChatMessageParam[]
  /** Ignored, unless `openaiFetch` has several engines. */
  readonly model?: string
  /** Whether the reply comes in chunks. Default false. */
  readonly stream?: boolean | null
  /** `include_usage`: whether the last chunk has the number of tokens. Default false. */
  readonly stream_options?: { readonly include_usage?: boolean } | null
  /** Variables of the chat template by name, such as `{ enable_thinking: false }`. Default: none. */
  readonly chat_template_kwargs?: { readonly [name: string]: unknown } | null
  /** The template variable with this name; templates without it are not affected. Default: none. */
  readonly reasoning_effort?: string | null
  /** The older name of `max_completion_tokens`, which is preferred. */
  readonly max_tokens?: number | null
  /** Maximum number of tokens to generate. Default, and for -1: until the context is full. */
  readonly max_completion_tokens?: number | null
  /** `json_object` and `json_schema` constrain the reply. Default `text`. */
  readonly response_format?: ResponseFormat | null
  /** Functions that the model may request to call. Default: none. */
  readonly tools?: readonly (ChatTool | { readonly type: string })[] | null
  /** Whether the reply is a call. Default `auto`: the model decides. */
  readonly tool_choice?: ChatToolChoice | { readonly type: string } | null
  /** Whether to report the log-probability of each token in the model's own distribution. Default false. */
  readonly logprobs?: boolean | null
  /** With `logprobs`: how many most likely tokens to list for each token. Default 0. */
  readonly top_logprobs?: number | null
  /** Number of replies, generated one after another. Default 1. */
  readonly n?: number | null
  /** If false, a reply ends after its first call. Default true. */
  readonly parallel_tool_calls?: boolean | null
}

/** A token, its bytes in UTF-8 and its log-probability. */
export interface ChatTokenLogprob {
  token: string
  logprob: number
  bytes: number[]
  top_logprobs: { token: string; logprob: number; bytes: number[] }[]
}

export interface ChatLogprobs {
  content: ChatTokenLogprob[]
  refusal: null
}

export type ChatFinishReason = 'stop' | 'length' | 'tool_calls'

export interface CompletionUsage {
  prompt_tokens: number
  completion_tokens: number
  total_tokens: number
  /** `cached_tokens`: prompt tokens whose state was still cached. */
  prompt_tokens_details: { cached_tokens: number }
  /** `reasoning_tokens`: tokens up to the end of the thought. */
  completion_tokens_details: { reasoning_tokens: number }
}

export interface ChatCompletion {
  id: string
  object: 'chat.completion'
  /** Seconds since 1970. */
  created: number
  model: string
  choices: {
    index: number
    message: {
      role: 'assistant'
      content: string | null
      refusal: null
      /** The thought of a reasoning model. */
      reasoning_content?: string
      tool_calls?: ChatToolCall[]
    }
    finish_reason: ChatFinishReason
    logprobs: ChatLogprobs | null
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
    /** Calls arrive complete, in one chunk after the text. */
    delta: {
      role?: 'assistant'
      content?: string
      reasoning_content?: string
      tool_calls?: (ChatToolCall & { index: number })[]
    }
    finish_reason: ChatFinishReason | null
    /** The log-probabilities of the tokens in `delta`, if requested. */
    logprobs?: ChatLogprobs
  }[]
  /**
   * With `stream_options.include_usage`: the usage of the whole request in the last chunk, null before it.
   */
  usage?: CompletionUsage | null
}

/** The fields of a text completion that are read. Other fields cause a warning. */
export interface TextCompletionParams extends SamplingParams {
  /**
   * One or several prompts: texts, which are tokenized from their beginning, or token ids, which are used
   * unchanged.
   */
  readonly prompt: string | readonly number[] | readonly (string | readonly number[])[]
  /** Ignored, unless `openaiFetch` has several engines. */
  readonly model?: string
  readonly stream?: boolean | null
  readonly stream_options?: { readonly include_usage?: boolean } | null
  /** Maximum number of tokens to generate; 0 only reads the prompt. Default 16. */
  readonly max_tokens?: number | null
  /** Whether the text begins with its prompt; with `logprobs`, its tokens are scored too. Default false. */
  readonly echo?: boolean | null
  /** The number of most likely tokens to list for each token, 0 to 100. Default: none are reported. */
  readonly logprobs?: number | null
  /** Number of texts for each prompt. Default 1. */
  readonly n?: number | null
}

/** One entry for each token. */
export interface CompletionLogprobs {
  tokens: string[]
  /** Null for the first token of a prompt, because nothing precedes it. */
  token_logprobs: (number | null)[]
  /** Log-probabilities by text, including the token itself. */
  top_logprobs: (Record<string, number> | null)[]
  /** The offset of each token in the choice's text, in code points. */
  text_offset: number[]
}

/** A text completion, or a chunk of one. */
export interface TextCompletion {
  id: string
  object: 'text_completion'
  created: number
  model: string
  choices: {
    index: number
    text: string
    logprobs: CompletionLogprobs | null
    finish_reason: 'stop' | 'length' | null
  }[]
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

/** The fields of an embeddings request that are read. Other fields cause a warning. */
export interface EmbeddingParams {
  /** One text or several, each as a string or as token ids of this model, which are used unchanged. */
  readonly input: string | readonly number[] | readonly (string | readonly number[])[]
  /** Ignored, unless `openaiFetch` has several engines. */
  readonly model?: string
  /** `base64`: the vector's little-endian f32 bytes. Default `float`. */
  readonly encoding_format?: 'float' | 'base64' | null
  /**
   * Number of leading values to keep of each vector, which is then rescaled to length 1 (Matryoshka). An
   * engine's vectors have a fixed length; other numbers are rejected.
   */
  readonly dimensions?: number | null
  /** Options of `Embedder.embed`, such as `kind`, or of `Engine.embed`. */
  readonly halfbyte?: EmbedTextsOptions | Parameters<Engine['embed']>[1]
}

export interface EmbeddingList {
  object: 'list'
  data: { object: 'embedding'; index: number; embedding: number[] | string }[]
  model: string
  usage: { prompt_tokens: number; total_tokens: number }
}

/** The fields of a reranking request that are read, named as by Cohere, Jina and llama.cpp's server. */
export interface RerankParams {
  /** The query that documents are scored for. */
  readonly query: string
  /** The texts to score. */
  readonly documents: readonly (string | { readonly text: string })[]
  /** Number of best results to return. Default: one per document. */
  readonly top_n?: number | null
  /** Default false. */
  readonly return_documents?: boolean | null
  /** Ignored: there is one reranker. */
  readonly model?: string
}

export interface RerankList {
  object: 'list'
  model: string
  /** Best first. */
  results: { index: number; relevance_score: number; document?: { text: string } }[]
  usage: { prompt_tokens: number; total_tokens: number }
}
