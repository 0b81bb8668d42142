// Entries. The types of a conversation's entries, and of the page's input.
import type { ExecuteOptions, GenerateOptions, RunnableTool } from '../../../engine/api/types.ts'
import type { Encoder } from '../../chat/encoder-slot.ts'
import type { Place } from '../../documents/passages.ts'
import type { TextDocument } from '../../documents/read-file.ts'
import type { DocumentWords } from '../../words/documents.ts'

/** A function of the page that the model may call. */
export interface WidgetTool extends RunnableTool {
  /** Shown to users instead of `name`. */
  readonly label?: string | undefined
  /** Runs a call and returns what the model reads, as in `RunnableTool`. */
  execute(args: { readonly [name: string]: unknown }, options: ExecuteOptions): unknown
}

/**
 * The page's functions, or `assist` for the tools of `halfbyte/assist`, offered to models that use them well.
 */
export type WidgetTools = readonly WidgetTool[] | 'assist'

/** A text in which answers are looked up. */
export interface WidgetDocument {
  /** The whole text. */
  readonly text: string
  /** The title: shown with its passages, and read by the model. Default: none. */
  readonly title?: string | undefined
  /** The document's address, to which its passages link. Default: none. */
  readonly url?: string | undefined
}

/** A passage given to the model for an answer. */
export interface Passage {
  /** The passage itself. */
  readonly text: string
  /** The document's title. */
  readonly title?: string | undefined
  readonly url?: string | undefined
  /** Where it is in the document; absent for a whole document. */
  readonly place?: Place | undefined
}

/** A call of one of the page's functions. */
export interface ToolRun {
  /** The function's name. */
  readonly name: string
  /** The name shown to users. */
  readonly label: string
  /** The arguments that the model passed. */
  readonly arguments: { readonly [name: string]: unknown }
  /** Whether the function is running, has returned, or has failed. */
  readonly state: 'running' | 'done' | 'failed'
  /** What the model received: the result, or the error message. */
  readonly result?: string | undefined
}

/** A picture of a question. */
export interface EntryPicture {
  /** Its file name, which is also its text for screen readers. */
  readonly name: string
  /** Absent in a question of an earlier visit: pictures are not stored. */
  readonly file?: Blob | undefined
}

/** One displayed message. */
export interface Entry {
  readonly role: 'user' | 'assistant'
  /** Markdown in answers, plain text in questions. */
  readonly content: string
  /** Documents that the user attached to a question: their names and texts. */
  readonly documents?: readonly TextDocument[] | undefined
  /** Pictures of a question. */
  readonly pictures?: readonly EntryPicture[] | undefined
  /** The model's thought before its answer. */
  readonly thoughts?: string | undefined
  /**
   * Why an answer ended early. `stopped`: the user stopped it; `length`: it reached a token limit; `loop`: it
   * repeated itself.
   */
  readonly ending?: 'stopped' | 'length' | 'loop' | undefined
  /** Passages that the model read for an answer. */
  readonly passages?: readonly Passage[] | undefined
  /** Calls that were made for an answer, in order. */
  readonly toolRuns?: readonly ToolRun[] | undefined
}

/**
 * Which questions are answered without the model: those of people in need (`care`), those and sums, units,
 * dates and times (`all`), or `none`.
 */
export type Assist = 'care' | 'all' | 'none'

/** The page's reply options, read for each reply. */
export interface Settings {
  readonly system: string | undefined
  readonly tools: WidgetTools
  readonly documents: readonly (string | WidgetDocument)[]
  /** The encoder that finds passages; undefined: passages are found by their words. */
  readonly encoder?: (() => Promise<Encoder | undefined>) | undefined
  readonly generateOptions: GenerateOptions
  /** Names of the tools of `assist`, in the user's language. */
  readonly toolLabels: Readonly<Record<string, string>>
  /** Words for the places of passages, which the model reads. */
  readonly words: DocumentWords
  /** The language of these words. */
  readonly language: string
  /** The answer of a model that is too small to read documents. */
  readonly documentsUnread: string
  /** The text with `{passages}` and `{question}` that the model reads. */
  readonly passagesPrompt: string
}
