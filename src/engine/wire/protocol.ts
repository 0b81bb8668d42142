// The protocol: the types of everything that crosses between a page and its engine worker.
//
//   page                                                worker
//   EngineService, through Comlink                      load, probe, count, fork, save, store, restore,
//                                                       close, memory, dispose
//   LoadCommand     --- one port per load, probe ... ---->  abort
//                   <---------------------------------  LoadReport
//   StreamCommand   --- one port per generation ----->  credit, cancel
//                   <---------------------------------  StreamReport: chunks, then one end or one failure
//
// A stream may be STREAM_CREDITS (reply-stream.ts) chunks ahead of its reader. The reader returns one credit
// per chunk taken. The side that sends the last report closes its port; the other side closes its own when
// the report arrives.
import type { EngineNote } from '../../core/base/engine-notes.ts'
import type { WireError } from '../../core/base/errors.ts'
import type { JsonObject } from '../../core/base/values.ts'
import type { WrittenGrammar } from '../../core/constrain/written-grammar.ts'
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { Place } from '../../core/formats/names/named-files.ts'
import type { Pixels } from '../../core/formats/pixels.ts'
import type { SamplerOptions } from '../../core/generate/sampler/sampler-options.ts'
import type { Priority } from '../../core/generate/schedule/work.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { StoredSession } from '../../core/store/device/sessions.ts'
import type { DownloadProgress } from '../../core/store/download/tally.ts'
import type { Hub } from '../../core/store/hub.ts'
import type { ReasoningMarks } from '../../core/text/chat/reasoning.ts'
import type { EmbedOptions } from '../score/embed.ts'
import type { Score } from '../score/score.ts'

/**
 * A call requested by the model. The arguments are an object, but they are not checked against the tool's
 * schema.
 */
