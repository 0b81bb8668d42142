// Loaded models. In: nothing. Out: what the engine service needs of a model, whoever built it.
import type { ByteSource } from '../../base/bytes.ts'
import type { ConstraintCompiler } from '../../constrain/compile.ts'
import type { LogitRows } from '../../generate/sampler/rows.ts'
import type { Scheduler } from '../../generate/schedule/scheduler.ts'
import type { Sequence, SequenceOptions } from '../../generate/schedule/sequence.ts'
import type { Drafter } from '../../generate/speculate/speculation.ts'
import type { EngineInfo, LoadProgress, LoadRequest, MemoryUse, Message, Tool } from '../wire/protocol.ts'

/** Loads what a request names. Throws typed errors or the signal's reason, and leaves nothing behind then. */
export type ModelLoader = (request: LoadRequest, hooks: LoaderHooks) => Promise<LoadedModel>

export interface LoaderHooks {
  readonly signal: AbortSignal
  readonly onProgress: (progress: LoadProgress) => void
  /** Memory that the model takes with a full context, in bytes, before any is taken. */
  readonly onNeed?: ((neededBytes: number) => void) | undefined
}

/** A model that is ready to generate. */
export interface LoadedModel {
  readonly info: EngineInfo
  /** What samplers do to whole rows of logits. */
  readonly logitRows: LogitRows
  readonly text: ModelText
  /** What a reply can be held to, as masks over this model's vocabulary. */
  readonly constraints: Pick<ConstraintCompiler, 'constrain'>
  readonly scheduler: Pick<Scheduler, 'generate' | 'forward' | 'isOver'>
  /** The conversation in the model's template, ending where the reply begins. Throws `unsupported` when it refuses. */
  renderPrompt(messages: readonly Message[], tools?: readonly Tool[]): string
  /** An empty sequence for `scheduler`. Throws `out-of-memory`. */
  newSequence(options?: SequenceOptions): Sequence
  /** A hash of what the model is: state saved with another is of no use to it. */
  fingerprint(): Promise<string>
  /** What `Sequence.save` wrote, and its extra. */
  restoreSequence(
    source: ByteSource,
    fingerprint: string,
    signal?: AbortSignal,
  ): Promise<{ readonly sequence: Sequence; readonly extra: unknown }>
  /** A second model, loaded to draft for this one. */
  readonly draft?: DraftSource | undefined
  memory(): MemoryUse
  /** Frees everything. Its sequences are released before. */
  dispose(): void | Promise<void>
}

/** What drafts for a model: `drafter` works on a sequence that `newSequence` made. */
export interface DraftSource {
  newSequence(options?: SequenceOptions): Sequence
  drafter(sequence: Sequence): Drafter
}

/** Text to ids and back, as this model does it. */
export interface ModelText {
  /** Ids that end a reply. */
  readonly endIds: ReadonlySet<number>
  /** UTF-16 units of the longest token. */
  readonly longestToken: number
  /**
   * Ids of `text`; special tokens written in it are recognised. `start`: nothing precedes it, so that a beginning of
   * sequence is added where the model wants one and the text does not bring it.
   */
  encode(text: string, start: boolean): readonly number[]
  /** What somebody says as `renderPrompt` writes it: without special tokens that `encode` would recognise. */
  quote(text: string): string
  /** Decodes one reply; with `toolCalls` the tokens that mark calls are written, special ones too. */
  detokenizer(options?: { readonly toolCalls?: boolean }): ReplyDecoder
  /** What a token writes; half a character reads as U+FFFD. */
  tokenText(id: number): string
  /** The same in UTF-8. */
  tokenBytes(id: number): Uint8Array
}

export interface ReplyDecoder {
  /** The text that `id` completes: whole code points, perhaps none. */
  push(id: number): string
  /** What is left of an unfinished character; '' when nothing is. */
  flush(): string
}
