// Public types. In: nothing. Out: the records and interfaces that a caller of Halfbyte sees.
import type {
  DecodeOptions,
  LoadProgress,
  Message,
  Outcome,
  Overflow,
  TextChunk,
  Tool,
  WeightPolicy,
} from '../engine/wire/protocol.ts'
import type { KvFormat } from '../graph/ir.ts'
import type { Build } from '../runtime/features.ts'
import type { PoolKind } from '../runtime/pool.ts'
import type { StoredSession } from '../store/device/sessions.ts'
import type { Hub, RepoAddress } from '../store/hub.ts'

/**
 * Where a model is: an address (a `.gguf`, or a folder of safetensors when it ends with a slash), files that the
 * person picked, or a repository of the Hugging Face hub, also written `owner/name[:file][@revision]`. Two plain names with
 * one slash between them are such a repository, unless they end like a model file; `./owner/name` is an address beside the
 * page, `hf:owner/name.gguf` a repository whatever it ends with.
 */
export type ModelSource = string | URL | File | readonly File[] | RepoAddress

export interface LoadOptions {
  /** Aborting rejects the load with the signal's reason and ends its worker. */
  readonly signal?: AbortSignal | undefined
  readonly onProgress?: ((event: LoadProgress) => void) | undefined
  /**
   * A smaller model of the same vocabulary, loaded into the same memory: it drafts tokens that the model checks several at once,
   * so that replies are the same and sooner there. Rejects with `unsupported` when the vocabularies differ. Default: none.
   */
  readonly draft?: ModelSource | undefined
  /**
   * LoRA adapters to merge into the model while it loads: GGUF files, or folders of PEFT. `scale`: how much of it is added, times
   * what the adapter says; default 1. Quantised matrices that one changes are stored in 8 bits. Rejects with `architecture` for
   * an adapter of another model. Default: none.
   */
  readonly lora?: readonly { readonly source: ModelSource; readonly scale?: number | undefined }[] | undefined
  /** Threads that compute. Default `auto`: measured. */
  readonly threads?: number | 'auto' | undefined
  /**
   * How threads share the work. `shared`: on one memory, for cross-origin isolated pages. `shards`: each holds a part of the
   * model; logits differ in their last bits, and from load to load unless `threads` is a number. Default `auto`: `shared` where the page may, else `shards`, else one thread
   * (`single`).
   */
  readonly pool?: PoolKind | 'auto' | undefined
  /** Most tokens a conversation may hold; memory grows towards it. Default: what the model was trained for, at most 4096. */
  readonly contextLength?: number | undefined
  /**
   * Most bytes of the state of all conversations together, what is kept of ended ones included. When it is used up, what no
   * conversation holds is given up first; then a reply fails with `out-of-memory`, alone, and what was there stays as it was.
   * Default: what the memory grants.
   */
  readonly stateBytes?: number | undefined
  /**
   * Precision of the weights. Default `auto`: the file's own. `w4_channel` is `w4` with one scale per output, and activations with one per
   * row: faster, and less exact.
   */
  readonly weights?: WeightPolicy | undefined
  /**
   * How the conversation's keys and values are stored. Default: both `f32`, exactly. `int8` (with a scale and an offset per
   * position and KV head) takes about a third of the memory and is faster in long contexts; `fp8` is for values only.
   */
  readonly kvCache?: Partial<KvFormat> | undefined
  /** Whether downloads are kept on this device. Default `opfs`. */
  readonly cache?: 'opfs' | 'none' | undefined
  /** Where the hub is, and a token for its private repositories. Default: Hugging Face, without one. */
  readonly hub?: Hub | undefined
  /** Which kernels to run. Default `auto`: relaxed SIMD where the browser has it. */
  readonly build?: Build | 'auto' | undefined
  /** Files to take from elsewhere, for a strict content policy or a CDN. Relative addresses are the page's. */
  readonly assets?: Assets | undefined
}

/** As for the load that is asked about. */
export interface ProbeOptions extends Omit<LoadOptions, 'onProgress'> {
  /** Memory that is not to be exceeded, in bytes, whatever would be granted. Default: nine tenths of what a killed load needed. */
  readonly limitBytes?: number | undefined
}

export interface Assets {
  /** Script of the engine worker. */
  readonly worker?: string | URL | undefined
  /** Script of the compute workers. */
  readonly compute?: string | URL | undefined
  /** Folder of the `halfbyte-*.wasm` modules. */
  readonly wasm?: string | URL | undefined
}

