// Protocol. In: nothing. Out: everything that crosses between a page and its engine worker, as types.
//
//   page                                                worker
//   EngineService, through Comlink                      load, probe, count, fork, save, store, restore, close, memory, dispose
//   LoadCommand     --- one port per load, probe ... ---->  abort
//                   <---------------------------------  LoadReport
//   StreamCommand   --- one port per generation ----->  credit, cancel
//                   <---------------------------------  StreamReport: chunks, then one end or one failure
//
// A stream may be STREAM_CREDITS (stream.ts) chunks ahead of its reader; each chunk that is taken returns one credit.
// Whoever sends the last report closes its port; the other side closes when the report arrives.
import type { WireError } from '../../base/errors.ts'
import type { EmbedOptions } from '../../evaluate/embed.ts'
import type { Score } from '../../evaluate/score.ts'
import type { SamplerOptions } from '../../generate/sampler/options.ts'
import type { Priority } from '../../generate/schedule/work.ts'
import type { KvFormat } from '../../graph/ir.ts'
import type { Build } from '../../runtime/features.ts'
import type { PoolKind } from '../../runtime/pool.ts'
import type { StoredSession } from '../../store/device/sessions.ts'
import type { Hub } from '../../store/hub.ts'
import type { ProbeReport } from './probe-protocol.ts'

/** One turn of a conversation. */
export interface Message {
  /** `tool`: what a tool answered. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string
  /** Of an assistant: the calls it asked for. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  /** Of a tool: the `id` of the call that this answers. */
  readonly toolCallId?: string | undefined
  /** Of a tool: its name. */
  readonly name?: string | undefined
}

/** A function that the model may ask to be called. */
export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** A JSON Schema of the arguments, an object's. Default: no arguments. */
  readonly parameters?: object | undefined
}

/** A call that the model asks for. The arguments are an object; nothing says that they fit the tool's schema. */
export interface ToolCall {
  /** Unlike that of any other call of the conversation: nine letters and digits. */
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
}

/** What a model is. */
export interface ModelInfo {
  /** The model's own name, or its file's. */
  readonly id: string
  /** e.g. `llama` */
  readonly architecture: string
  /** Weights, tied ones counted once. */
  readonly parameters: number
  /** Most tokens a conversation may hold here: the model's own limit or the smaller one asked for. */
  readonly contextLength: number
}

/** What an engine became when it loaded. */
export interface EngineInfo {
  readonly model: ModelInfo
  /** What drafts for it, when that was loaded too. */
  readonly draft?: ModelInfo | undefined
  /** Threads that compute, the engine worker included. */
  readonly threads: number
  readonly pool: PoolKind
  /** Why it runs on one thread where more were wanted. */
  readonly note?: string | undefined
  readonly build: Build
}

/** Linear memory, by what it is for, in bytes. */
export interface MemoryUse {
  readonly weightsBytes: number
  /** State cache: keys and values of every live conversation. */
  readonly stateBytes: number
  /** The same of conversations that have ended, kept for others that begin alike; given up when room is needed. */
  readonly keptBytes: number
  /** Activations and plan. */
  readonly arenaBytes: number
  /** All of linear memory, free room included. */
  readonly totalBytes: number
}

/** Bytes; `total` is 0 when the server does not say. */
export interface DownloadProgress {
  readonly phase: 'download'
  readonly loaded: number
  readonly total: number
  /** True when every byte came from this device. */
  readonly cached: boolean
  /** Bytes that came per second of late; absent before anything came. */
  readonly bytesPerSecond?: number
  /** Seconds that the rest will take at that rate; absent where that is unknown. */
  readonly secondsLeft?: number
}

/** How far a load is. Phases come in this order; `convert` runs beside `download`. */
export type LoadProgress =
  | DownloadProgress
  /** Tensors. */
  | { readonly phase: 'convert'; readonly done: number; readonly total: number }
  | { readonly phase: 'compile' | 'warmup' }

/** Which precision weights are computed in; `auto` keeps the file's own. */
export type WeightPolicy = 'auto' | 'f32' | 'w8' | 'w4' | 'w4_channel'

export interface LoadRequest {
  /** An absolute address, or a model's files. */
  readonly source: string | readonly File[]
  /** The same of a smaller model that drafts for it. */
  readonly draft?: string | readonly File[] | undefined
  /** LoRA adapters, and how much of each is added. */
  readonly lora?: readonly { readonly source: string | readonly File[]; readonly scale: number }[] | undefined
  readonly threads: number | 'auto'
  /** Default `auto`. */
  readonly pool?: PoolKind | 'auto' | undefined
  readonly build: Build | 'auto'
  readonly contextLength?: number | undefined
  /** Most bytes of state. */
  readonly stateBytes?: number | undefined
  readonly weights: WeightPolicy
  /** Default: f32, exactly. */
  readonly kvCache?: KvFormat | undefined
  readonly cache: 'opfs' | 'none'
  readonly hub?: Hub | undefined
  /** Absolute addresses of files that lie elsewhere: the folder of the wasm modules, the compute workers' script. */
  readonly assets: { readonly wasm?: string | undefined; readonly compute?: string | undefined }
}

