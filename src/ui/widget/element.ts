// The public types of <halfbyte-chat>: properties, methods, events.
import type { HalfbyteError } from '../../core/base/errors.ts'
import type { Embedder } from '../../encoders/embedder/embedder.ts'
import type { Engine } from '../../engine/api/engine.ts'
import type { GenerateOptions, LoadOptions, LoadProgress, ModelSource } from '../../engine/api/types.ts'
import type { Words } from '../words/english.ts'
import type { Assist, Entry, ToolRun, WidgetDocument, WidgetTools } from './conversation/entries.ts'
import type { Keep } from './conversation/keep.ts'

/** Properties that a page may set at any time. Attributes have the same names, in kebab case. */
export interface HalfbyteChatProps {
  /** What to load, as for `Engine.load`; as an attribute, an address. Not needed with `engine`. */
  model: ModelSource | undefined
  /** The system prompt. Default: none. */
  system: string | undefined
  /** The title. Default: the text `heading` in the widget's language. */
  heading: string | undefined
  /** The placeholder of the empty field. Default: the text `placeholder` in the widget's language. */
  placeholder: string | undefined
  /** `inline`: a box in the page; `bubble`: a button in the corner that opens a panel. Default `inline`. */
  mode: 'inline' | 'bubble'
  /** Whether the panel of a `bubble` is open. Default false. */
  open: boolean
  /** `inherit`: light or dark like the page's `color-scheme`; `auto`: like the device. Default `inherit`. */
  theme: 'inherit' | 'auto' | 'light' | 'dark'
  /** Loads the model when the element appears, without a gesture and without asking. Default false. */
  autoload: boolean
  /**
   * Whether the user may attach documents: PDF, Word (.docx), web pages, tables (.csv), Markdown, text.
   * Default false.
   */
  allowFiles: boolean
  /**
   * Size of the download in bytes. If set, no request is made before the user has agreed. Default: looked up.
   */
  downloadBytes: number | undefined
  /**
   * Where the conversation is stored. `none`: nowhere; `tab`: until the tab closes; `device`: on the device,
   * until it is cleared. Default `none`.
   */
  keep: Keep
  /** The name under which the conversation is stored. Default `default`. */
  name: string
  /** Who shares the engine: the widgets of the `page`, or also other `tabs` of the site. Default `page`. */
  share: 'page' | 'tabs'
  /**
   * Which questions are answered without the model: those of people in need, with the emergency number and
   * help lines (`care`); those and sums, units, dates and times (`all`); or `none`. Default `care`.
   */
  assist: Assist
  /** Suggested first questions. As an attribute: a JSON list, or texts separated by `|`. Default: none. */
  suggestions: readonly string[]
  /**
   * Functions of the page that the model may call (a property only); or `assist`: sums, units, dates and
   * times, for models that use them well. Default: none.
   */
  tools: WidgetTools
  /**
   * Texts in which answers are looked up; set a new list when one changes. A property only. Default: none.
   */
  documents: readonly (string | WidgetDocument)[]
  /**
   * A sentence encoder that finds passages of the documents: its location, as for `Embedder.load`, or the
   * page's own encoder. As an attribute: an address. Default: none; passages are found by their words.
   */
  embedder: Embedder | ModelSource | undefined
  /** Options of `Engine.load`, without `signal` and `onProgress`. A property only. Default: none. */
  loadOptions: LoadOptions
  /** Options of each reply, without `signal` and `tools`. A property only. Default: none. */
  generateOptions: GenerateOptions
  /**
   * Variables of the chat template, such as `enable_thinking`. As an attribute: a JSON object. Default: none.
   */
  templateArguments: NonNullable<GenerateOptions['templateArguments']>
  /**
   * Texts that replace the widget's own, by their names in `ENGLISH`. A property only. Default: none; the
   * widget is in the language of its page.
   */
  messages: Partial<Words>
  /**
   * The engine that answers; undefined until one is loaded. Set it to use the page's own. A property only.
   */
  engine: Engine | undefined
}

/** All events bubble and cross shadow boundaries. */
export interface HalfbyteChatEvents {
  /** The load has progressed. */
  'halfbyte-progress': CustomEvent<LoadProgress>
  /** An engine is ready to answer. */
  'halfbyte-ready': CustomEvent<Engine>
  /** A question was asked, or an answer is complete. */
  'halfbyte-message': CustomEvent<Entry>
  /** A load or an answer failed. */
  'halfbyte-error': CustomEvent<HalfbyteError>
  /** A function of the page started or finished. */
  'halfbyte-tool': CustomEvent<ToolRun>
  /** The panel of a `bubble` was opened or closed. */
  'halfbyte-toggle': CustomEvent<{ readonly open: boolean }>
}

/** What the widget is doing. `consent`: waiting for the user's consent; `failed`: the load failed. */
export type ChatState = 'idle' | 'checking' | 'consent' | 'loading' | 'ready' | 'failed' | 'answering'

/** A chat with a language model that runs in the page. */
export interface HalfbyteChat extends HTMLElement, HalfbyteChatProps {
  /** The conversation so far, as displayed. */
  readonly conversation: readonly Entry[]
  /** What the widget is doing. */
  readonly state: ChatState
  /**
   * Loads the model without asking for consent, for pages that have already asked. Resolves when it can
   * answer. Rejects with a HalfbyteError, or with an AbortError if the user cancels.
   */
  load(): Promise<Engine>
  /**
   * Asks a question as if the user had sent it, including the request for consent, with pictures for a
   * vision model. Ignored while answering.
   */
  send(text: string, pictures?: readonly Blob[]): void
  /** Stops the current answer. Its text so far is kept. */
  stop(): void
  /** Retries what failed, or answers the last question again. */
  retry(): void
  /** Starts a new conversation and deletes the stored one. */
  clear(): void
  /** Opens the panel of a `bubble`. */
  show(): void
  /** Closes the panel of a `bubble`. An answer in progress continues. */
  hide(): void
}