/** Of what may take long besides loading and generating. */
export interface AbortOptions {
  /** Aborting rejects at once with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** Every key is optional. A number outside its range rejects the generation with `unsupported`. */
export interface GenerateOptions extends Omit<DecodeOptions, 'processors'> {
  /**
   * Addresses of modules that change the logits, in order; relative ones are the page's. They are imported in the engine's
   * worker, so they see nothing of the page. Each one's default export is a `LogitProcessorFactory`. Default: none.
   */
  readonly processors?: readonly (string | URL)[] | undefined
  /** Aborting rejects the generation with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /**
   * Functions that the model may ask to be called, told to it by its chat template; only for `send`, `edit` and
   * `regenerate`. The result has `toolCalls`; answer them with messages of the role `tool`. Rejects with `unsupported` when
   * the template knows no tools. Default: none.
   */
  readonly tools?: readonly Tool[] | undefined
}

/** What this page can run. */
export interface Support {
  /** False where WebAssembly has no SIMD: no model can be loaded. */
  readonly supported: boolean
  /** The kernels that `build: 'auto'` takes. */
  readonly build: Build | undefined
  /** Whether threads can share memory here; in browsers the page must be cross-origin isolated. */
  readonly sharedMemory: boolean
  /** Logical cores. */
  readonly cores: number
}

export interface GenerationResult extends Outcome {
  /** What `cancel` was given. */
  readonly reason?: unknown
}

/**
 * A reply in the making. It starts at once, or when its session's turn comes; iterate it, or await `text()` or
 * `result`. When it is only iterated it stays at most 32 chunks ahead of the loop. There is one iteration: a second
 * loop goes on where the first stopped. Leaving the loop cancels it.
 */
export interface Generation extends AsyncIterable<TextChunk> {
  /** The whole reply, also when it was cancelled: then the text so far. */
  text(): Promise<string>
  /**
   * How it ended. Rejects with the signal's reason when that is aborted, with a HalfbyteError when it failed; that
   * raises no unhandled rejection when only the loop is used.
   */
  readonly result: Promise<GenerationResult>
  /** Ends it: `result` resolves with finishReason `cancelled` and the text so far. Harmless after the end. */
  cancel(reason?: unknown): void
}

export interface SessionOptions extends Overflow {
  /** Comes before the messages in every turn. Default: none. */
  readonly system?: string | undefined
  /** The conversation so far. Default: none. */
  readonly messages?: readonly Message[] | undefined
}

/** A conversation whose state stays in the engine, so that each turn only reads what is new. */
export interface Session extends AsyncDisposable {
  /**
   * The conversation without its system text. A message appears when its turn starts, the reply when its generation
   * has resolved, cancelled replies included; a generation that rejects leaves them as they were before it.
   */
  readonly messages: readonly Message[]
  /** Tokens that the engine held for this session after its last generation. */
  readonly contextUsed: number
  /** Adds what is said and answers it. While another generation of this session runs, it waits its turn. */
  send(input: string | Message | readonly Message[], options?: GenerateOptions): Generation
  /** Replaces the text of message `index`, drops what came after it, and answers. */
  edit(index: number, content: string, options?: GenerateOptions): Generation
  /** Drops the last reply and answers again. */
  regenerate(options?: GenerateOptions): Generation
  /** Replaces the conversation. The state of what both have in common is kept. Throws `unsupported` while a generation runs. */
  setMessages(messages: readonly Message[]): void
  /** A second session with the same conversation and state; waits for this one's turn. */
  fork(options?: AbortOptions): Promise<Session>
  /**
   * A file of the conversation and its state, for `Engine.restoreSession`: what was read need not be read again, after a
   * reload of the page either. Waits for this session's turn. Rejects with `out-of-memory` where not 64 tokens of state are free.
   */
  save(options?: AbortOptions): Promise<Blob>
  /**
   * Keeps the same file on this device under a name, in place of what had that name before, which stays until the new one is
   * whole: for `Engine.restoreSession(name)`. `storedSessions` lists them, `unstoreSession` removes one. Rejects with
   * `storage-full`, `out-of-memory`, or `unsupported` where nothing can be stored.
   */
  store(name: string, options?: AbortOptions): Promise<StoredSession>
  /** Cancels what runs and frees the state. */
  dispose(): Promise<void>
}