/** A load that is asked about and not made. */
export interface ProbeRequest extends LoadRequest {
  /** Memory that is not to be exceeded, in bytes, whatever would be granted. */
  readonly limitBytes?: number | undefined
}

/** To the worker, on the port of anything long that is no generation. */
export type LoadCommand = { readonly type: 'abort' }
/** From the worker, on a load's port. */
export type LoadReport =
  | { readonly type: 'progress'; readonly progress: LoadProgress }
  /** Once, before memory is taken: what the model needs with a full context. */
  | { readonly type: 'need'; readonly neededBytes: number }

/** What to continue: a conversation through the model's template, or bare text. */
export type Prompt =
  | {
      readonly type: 'messages'
      readonly messages: readonly Message[]
      readonly tools?: readonly Tool[] | undefined
    }
  | { readonly type: 'text'; readonly text: string }

export interface DecodeOptions extends SamplerOptions {
  /**
   * Modules that change the logits, in order: absolute addresses, imported where the model runs. Each one's default
   * export is a `LogitProcessorFactory`. Default: none.
   */
  readonly processors?: readonly string[] | undefined
  /** Most tokens to generate. Default: until the context is full; where the context is shifted, as many as it holds. */
  readonly maxTokens?: number | undefined
  /** Texts that end the reply; they never appear in it. Default: none. */
  readonly stop?: readonly string[] | undefined
  /**
   * A JSON Schema: the reply is one JSON value that it allows. At most one of `schema`, `grammar`, `pattern` and `choices`
   * can be given. With one of them `finishReason` is `stop` only when the reply is complete; one that was cut off, by
   * `maxTokens` or by a stop text, has `length`. What cannot be honoured rejects with `unsupported`. Default: none.
   */
  readonly schema?: object | boolean | undefined
  /** A grammar in llama.cpp's GBNF: the reply is what its rule `root` matches. Default: none. */
  readonly grammar?: string | undefined
  /** A regular expression that the whole reply matches; no lookaround, no back-references. Default: none. */
  readonly pattern?: string | undefined
  /** The reply is one of these texts. Default: none. */
  readonly choices?: readonly string[] | undefined
  /**
   * What `cfgScale` guides away from: read in place of a conversation's system text, or in place of bare text. Default '':
   * the conversation without its system text, or the last token of bare text. Guidance runs two sequences for one reply.
   */
  readonly negativePrompt?: string | undefined
  /** How tokens are drafted that are then checked several in a step; the reply is the same. Default: `draft` if a draft model is loaded, else `lookup`. */
  readonly speculation?: SpeculationKind | undefined
  /** `background` gives way: while foreground replies run, it slows them by a twentieth at most. Default `foreground`. */
  readonly priority?: Priority | undefined
}

/** From the text's own repetitions, by the draft model that was loaded, or not at all. */
export type SpeculationKind = 'off' | 'lookup' | 'draft'

/** What happens when a conversation is longer than the context. */
export interface Overflow {
  /**
   * `error`: the reply fails, or ends where the context ends. `shift`: the oldest tokens are dropped, down to half of the
   * context, and the keys of those behind them turned to their new places. The model goes on without reading anything
   * again, but what it says is not what it would have said had it read only what is left. Default `error`.
   */
  readonly overflow?: 'error' | 'shift' | undefined
  /**
   * Tokens at the beginning that are never dropped, at most half of the context: models lean on the first few. Default:
   * the system text, or 4.
   */
  readonly keep?: number | undefined
}

/** What the page keeps of a session, to find it again. */
export interface SavedSession extends Overflow {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly contextUsed: number
}

export interface GenerateRequest extends Overflow {
  /** The page's number of the session whose state to reuse and keep; absent: nothing is kept. */
  readonly session?: number | undefined
  readonly prompt: Prompt
  readonly options: DecodeOptions
}

/** To the worker, on a generation's port. */
export type StreamCommand = { readonly type: 'credit'; readonly count: number } | { readonly type: 'cancel' }
/** From the worker, on a generation's port. */
export type StreamReport =
  | { readonly type: 'chunk'; readonly chunk: TextChunk }
  /** `contextUsed`: tokens that the session holds now. */
  | { readonly type: 'end'; readonly outcome: Outcome; readonly contextUsed: number }
  | { readonly type: 'failed'; readonly failure: WireFailure }