export interface ToolCall {
  /** Nine letters and digits, unique in the conversation. */
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

/** A piece of a reply: complete code points, never empty. */
export interface TextChunk {
  /** A piece of the answer; empty in a piece of the thought. */
  readonly text: string
  /** A piece of the thought before the answer. Absent in a piece of the answer. */
  readonly reasoning?: string | undefined
  /** Number of tokens decoded since the previous chunk. */
  readonly tokens: number
  /** One entry for each of these tokens, if `logprobs` was set. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
}

/** A token and the natural logarithm of its probability in the model's own distribution. */
export interface TokenLogprob {
  readonly id: number
  /** The token's text; an incomplete character becomes U+FFFD. */
  readonly text: string
  /** The token's bytes in UTF-8, even if it ends inside a character. */
  readonly bytes: readonly number[]
  readonly logprob: number
}

/** A generated token, and the most likely tokens at its place, most likely first. */
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[]
}

/** Token counts of a reply. */
export interface Usage {
  /** Tokens of the prompt, including cached ones. */
  readonly promptTokens: number
  /** Tokens of the prompt whose state was still cached, so they were not run again. */
  readonly cachedTokens: number
  /** Tokens of the prompt that did not fit in the context; 0 unless `overflow` is `shift`. */
  readonly droppedTokens: number
  /** Tokens generated, excluding the end-of-turn token. */
  readonly completionTokens: number
  /** How many of these tokens are the model's thought, including its marks. */
  readonly reasoningTokens: number
  /** Drafted tokens that were checked; 0 if the reply was cancelled. */
  readonly draftedTokens: number
  /** Drafted tokens that were accepted; 0 if the reply was cancelled. */
  readonly acceptedTokens: number
}

/** Durations of a reply. */
export interface Timings {
  /**
   * Milliseconds from the start of this generation's turn to its first token, including waits for other
   * sequences.
   */
  readonly firstTokenMs: number
  /** Milliseconds in prefill. */
  readonly prefillMs: number
  /** Milliseconds from the first token to the last. */
  readonly decodeMs: number
  /** Uncached prompt tokens divided by the prefill time; 0 if there were none. */
  readonly prefillTokensPerSecond: number
  /** Tokens after the first divided by the decode time; 0 if there were none. */
  readonly decodeTokensPerSecond: number
}

/**
 * Why a reply ended. `stop`: the model ended it, or a stop text. `length`: a limit on tokens. `cancelled`:
 * the caller.
 */
export type FinishReason = 'stop' | 'length' | 'cancelled'

/** How a generation ended. */
export interface Outcome {
  readonly text: string
  /**
   * The model's thought before its answer, without the marks; it is not part of `text`. Absent if it did
   * not think.
   */
  readonly reasoning?: string | undefined
  /** Ids as generated, excluding the end-of-turn token. */
  readonly tokens: readonly number[]
  /** One entry for each of `tokens`, if `logprobs` was set. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
  readonly finishReason: FinishReason
  /** The calls requested by the model; they are not part of `text`. Absent if no tools were given. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  readonly usage: Usage
  readonly timings: Timings
  /**
   * The seed that was used; pass it to get the same text again. Absent if the reply was cancelled before its
   * turn.
   */
  readonly seed?: number | undefined
}

/** Load options that make a model smaller. Spread them over the original options. */
export interface Smaller {
  /** Tokens. Absent if the length need not change. */
  readonly contextLength?: number
  /** Absent if the format need not change. */
  readonly kvCache?: KvFormat
  /** Absent if the precision need not change. */
  readonly weights?: 'w4'
}

/** One of the ONNX graphs of a repository made for transformers.js. */
export interface GraphOffer {
  /** Its path in the repository, as `onnx/model_q4.onnx`. */
  readonly file: string
  /** What loads it. Absent for a graph that only its own address or path loads. */
  readonly dtype?: GraphDtype | undefined
  /** Whether a load without `dtype` picks it. */
  readonly isDefault: boolean
  /** Bytes that are not on this device yet. */
  readonly downloadBytes: number
  /**
   * Bytes of memory for the weights, the activations and the state of a full context: from the report for the
   * default graph, otherwise an estimate from file sizes.
   */
  readonly neededBytes: number
  /** Whether this fits. */
  readonly fits: boolean
}

/** What is known about a model before its weights are downloaded. */
export interface ProbeReport {
  /** Whether the weights, the activations and the state of a full context fit in memory. */
  readonly fits: boolean
  /** Bytes of memory for the weights, the activations and the state of a full context. */
  readonly neededBytes: number
  /**
   * Maximum bytes that this page can get, measured by requesting them. Less than the need of a load that was
   * killed here.
   */
  readonly grantedBytes: number
  /** Context length in tokens that this report assumes. */
  readonly contextLength: number
  /** Bytes of weights that are not on this device yet. */
  readonly downloadBytes: number
  /**
   * Estimated speed of reading a prompt, from kernels run for a fifth of a second and the cost of the model's
   * plan at position 512.
   */
  readonly prefillTokensPerSecond: number
  /** Estimated speed of writing a reply, in the same way. */
  readonly decodeTokensPerSecond: number
  /**
   * What would fit instead. Tried in order: a smaller context, int8 keys and values, 4-bit weights,
   * combinations of these. Undefined if `fits` is true, or if none of them fits.
   */
  readonly suggestion: Smaller | undefined
  /**
   * The ONNX graphs that the model has, the preferred one first; absent if it has none, if `dtype` was given,
   * or if its weights are other files.
   */
  readonly graphs?: readonly GraphOffer[] | undefined
}

/** An image: a file such as a PNG or a JPEG, its bytes, or its pixels. */
export type PictureSource = Blob | ArrayBuffer | Uint8Array | Pixels

/** One turn of a conversation. */
export interface Message {
  /** `tool`: the result of a tool. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** The text. Each U+FFFC in it, the object replacement character, represents the next of `images`. */
  readonly content: string
  /**
   * Images, for a model that was loaded with `vision`: their bytes, their pixels, or files that the browser
   * decodes, such as PNG or JPEG (outside a browser these two). Those without a U+FFFC in `content` come
   * before the text.
   */
  readonly images?: readonly PictureSource[] | undefined
  /**
   * Role `assistant`: the model's thought before its answer. It reaches the model again if the chat
   * template reads it, as `reasoning_content` or `thinking`.
   */
  readonly reasoning?: string | undefined
  /** Role `assistant`: the calls requested by the model. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  /** Role `tool`: the `id` of the call that this message answers. */
  readonly toolCallId?: string | undefined
  /** Role `tool`: the tool's name. */
  readonly name?: string | undefined
}

/** A function that the model may call. */
export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of the arguments, which are an object. Default: no arguments. */
  readonly parameters?: object | undefined
  /**
   * After the marker of a call, the reply is constrained to a complete call, with arguments that match
   * `parameters`. If one tool is strict, calls to the others must be well-formed too. Default false.
   */
  readonly strict?: boolean | undefined
}

