// The protocol: the types of everything that is sent between a page and its engine worker.
//
//   page                                                worker
//   EngineService, through Comlink                      load, probe, count, fork, save, store, restore,
//                                                       close, memory, dispose
//   LoadCommand     --- one port per load, probe ... ---->  abort
//                   <---------------------------------  LoadReport
//   StreamCommand   --- one port per generation ----->  credit, cancel
//                   <---------------------------------  StreamReport: progress, chunks, one end or failure
//
// A stream may be STREAM_CREDITS (reply-stream.ts) chunks ahead of its reader. The reader returns one credit
// for each chunk that it takes. The side that sends the last report closes its port; the other side closes
// its own when the report arrives.
import type { WireError } from '../../core/base/errors.ts'
import type { JsonObject } from '../../core/base/values.ts'
import type { WrittenGrammar } from '../../core/constrain/written-grammar.ts'
import type { GraphDtype } from '../../core/formats/names/graph-files.ts'
import type { Place } from '../../core/formats/names/named-files.ts'
import type { KvFormat } from '../../core/graph/ir.ts'
import type { Build } from '../../core/runtime/features.ts'
import type { PoolKind } from '../../core/runtime/pool.ts'
import type { StoredSession } from '../../core/store/device/sessions.ts'
import type { Hub } from '../../core/store/hub.ts'
import type { WeightPolicy } from '../../core/weights/policy.ts'
import type { EmbedOptions } from '../score/embed.ts'
import type { Score } from '../score/score.ts'
import type { Message, Overflow, Tool } from '../types/conversation.ts'
import type { EngineInfo, LoadProgress, MemoryUse, ProbeReport } from '../types/model.ts'
import type { DecodeOptions, Outcome, PrefillProgress, ScoredToken, TextChunk } from '../types/reply.ts'

export interface LoadRequest {
  /** An absolute address, or the files of a model. */
  readonly source: Place | readonly File[]
  /** The address or files of the draft model. */
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
  readonly cache: 'opfs' | 'files' | 'none'
  readonly hub?: Hub | undefined
  /** The precision of the graph if a model has several. Default: the first of `GRAPH_DTYPES`. */
  readonly dtype?: GraphDtype | undefined
  /** The family to read the model as. Default: the one that its files name. Not for the draft model. */
  readonly architecture?: string | undefined
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

/** Plain text, tokenized from its beginning, or ids, used unchanged. */
export type TextOrIds = string | readonly number[]

/** What to continue: a conversation in the model's chat template, plain text, or ids. */
export type Prompt =
  | {
      readonly type: 'messages'
      readonly messages: readonly Message[]
      readonly tools?: readonly Tool[] | undefined
      /** The beginning of the reply. Default: empty. */
      readonly prefix?: string | undefined
      /** The beginning of the reply's thought, which continues if `prefix` is empty. Default: empty. */
      readonly reasoningPrefix?: string | undefined
      /** Additional variables of the chat template, JSON values by name. Default: none. */
      readonly templateArguments?: JsonObject | undefined
    }
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'ids'; readonly ids: readonly number[] }

/** The page's part of a saved session, for restoring it. */
export interface SavedSession extends Overflow {
  readonly system?: string | undefined
  readonly messages: readonly Message[]
  readonly contextUsed: number
}

export interface GenerateRequest extends Overflow {
  /** The page's number for the session whose state is reused and kept. Absent: no state is kept. */
  readonly session?: number | undefined
  readonly prompt: Prompt
  /** The options, without the constraint. */
  readonly options: DecodeOptions
  /** The constraint on the reply, compiled by the page. */
  readonly constraint?: WrittenGrammar | undefined
  /** The constraint on the text after the marker of a call. */
  readonly calls?: WrittenGrammar | undefined
  /**
   * With `overflow: 'shift'`: the oldest messages have been removed since the session's last request, so the
   * state of the others may be moved. Default: false.
   */
  readonly isShortened?: boolean | undefined
  /**
   * Reads the conversation without answering it. `room`: number of tokens that must fit after it. Default: it
   * is answered.
   */
  readonly prefill?: { readonly room?: number | undefined } | undefined
}

/** To the worker, on a generation's port. */
export type StreamCommand = { readonly type: 'credit'; readonly count: number } | { readonly type: 'cancel' }

/** From the worker, on a generation's port. */
export type StreamReport =
  | { readonly type: 'chunk'; readonly chunk: TextChunk }
  /** After each step that has read a part of the prompt, unless it was the last part. Needs no credit. */
  | { readonly type: 'prefill'; readonly progress: PrefillProgress }
  /** `contextUsed`: number of tokens that the session holds now. */
  | { readonly type: 'end'; readonly outcome: Outcome; readonly contextUsed: number }
  | { readonly type: 'failed'; readonly failure: WireFailure }

/** An error in the form in which it is sent between threads. */
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
  /** Reports what a load would need and be granted. The command `abort` aborts it. */
  probe(request: ProbeRequest, port: MessagePort): Promise<ProbeReport>
  /**
   * Starts immediately, or when the session's turn comes. All of its reports, including errors, go to
   * `port`.
   */
  generate(request: GenerateRequest, port: MessagePort): void
  countTokens(prompt: Prompt): number | Promise<number>
  /** Ids of plain text, as read by a completion. */
  tokenize(text: string): readonly number[]
  /** Text of ids. Throws `format` for an id outside the vocabulary. */
  detokenize(ids: readonly number[]): string
  /** The command `abort` aborts the work, and the call rejects. */
  score(prompt: string, continuations: readonly string[], port: MessagePort): Promise<readonly Score[]>
  scoreTokens(prompt: TextOrIds, top: number, port: MessagePort): Promise<readonly ScoredToken[]>
  embed(
    texts: readonly TextOrIds[],
    options: EmbedOptions,
    port: MessagePort,
  ): Promise<readonly Float32Array[]>
  memory(): MemoryUse
  /** Gives session `to` the state of session `from` without copying it. Waits for the turn of `from`. */
  fork(from: number, to: number): Promise<void>
  /**
   * Writes a session's state, with the plain JSON `extra`, to a file. Waits for its turn. `abort` works until
   * the file is complete.
   */
  save(session: number, extra: SavedSession, port: MessagePort): Promise<Blob>
  /**
   * Stores the file of `save` on this device, replacing a file with the same name. Waits for its turn. Throws
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
