// The public types: the records and interfaces that a caller of Halfbyte sees.
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { StoredSession } from '../../core/store/device/sessions.ts'
import type { Hub, RepoAddress } from '../../core/store/hub.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { Message, Overflow, PictureSource, Tool, ToolCall } from '../types/conversation.ts'
import type { LoadProgress } from '../types/model.ts'
import type { DecodeOptions, Outcome, PrefillProgress, TextChunk, Usage } from '../types/reply.ts'

export { SAMPLER_DEFAULTS, type SamplerOptions } from '../../core/generate/sampler/sampler-options.ts'
export type { WeightPolicy } from '../../core/weights/policy.ts'
export type { Message, PictureSource, Tool, ToolCall } from '../types/conversation.ts'
export type { GraphOffer, LoadProgress, MemoryUse, ModelInfo, ProbeReport, Smaller } from '../types/model.ts'
// The other public types. Adapters import public types only from here.
export type {
  FinishReason,
  PrefillProgress,
  ScoredToken,
  SpeculationKind,
  TextChunk,
  Timings,
  TokenLogprob,
  TokenLogprobs,
  Usage,
} from '../types/reply.ts'

/**
 * Where to load a model from. One of:
 * - an address: of a `.gguf` file, or of a folder of safetensors if it ends with a slash
 * - files that the user picked, or a Blob or the bytes of one file
 * - a repository of the Hugging Face hub, as an object or as `owner/name[:file][@revision]`
 *
 * A string of the form `owner/name` means a repository, unless it ends like a model file. Write
 * `./owner/name` for an address relative to the page, and `hf:owner/name.gguf` for a repository whose name
 * ends like a model file.
 */
export type ModelSource = string | URL | Blob | ArrayBuffer | Uint8Array | readonly File[] | RepoAddress

/**
 * A part of a message: a text, or an image as a file (PNG, JPEG, WebP), as its bytes or as its pixels.
 */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: PictureSource }

/** A message as a caller writes it. A list of parts becomes a text and `images`. */
export interface SaidMessage extends Omit<Message, 'content'> {
  /** The text, or its parts in order. */
  readonly content: string | readonly ContentPart[]
}

/**
 * Options of `Engine.load`; every key is optional. An unknown key or an invalid value rejects the load with
 * `unsupported`.
 */