/** Facts about a loaded model. */
export interface ModelInfo {
  /** The model's own name, or its file's name if it has none. */
  readonly id: string
  /** For example `llama`. */
  readonly architecture: string
  /** Number of weights. Tied weights count once. */
  readonly parameters: number
  /** Maximum number of tokens of a conversation: the model's own limit, or the smaller requested one.
   */
  readonly contextLength: number
  /**
   * Sampling options that the model's files recommend (generation_config.json, or `general.sampling.*` of a
   * GGUF). They replace `SAMPLER_DEFAULTS`; options of a reply replace them. Empty if the files have none.
   */
  readonly sampling: SamplerOptions
  /** Variables of the chat template that `templateArguments` can give, such as `enable_thinking`. */
  readonly templateArguments: readonly string[]
  /** Whether messages may have images: the model was loaded with its vision tower. */
  readonly seesImages: boolean
}

/** How an engine was set up by its load. */
export interface EngineInfo {
  readonly model: ModelInfo
  /** The draft model; absent if none was loaded. */
  readonly draft?: ModelInfo | undefined
  /** Number of threads that compute, including the engine worker. */
  readonly threads: number
  readonly pool: PoolKind
  /** How the engine differs from the request, and why: fewer threads, a shorter context. */
  readonly notes: readonly EngineNote[]
  readonly build: Build
}

/** Linear memory by purpose, in bytes. */
export interface MemoryUse {
  readonly weightsBytes: number
  /** State cache: the state of every live conversation. */
  readonly stateBytes: number
  /**
   * State of ended conversations, kept for others with the same prefix. Freed when room is
   * needed.
   */
  readonly keptBytes: number
  /** Activations and plan. */
  readonly arenaBytes: number
  /** All of linear memory, including its free part. */
  readonly totalBytes: number
}

/** Progress of a load. Phases come in this order, but `convert` runs at the same time as `download`. */
export type LoadProgress =
  | DownloadProgress
  /** Number of tensors done, and their total. */
  | { readonly phase: 'convert'; readonly done: number; readonly total: number }
  | { readonly phase: 'compile' | 'warmup' }

/** Precision of the weights in computation. `auto` keeps the file's own. */
export type WeightPolicy = 'auto' | 'f32' | 'w8' | 'w4' | 'w4_channel'

export interface LoadRequest {
  /** An absolute address, or the files of a model. */
  readonly source: Place | readonly File[]
  /** The same for the draft model. */
  readonly draft?: Place | readonly File[] | undefined
  /** Replaces the model's chat template. */
  readonly chatTemplate?: string | undefined
  /** The vision tower that belongs to the model: an mmproj file. */
  readonly vision?: Place | readonly File[] | undefined
  /** Maximum number of tiles along the longer side of an image. Default: the tower's own number. */
  readonly imageTiles?: number | undefined
  /** LoRA adapters; `scale` multiplies the adapter's own scale. */
  readonly lora?: readonly { readonly source: Place | readonly File[]; readonly scale: number }[] | undefined
  readonly threads: number | 'auto'
  /** Default `auto`. */
  readonly pool?: PoolKind | 'auto' | undefined
  readonly build: Build | 'auto'
  readonly contextLength?: number | undefined
  /** Maximum bytes of state for all conversations. Default: as much as memory allows. */
  readonly stateBytes?: number | undefined
  readonly weights: WeightPolicy
  /** Default: `f32` for keys and values, which is exact. */
  readonly kvCache?: KvFormat | undefined
  readonly cache: 'opfs' | 'none'
  readonly hub?: Hub | undefined
  /** The precision of the graph where a model has several. Default: the first of `GRAPH_DTYPES`. */
  readonly dtype?: GraphDtype | undefined
  /**
   * Absolute addresses of files at another location: the folder of the wasm modules, the compute workers'
   * script.
   */
  readonly assets: { readonly wasm?: string | undefined; readonly compute?: string | undefined }
}

/** A load to estimate without loading the weights. */
export interface ProbeRequest extends LoadRequest {
  /** Maximum bytes of memory to assume, even if the browser would grant more. Default: no limit. */
  readonly limitBytes?: number | undefined
}