/** A piece of a reply: whole code points, never empty. */
export interface TextChunk {
  readonly text: string
  /** Tokens decoded since the chunk before. */
  readonly tokens: number
  /** One for each of these tokens, when the option asks for them. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
}

/** A token and the natural logarithm of its probability in the model's own distribution. */
export interface TokenLogprob {
  readonly id: number
  /** What it writes; half a character reads as U+FFFD. */
  readonly text: string
  readonly logprob: number
}

/** A token that was generated, and the likeliest there were, best first. */
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[]
}

export interface Usage {
  /** Tokens of the prompt, cached ones included. */
  readonly promptTokens: number
  /** Tokens of the prompt whose state was still there, so that they cost nothing. */
  readonly cachedTokens: number
  /** Tokens of the prompt that had no place in the context; 0 unless it is shifted. */
  readonly droppedTokens: number
  /** Tokens generated, the end-of-turn token not counted. */
  readonly completionTokens: number
  /** Drafts that were checked, and those that became tokens; 0 for a reply that was cancelled. */
  readonly draftedTokens: number
  readonly acceptedTokens: number
}

export interface Timings {
  /** From the start of this generation's turn to its first token; includes waiting for other sequences. */
  readonly firstTokenMs: number
  /** Time in prefill. */
  readonly prefillMs: number
  /** Time from the first token to the last. */
  readonly decodeMs: number
  /** Uncached prompt tokens by prefillMs; 0 when there were none. */
  readonly prefillTokensPerSecond: number
  /** Tokens after the first by decodeMs; 0 when there were none. */
  readonly decodeTokensPerSecond: number
}

/** Why a reply ended: the model or a stop text, a limit on tokens, the caller. */
export type FinishReason = 'stop' | 'length' | 'cancelled'

/** How a generation ended. */
export interface Outcome {
  readonly text: string
  /** Ids as they were generated, the end-of-turn token not included. */
  readonly tokens: readonly number[]
  /** One for each of `tokens`, when the option asks for them. */
  readonly logprobs?: readonly TokenLogprobs[] | undefined
  readonly finishReason: FinishReason
  /** The calls the model asks for, which are no part of `text`; absent when no tools were given. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  readonly usage: Usage
  readonly timings: Timings
  /** What the draws were seeded with, to get the same text again; absent when it was cancelled before its turn. */
  readonly seed?: number | undefined
}

/** An error on its way between threads. */
export type WireFailure =
  | { readonly type: 'halfbyte'; readonly error: WireError }
  /** An abort or another DOMException, by its name. */
  | { readonly type: 'dom'; readonly name: string; readonly message: string }
  | {
      readonly type: 'other'
      readonly name: string
      readonly message: string
      readonly stack?: string | undefined
    }

/** What the worker offers. Over Comlink every answer is a promise; in one thread it can be used as it is. */
export interface EngineService {
  /** Once per service. Reports to `port`. Throws typed errors; after one, load may be tried again. */
  load(request: LoadRequest, port: MessagePort): Promise<EngineInfo>
  /** What a load would need and get. `abort` aborts it. */
  probe(request: ProbeRequest, port: MessagePort): Promise<ProbeReport>
  /** Starts at once, or when the session's turn comes. Everything about it, errors included, goes to `port`. */
  generate(request: GenerateRequest, port: MessagePort): void
  countTokens(prompt: Prompt): number
  /** Ids of bare text, as a completion of it would be read. */
  tokenize(text: string): readonly number[]
  /** Text of ids. Throws `format` for one that is not the model's. */
  detokenize(ids: readonly number[]): string
  /** `abort` aborts what is under way; the call then rejects. */
  score(prompt: string, continuations: readonly string[], port: MessagePort): Promise<readonly Score[]>
  embed(texts: readonly string[], options: EmbedOptions, port: MessagePort): Promise<readonly Float32Array[]>
  memory(): MemoryUse
  /** Gives session `to` the state of session `from`, without copying it; waits for `from`'s turn. */
  fork(from: number, to: number): Promise<void>
  /** A file of a session's state with `extra`, which is plain JSON; waits for its turn. `abort` aborts it until it is written. */
  save(session: number, extra: SavedSession, port: MessagePort): Promise<Blob>
  /**
   * Keeps the same on this device, in place of what had that name; waits for its turn. Throws `storage-full`, or `unsupported` where
   * nothing can be stored.
   */
  store(session: number, name: string, extra: SavedSession, port: MessagePort): Promise<StoredSession>
  /** Makes `session` what was saved, or stored under a name. Throws `format`, `integrity`, `unsupported`, `context-overflow` or `out-of-memory`. */
  restore(session: number, file: Blob | string, port: MessagePort): Promise<SavedSession>
  /** Ends a session and frees its state; waits for its turn. */
  close(session: number): Promise<void>
  /** Cancels everything and frees the model. */
  dispose(): Promise<void>
}
