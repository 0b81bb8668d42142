// The interface of a loaded model, as the engine service uses it.
import type { ByteSource } from '../../core/base/bytes.ts'
import type { ConstraintCompiler } from '../../core/constrain/compile.ts'
import type { LogitRows } from '../../core/generate/sampler/logit-rows.ts'
import type { InputRange } from '../../core/generate/schedule/input-rows.ts'
import type { Scheduler } from '../../core/generate/schedule/scheduler.ts'
import type { Sequence, SequenceOptions } from '../../core/generate/schedule/sequence.ts'
import type { Drafter } from '../../core/generate/schedule/speculation.ts'
import type { ReasoningForm } from '../../core/text/chat/reasoning.ts'
import type { TurnOptions } from '../chat/chat-turns.ts'
import type { Message } from '../types/conversation.ts'
import type { EngineInfo, LoadProgress, MemoryUse } from '../types/model.ts'
import type { LoadRequest, Prompt } from '../wire/protocol.ts'

/** Loads the model of a request. After a typed error or the signal's reason, nothing stays allocated. */
export type ModelLoader = (request: LoadRequest, hooks: LoaderHooks) => Promise<LoadedModel>

export interface LoaderHooks {
  readonly signal: AbortSignal
  readonly onProgress: (progress: LoadProgress) => void
  /** Called with the bytes of memory that the model needs with a full context, before any is allocated. */
  readonly onNeed?: ((neededBytes: number) => void) | undefined
}

/** The input of the template besides the messages. */
export type PromptOptions = Pick<
  Extract<Prompt, { readonly type: 'messages' }>,
  'tools' | 'prefix' | 'reasoningPrefix' | 'templateArguments'
> &
  Pick<TurnOptions, 'addGenerationPrompt'>

/** A model that is ready to generate. */
export interface LoadedModel {
  readonly info: EngineInfo
  /** The samplers' operations on whole rows of logits. */
  readonly logitRows: LogitRows
  readonly text: ModelText
  /** Compiles constraints on a reply to masks over this model's vocabulary. */
  readonly constraints: Pick<ConstraintCompiler, 'constrain' | 'constrainCalls'>
  readonly scheduler: Pick<Scheduler, 'generate' | 'forward' | 'isOver'>
  /**
   * The conversation in the model's template, ending where the reply begins, or after its `prefix`. Throws
   * `unsupported` if the template rejects it.
   */
  renderPrompt(messages: readonly Message[], options?: PromptOptions): string
  /** Prepares what the model sees in a prompt: text and, with a vision tower, images. */
  readonly sight: Sight
  /** An empty sequence for `scheduler`. Throws `out-of-memory`. */
  newSequence(options?: SequenceOptions): Sequence
  /** A hash that identifies the model. State saved with a different hash cannot be used. */
  fingerprint(): Promise<string>
  /** Restores a sequence that `Sequence.save` wrote, and the extra data saved with it. */
  restoreSequence(
    source: ByteSource,
    fingerprint: string,
    signal?: AbortSignal,
  ): Promise<{ readonly sequence: Sequence; readonly extra: unknown }>
  /** A second model, loaded to draft for this one. */
  readonly draft?: DraftSource | undefined
  memory(): MemoryUse
  /**
   * Stores the weights as a pack beside the file that they were read from, for later loads. `whenIdle`
   * resolves once nothing else is to be done. Rejects with `storage-full` or the signal's reason. Absent if
   * there is nothing to store.
   */
  keepPack?: ((signal: AbortSignal, whenIdle: () => Promise<unknown>) => Promise<void>) | undefined
  /** Frees everything. Release its sequences first. */
  dispose(): void | Promise<void>
}

/** A model's draft model. `drafter` works on a sequence from `newSequence`. */
export interface DraftSource {
  newSequence(options?: SequenceOptions): Sequence
  drafter(sequence: Sequence): Drafter
}

/** Conversion between text and ids for this model. */
export interface ModelText {
  /** Ids that end a reply. */
  readonly endIds: ReadonlySet<number>
  /** The marks of thoughts that the chat template names; undefined if it names none. */
  readonly reasoning?: ReasoningForm | undefined
  /** Length of the longest token in UTF-16 units. */
  readonly longestToken: number
  /**
   * Ids of `text`. Special tokens in the text are recognised. `start`: nothing precedes the text, so a
   * beginning-of-sequence token is added if the model uses one and the text lacks it. `after`: the id before
   * a text that does not start, if it is known.
   */
  encode(text: string, start: boolean, after?: number): readonly number[]
  /** Quotes a message like `renderPrompt`, so that `encode` recognises no special tokens in it. */
  quote(text: string): string
  /**
   * Decodes one reply. Writes the tokens in `marks` as text and, with `toolCalls`, also those that mark
   * calls, even special ones. `after`: the id before the reply. The space that encoding adds after a special
   * token is omitted.
   */
  detokenizer(options?: {
    readonly toolCalls?: boolean
    readonly marks?: readonly string[]
    readonly after?: number | undefined
  }): ReplyDecoder
  /** The token's text; an incomplete character becomes U+FFFD. */
  tokenText(id: number): string
  /** The token's bytes in UTF-8. */
  tokenBytes(id: number): Uint8Array
}

interface ReplyDecoder {
  /** The text that `id` completes: complete code points, possibly none. */
  push(id: number): string
  /** The rest of an unfinished character; '' if there is none. */
  flush(): string
}

/** A prompt whose images have been processed. */
export interface SeenPrompt {
  /** Its messages, with a mark in place of each image. */
  readonly prompt: Prompt
  /** Ids of a text with marks; like `ModelText.encode`. */
  encode(text: string, start: boolean, after?: number): readonly number[]
  /**
   * Encodes the images whose state `sequence` lacks, and keeps their rows until the returned function is
   * called. Rejects with errors of decoding or the signal's reason.
   */
  hold(sequence: Sequence, all: boolean, signal: AbortSignal): Promise<() => void>
}

/** The parts of a saved session that depend on images. */
export interface SeenSession {
  /** As JSON, with the bytes of images as text. */
  readonly messages: readonly Message[]
  /** The ranges of image rows in the sequence's tokens. Absent if there are none. */
  readonly pictures?: readonly InputRange[] | undefined
}

/** The interface for images that replies and sessions use. */
export interface Sight {
  /**
   * Rejects with errors of decoding, `unsupported` for images if the model has no vision, or the signal's
   * reason.
   */
  look(prompt: Prompt, signal?: AbortSignal): Promise<SeenPrompt>
  /** The data to save for a session with this sequence. */
  save(sequence: Sequence, messages: readonly Message[]): Promise<SeenSession>
  /**
   * The messages of a saved session with their images. `sequence` loses its state from the first image whose
   * words are in use here for something else. Throws `unsupported`, naming the file, for images if the model
   * has no vision.
   */
  restore(sequence: Sequence, saved: SeenSession, name: string): readonly Message[]
}