/** To the worker, on the port of any long call except a generation. */
export type LoadCommand = { readonly type: 'abort' }
/** From the worker, on a load's port. */
export type LoadReport =
  | { readonly type: 'progress'; readonly progress: LoadProgress }
  /** Sent once, before memory is allocated: bytes that the model needs with a full context. */
  | { readonly type: 'need'; readonly neededBytes: number }

/** What to continue: a conversation in the model's chat template, or plain text. */
export type Prompt =
  | {
      readonly type: 'messages'
      readonly messages: readonly Message[]
      readonly tools?: readonly Tool[] | undefined
      /** How the reply begins. Default: empty. */
      readonly prefix?: string | undefined
      /** Further variables of the chat template, JSON values by name. Default: none. */
      readonly templateArguments?: JsonObject | undefined
    }
  | { readonly type: 'text'; readonly text: string }

/** How a reply is decoded. */
export interface DecodeOptions extends SamplerOptions {
  /**
   * Modules that change the logits, in the order in which they run: absolute addresses, imported where the
   * model runs. The default export of each is a `LogitProcessorFactory`. Default: none.
   */
  readonly processors?: readonly string[] | undefined
  /**
   * Maximum number of tokens to generate. Default: until the context is full; with `overflow: 'shift'`, the
   * context length. With `shift` it may be larger than the context.
   */
  readonly maxTokens?: number | undefined
  /** Texts that end the reply. They never appear in it. Default: none. */
  readonly stop?: readonly string[] | undefined
  /**
   * A JSON Schema, or a validator that can give one (Zod 4, Valibot, ArkType, other Standard Schemas): the
   * reply is one JSON value that the schema allows. Give at most one of `schema`,
   * `grammar`, `pattern` and `choices`. With one of them, `finishReason` is `stop` only if the reply is
   * complete; a reply that `maxTokens` or a stop text cut off has `length`. A constraint that cannot be
   * enforced rejects with `unsupported`. Default: none.
   */
  readonly schema?: object | boolean | undefined
  /**
   * With `schema`: whether to omit whitespace between the parts of the JSON, which takes fewer tokens.
   * Default false.
   */
  readonly compact?: boolean | undefined
  /** A grammar in llama.cpp's GBNF: the reply matches its rule `root`. Default: none. */
  readonly grammar?: string | undefined
  /**
   * A regular expression that matches the whole reply, as text or as a `RegExp` without the flags `i`, `m`,
   * `s` and `v`. Lookbehind, back-references and `\b` are not supported. Default: none.
   */
  readonly pattern?: string | RegExp | undefined
  /** The reply is one of these texts. Default: none. */
  readonly choices?: readonly string[] | undefined
  /**
   * Maximum number of tool calls in a reply: it ends with the last of them, and nothing after that is
   * decoded. Default: as many as the model makes.
   */
  readonly maxToolCalls?: number | undefined
  /**
   * The texts that mark the model's thought, where its chat template names none or others. False: nothing is
   * split, and marks are text. Default: the marks that the chat template names; for plain text, none.
   */
  readonly reasoning?: ReasoningMarks | false | undefined
  /**
   * Maximum number of tokens of the thought. When they are spent, its end is forced and the answer begins.
   * Has no effect on a model that does not think. Default: no limit.
   */
  readonly maxReasoningTokens?: number | undefined
  /**
   * The prompt that `cfgScale` steers away from. It replaces a conversation's system text, or the whole of a
   * plain-text prompt. Guidance runs two sequences for one reply. Default '': the conversation without its
   * system text, or the last token of a plain-text prompt.
   */
  readonly negativePrompt?: string | undefined
  /**
   * How tokens are drafted; the model checks several drafts in one step, and the reply is the same. Default:
   * `draft` if a draft model is loaded, else `lookup`.
   */
  readonly speculation?: SpeculationKind | undefined
  /**
   * `background` yields to `foreground`: it slows running foreground replies by at most a twentieth. Default
   * `foreground`.
   */
  readonly priority?: Priority | undefined
}

/**
 * Where drafts come from. `lookup`: repetitions in the text so far; `draft`: the draft model; `off`: nothing
 * is drafted.
 */
export type SpeculationKind = 'off' | 'lookup' | 'draft'