export interface LoadOptions {
  /** Aborting rejects the load with the signal's reason and ends its worker. Default: none. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called as the load progresses. If it throws, or returns a promise that rejects, the load rejects with
   * that error and ends its worker. Default: none.
   */
  readonly onProgress?: ((event: LoadProgress) => void) | undefined
  /**
   * A smaller model with the same vocabulary, loaded into the same memory. It drafts several tokens, and the
   * model checks them in one step: replies are the same and arrive sooner. Rejects with `unsupported` if the
   * vocabularies differ. Default: none.
   */
  readonly draft?: ModelSource | undefined
  /**
   * The model's vision tower: an mmproj file in GGUF, or a safetensors folder that includes one. Messages may
   * then contain images (docs/guide/models.md#images). Rejects with `architecture` if the tower belongs to
   * another model, and with `unsupported` if it is not supported. Default: the one in the model's safetensors
   * folder; among picked files, a GGUF with `mmproj` in its name; otherwise none.
   */
  readonly vision?: ModelSource | undefined
  /**
   * Maximum number of tiles along the longer side of an image, for towers that split images into tiles.
   * Fewer tiles are processed faster, take less of the context, and show less detail; with 1 the model reads
   * the whole image as one tile. Qwen2-VL and Qwen2.5-VL read images whole: with 1 as at most 256 tokens,
   * with 2 as at most 1,024, which is the maximum. Default: the tower's own number, 4 for SmolVLM and 2 for
   * Qwen2-VL.
   */
  readonly imageTiles?: number | undefined
  /**
   * A chat template in Jinja that replaces the model's own. Rejects with `format` if it cannot be read.
   * Default: the model's own.
   */
  readonly chatTemplate?: string | undefined
  /**
   * LoRA adapters to merge into the model while it loads: GGUF files, or PEFT folders. `scale` multiplies the
   * adapter's own scale; default 1. Quantised matrices that an adapter changes are stored in 8 bits. Rejects
   * with `architecture` if an adapter belongs to another model. Default: none.
   */
  readonly lora?: readonly { readonly source: ModelSource; readonly scale?: number | undefined }[] | undefined
  /** Number of compute threads, at most 32 or four per core, whichever is more. Default `auto`: measured. */
  readonly threads?: number | 'auto' | undefined
  /**
   * How threads share the work. `shared`: they share one memory; the page must be cross-origin isolated.
   * `shards`: each worker has its own memory and part of the model. With `shards`, logits differ in their
   * last bits from the other pools, and from load to load unless `threads` is a number. `single`: one thread.
   * Default `auto`: `shared` if the page allows it, else `shards`, else `single`.
   */
  readonly pool?: PoolKind | 'auto' | undefined
  /**
   * Maximum number of tokens in a conversation. Memory use grows as a conversation fills it. Default: the
   * model's trained length, at most 4096.
   */
  readonly contextLength?: number | undefined
  /**
   * Maximum bytes for the state of all conversations together, including retained state of conversations that
   * have ended. When it is exhausted, state that no conversation uses is evicted first; after that, a reply
   * that needs more fails with `out-of-memory`; other conversations and existing state are not affected.
   * Default: as much as the memory allows.
   */
  readonly stateBytes?: number | undefined
  /**
   * Precision of the weights. `w4_channel` is `w4` with one scale per output and one scale per row of
   * activations: faster and less exact. Default `auto`: the file's own precision.
   */
  readonly weights?: WeightPolicy | undefined
  /**
   * How the conversation's keys and values are stored. `int8` has a scale and an offset per position and KV
   * head; it takes about a third of the memory of `f32` and is faster in long contexts. `fp8` is for values
   * only. Default: `f32` for both, which is exact.
   */
  readonly kvCache?: Partial<KvFormat> | undefined
  /**
   * Where downloads are stored. `opfs`: on this device, in the origin private file system, and later a pack
   * beside each GGUF, from which it loads sooner; `files`: the same without packs; `none`: nowhere. Default
   * `opfs`.
   */
  readonly cache?: 'opfs' | 'files' | 'none' | undefined
  /**
   * The folder in which Node stores downloads; `false` stores none, like `cache: 'none'`. Rejects with
   * `unsupported` if this folder cannot be written. Default: `HALFBYTE_HOME`, or `halfbyte` in the platform's
   * folder for caches. No effect in pages.
   */
  readonly store?: string | false | undefined
  /**
   * Which ONNX graph to load if a model has several, by precision and named as in transformers.js: `q4` loads
   * `onnx/model_q4.onnx`. Rejects if there is no such graph. Default: the model's safetensors; without them,
   * the first graph that exists of `q8`, `q4`, `q4f16`, `int8`, `uint8`, `bnb4`, `fp16` and `fp32`.
   */
  readonly dtype?: GraphDtype | undefined
  /**
   * The family to load the model as, such as `llama`, for an unknown architecture that computes the same
   * function. This cannot be verified. Rejects if the model's settings or tensors do not match the family,
   * and for ONNX. Default: as stated in the model's files.
   */
  readonly architecture?: string | undefined
  /** The hub's address, and a token for private repositories. Default: Hugging Face, without a token. */
  readonly hub?: Hub | undefined
  /** Which kernels to run. Default `auto`: relaxed SIMD if the browser supports it, otherwise `simd128`. */
  readonly build?: Build | 'auto' | undefined
  /**
   * Addresses of the package's own files, for a strict Content Security Policy or a CDN. Relative addresses
   * are resolved against the page. Default: the files that came with the package.
   */
  readonly assets?: Assets | undefined
}

/** Options of `Engine.prepare`. */
export type PrepareOptions = Pick<LoadOptions, 'assets'>