/** What happens when a conversation is longer than the context. */
export interface Overflow {
  /**
   * `error`: the reply fails if the prompt is too long, and ends when the context is full. `shift`: the
   * oldest tokens are dropped until the context is half full, and the keys after them are rotated to their
   * new positions. Nothing is processed again, so replies differ from those of a model that read only the
   * remaining tokens. Default `error`.
   */
  readonly overflow?: 'error' | 'shift' | undefined
  /**
   * Number of tokens at the beginning that are never dropped, at most half of the context. Models depend on
   * the first few tokens (attention sinks). Default: the length of the system text, at least 4.
   */
  readonly keep?: number | undefined
}

/** The page's part of a saved session, for restoring it. */
export interface SavedSession extends Overflow {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly contextUsed: number
}

export interface GenerateRequest extends Overflow {
  /** The page's number of the session whose state is reused and kept. Absent: no state is kept. */
  readonly session?: number | undefined
  readonly prompt: Prompt
  /** Without a constraint. */
  readonly options: DecodeOptions
  /** The constraint on the reply, as its page has written it. */
  readonly constraint?: WrittenGrammar | undefined
  /** The constraint on what follows the marker of a call. */
  readonly calls?: WrittenGrammar | undefined
}

/** To the worker, on a generation's port. */
export type StreamCommand = { readonly type: 'credit'; readonly count: number } | { readonly type: 'cancel' }
/** From the worker, on a generation's port. */
export type StreamReport =
  | { readonly type: 'chunk'; readonly chunk: TextChunk }
  /** `contextUsed`: number of tokens that the session holds now. */
  | { readonly type: 'end'; readonly outcome: Outcome; readonly contextUsed: number }
  | { readonly type: 'failed'; readonly failure: WireFailure }

/** An error in the form that crosses between threads. */
export type WireFailure =
  | { readonly type: 'halfbyte'; readonly error: WireError }
  /** An abort or another DOMException, identified by its name. */
  | { readonly type: 'dom'; readonly name: string; readonly message: string }
  | {
      readonly type: 'other'
      readonly name: string
      readonly message: string
      readonly stack?: string | undefined
    }

/**
 * The engine's calls. Over Comlink every result is a promise; in the same thread the object can be called
 * directly.
 */
export interface EngineService {
  /**
   * Succeeds once for each service. Reports to `port`. Throws typed errors; after an error, load may be tried
   * again.
   */
  load(request: LoadRequest, port: MessagePort): Promise<EngineInfo>
  /** What a load would need and be granted. The command `abort` aborts it. */
  probe(request: ProbeRequest, port: MessagePort): Promise<ProbeReport>
  /**
   * Starts immediately, or when the session's turn comes. All of its reports, including errors, go to
   * `port`.
   */
  generate(request: GenerateRequest, port: MessagePort): void
  countTokens(prompt: Prompt): number | Promise<number>
  /** Ids of plain text, as a completion would read it. */
  tokenize(text: string): readonly number[]
  /** Text of ids. Throws `format` for an id outside the vocabulary. */
  detokenize(ids: readonly number[]): string
  /** The command `abort` aborts the work, and the call rejects. */
  score(prompt: string, continuations: readonly string[], port: MessagePort): Promise<readonly Score[]>
  embed(texts: readonly string[], options: EmbedOptions, port: MessagePort): Promise<readonly Float32Array[]>
  memory(): MemoryUse
  /** Gives session `to` the state of session `from` without copying it. Waits for the turn of `from`. */
  fork(from: number, to: number): Promise<void>
  /**
   * A file of a session's state, with `extra`, which is plain JSON. Waits for its turn. `abort` works until
   * it is written.
   */
  save(session: number, extra: SavedSession, port: MessagePort): Promise<Blob>
  /**
   * Stores the same file on this device and replaces a file of that name. Waits for its turn. Throws
   * `storage-full`, or `unsupported` if nothing can be stored here.
   */
  store(session: number, name: string, extra: SavedSession, port: MessagePort): Promise<StoredSession>
  /**
   * Fills `session` from a file or from a stored name. Throws `format`, `integrity`, `unsupported`,
   * `context-overflow` or `out-of-memory`.
   */
  restore(session: number, file: Blob | string, port: MessagePort): Promise<SavedSession>
  /** Ends a session and frees its state. Waits for its turn. */
  close(session: number): Promise<void>
  /** Cancels everything and frees the model. */
  dispose(): Promise<void>
}