/** Options of `Engine.probe`: those of the planned load, and a limit. */
export interface ProbeOptions extends Omit<LoadOptions, 'onProgress'> {
  /**
   * Maximum bytes of memory to assume, even if the browser would grant more. Default: nine tenths of what a
   * killed load needed (see `interruptedLoads`), otherwise no limit.
   */
  readonly limitBytes?: number | undefined
}

/** Where the package's own files are. */
export interface Assets {
  /** Script of the engine worker. Default: `workers/engine.worker.js` of the package. */
  readonly worker?: string | URL | undefined
  /** Script of the compute workers. Default: `workers/compute.worker.js` of the package. */
  readonly compute?: string | URL | undefined
  /** Folder of the `halfbyte-*.wasm` modules. Default: `wasm/` of the package. */
  readonly wasm?: string | URL | undefined
}

/** Options of long-running calls other than loading and generating. */
export interface AbortOptions {
  /** Aborting rejects at once with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** Options of `Engine.scoreTokens`. */
export interface ScoreTokensOptions {
  /** The number of most likely tokens to list for each token, 0 to 100. Default 0. */
  readonly top?: number | undefined
}

/** The second argument of a tool's function. */
export interface ExecuteOptions {
  /** The id of the call, unique in the conversation. */
  readonly callId: string
  /** Aborts when the reply ends early or the tool times out. */
  readonly signal: AbortSignal
}

/** A function that the model may call, with or without its implementation. */
export interface RunnableTool extends Tool {
  /**
   * Runs a call. The arguments match `parameters`; calls with invalid arguments are answered with an error.
   * The model reads the return value: a string unchanged, other values as JSON, and `done` for undefined. If
   * it throws, the model gets `error: MESSAGE`, and the reply continues. Must not wait for its own session.
   * Default: none; the caller answers the calls.
   */
  execute?(args: { readonly [name: string]: unknown }, options: ExecuteOptions): unknown
  /** Maximum milliseconds that `execute` may take; `Infinity` for no limit. Default: 60,000. */
  readonly timeoutMs?: number | undefined
  /**
   * Maximum number of characters of a result that the model reads. A line is added if the result is longer.
   * Default: 8,000.
   */
  readonly maxResultLength?: number | undefined
}

/** A call whose tool has `execute`. */
export interface ToolRun extends ToolCall {
  /** Whether the function is running, has returned, or has failed or timed out. */
  readonly state: 'running' | 'done' | 'failed'
  /** What the model reads: the result, or `error: MESSAGE`. Absent while it runs. */
  readonly result?: string | undefined
  /** The return value of `execute`, if it has finished. */
  readonly value?: unknown
  /** If it failed: the value that `execute` threw, a TimeoutError, or a HalfbyteError about the arguments. */
  readonly error?: unknown
}

/** A piece of a reply, or a call that started or ended. */
export interface ReplyChunk extends TextChunk {
  /** The call; `text` is then empty. Each call is reported twice: when it starts and when it ends. */
  readonly toolRun?: ToolRun | undefined
}

/** One of the model's replies in a generation that runs tools. */
export interface ReplyStep extends Outcome {
  /** Calls of this reply that were run, in order. */
  readonly toolRuns: readonly ToolRun[]
}

/**
 * Options of one reply; every key is optional. A number outside its range rejects the generation with
 * `unsupported`.
 */
export interface GenerateOptions extends Omit<DecodeOptions, 'processors'> {
  /**
   * Addresses of modules that change the logits, in the order in which they run. Relative addresses are
   * resolved against the page. The modules are imported in the engine's worker, so they cannot reach the
   * page. The default export of each is a `LogitProcessorFactory`. Default: none.
   */
  readonly processors?: readonly (string | URL)[] | undefined
  /** Aborting rejects the generation with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
  /**
   * Called after each step of reading the prompt except the last, so never for a prompt that fits in a single
   * step. If it throws, the generation rejects with its error. Default: none.
   */
  readonly onPrefill?: ((progress: PrefillProgress) => unknown) | undefined
  /**
   * Functions that the model may ask to call. The chat template tells the model about them; if it cannot, the
   * system text does. Only for `send`, `edit` and `regenerate`. Calls of tools with `execute` are run, and
   * the reply continues from their results. Other calls end the reply and are in the result's `toolCalls`;
   * answer them with messages of the role `tool`. Default: none.
   */
  readonly tools?: readonly RunnableTool[] | undefined
  /**
   * Maximum number of model replies if tools have `execute`, 2 to 100. The last reply is generated
   * without tools, so that it is an answer. Default: 6.
   */
  readonly maxSteps?: number | undefined
  /**
   * The beginning of the reply, which the model continues. Only for `send`, `edit` and `regenerate`. The
   * result's text is only the continuation; the message in the session has both. `regenerate({ prefix })`
   * with the last reply's text continues a reply that was cut short, without reading it again. Default:
   * empty.
   */
  readonly prefix?: string | undefined
  /**
   * The beginning of a reasoning model's thought. Without `prefix` the reply continues inside the thought, so
   * `regenerate({ reasoningPrefix })` with the last reply's `reasoning` continues a thought that was cut off;
   * with `prefix`, the thought is complete. The result's `reasoning` is only the continuation; the message in
   * the session has both. Models that do not think ignore it. Only for `send`, `edit` and `regenerate`.
   * Default: empty.
   */
  readonly reasoningPrefix?: string | undefined
  /**
   * Further variables of the chat template, such as `{ enable_thinking: false }` or `{ reasoning_effort:
   * 'low' }`: JSON values by name. The model's card lists the names that its template reads; others have no
   * effect. They override the session's variables by name. Only for `send`, `edit` and `regenerate`. Default:
   * none.
   */
  readonly templateArguments?: { readonly [name: string]: unknown } | undefined
}

/** What this page can run. */
export interface Support {
  /** Whether a model can be loaded here. */
  readonly supported: boolean
  /** What is missing, and what to do; undefined if `supported` is true. */
  readonly reason: string | undefined
  /** The kernels that `build: 'auto'` chooses; undefined if WebAssembly has no SIMD here. */
  readonly build: Build | undefined
  /** Whether threads can share memory here. In browsers the page must be cross-origin isolated. */
  readonly sharedMemory: boolean
  /** Number of logical cores; 1 if the browser does not say. */
  readonly cores: number
}

/** How a reply ended. */
export interface GenerationResult extends Outcome {
  /**
   * The model's replies one by one, if a tool has `execute`; absent otherwise. `text` and `reasoning` then
   * combine those of all steps with an empty line in between, as streamed. `usage` and `timings` are sums,
   * and `toolCalls` are the calls that were not run.
   */
  readonly steps?: readonly ReplyStep[] | undefined
  /** The value that was passed to `cancel`; undefined if the reply was not cancelled. */
  readonly reason?: unknown
}

/**
 * A reply in progress. It starts at once, or when its session's turn comes. Iterate it, or await `text()` or
 * `result`. If it is only iterated, it runs at most 32 chunks ahead of the loop. There is only one iteration:
 * a second loop continues where the first stopped. Leaving the loop cancels the reply.
 */
export interface Generation extends AsyncIterable<ReplyChunk> {
  /** The whole reply. If it was cancelled, the text up to then. Rejects like `result`. */
  text(): Promise<string>
  /**
   * How the reply ended. Rejects with the signal's reason if it aborts, or with a HalfbyteError if the
   * reply failed. If you only use the loop, this rejection is not reported as unhandled.
   */
  readonly result: Promise<GenerationResult>
  /**
   * Ends the reply: `result` resolves with the finishReason `cancelled` and the text so far. Does nothing
   * after the end.
   */
  cancel(reason?: unknown): void
}

/** Options of `Session.prefill`; every key is optional. */
export interface PrefillOptions
  extends Pick<GenerateOptions, 'signal' | 'onPrefill' | 'tools' | 'templateArguments' | 'priority'> {
  /**
   * With `overflow: 'shift'`: number of tokens that must fit in the context after the conversation, for the
   * next message and its answer. If fewer are free, the oldest are dropped now. Default: 1.
   */
  readonly room?: number | undefined
}

/** What `Session.prefill` has read, in tokens. */
export interface PrefillResult extends Pick<Usage, 'promptTokens' | 'cachedTokens' | 'droppedTokens'> {
  /** False if a reply interrupted it. The state of what it has read is kept. */
  readonly isComplete: boolean
}

/** Options of a conversation; every key is optional. */
export interface SessionOptions extends Overflow {
  /** System prompt, placed before the messages in every turn. Default: none. */
  readonly system?: string | undefined
  /** The conversation so far. Default: empty. */
  readonly messages?: readonly SaidMessage[] | undefined
  /**
   * Further variables of the chat template, such as `{ enable_thinking: false }` or `{ reasoning_effort:
   * 'low' }`: JSON values by name. The model's card lists the names that its template reads; others have no
   * effect. They apply to every reply, and are not saved with the session. Default: none.
   */
  readonly templateArguments?: { readonly [name: string]: unknown } | undefined
}

/** A conversation. Its state stays in the engine, so each turn processes only new tokens. */
export interface Session extends AsyncDisposable {
  /**
   * The conversation without its system text. A message appears when its turn starts; a reply appears when
   * its generation resolves, even if it was cancelled. A generation that rejects leaves the messages as they
   * were before it.
   */
  readonly messages: readonly Message[]
  /** Number of tokens of this session whose state the engine holds after its last generation. */
  readonly contextUsed: number
  /**
   * Adds a user message, or several messages, and generates a reply. If another generation of this session is
   * running, this one waits for it.
   */
  send(input: string | SaidMessage | readonly SaidMessage[], options?: GenerateOptions): Generation
  /**
   * Replaces the text of message `index`, which keeps its images, drops the messages after it, and generates
   * a reply. The generation rejects with `unsupported` if there is no such message.
   */
  edit(index: number, content: string, options?: GenerateOptions): Generation
  /** Drops the last reply and generates another. */
  regenerate(options?: GenerateOptions): Generation
  /**
   * Reads the conversation without answering it, so that the next reply reads only what is new. Meant for
   * idle time: a reply that is requested meanwhile interrupts it and continues from there. Give the same
   * tools and template arguments as for the reply. `priority` is `background` by default. Rejects with the
   * signal's reason, and with `context-overflow` or `out-of-memory` like a reply.
   */
  prefill(options?: PrefillOptions): Promise<PrefillResult>
  /**
   * Replaces the conversation. State for the part that both conversations share is kept. With `overflow:
   * 'shift'`, so is the state of later messages if the oldest ones, after system messages, are removed: it is
   * moved, as when the session drops them itself. Throws `unsupported` while a generation runs.
   */
  setMessages(messages: readonly SaidMessage[]): void
  /** Creates a second session with the same conversation and state. Waits for this session's turn. */
  fork(options?: AbortOptions): Promise<Session>
  /**
   * A file of the conversation and its state, for `Engine.restoreSession`. A restored session does not read
   * its prompt again, even after the page was reloaded. Waits for this session's turn. Rejects with
   * `out-of-memory` if there is no memory for the state of 64 tokens.
   */
  save(options?: AbortOptions): Promise<Blob>
  /**
   * Stores the file of `save` on this device under a name, for `Engine.restoreSession(name)`. It replaces a
   * file with the same name once it is complete. `storedSessions` lists stored sessions; `unstoreSession`
   * removes one. Rejects with `storage-full`, `out-of-memory`, or `unsupported` if nothing can be stored
   * here.
   */
  store(name: string, options?: AbortOptions): Promise<StoredSession>
  /** Cancels running and waiting generations and frees the state. */
  dispose(): Promise<void>
}
