// Entries. The types of a conversation's entries, and of the page's input.
import type { ExecuteOptions, GenerateOptions, RunnableTool } from '../../../engine/api/types.ts'
import type { Encoder } from '../../chat/encoder-slot.ts'
import type { Place } from '../../documents/passages.ts'
import type { TextDocument } from '../../documents/read-file.ts'
import type { DocumentWords } from '../../words/documents.ts'

/** A function of the page that the model may call. */
export interface WidgetTool extends RunnableTool {
  /** Shown instead of `name`. */
  readonly label?: string | undefined
  execute(args: { readonly [name: string]: unknown }, options: ExecuteOptions): unknown
}

/**
 * The page's functions, or `assist` for the tools of `halfbyte/assist`, offered to models that use them well.
 */
export type WidgetTools = readonly WidgetTool[] | 'assist'

/** A text for looking up answers. */
export interface WidgetDocument {
  readonly text: string
  /** Shown with its passages, and read by the model. */
  readonly title?: string | undefined
  /** Its address, for a link. */
  readonly url?: string | undefined
}

/** A passage given to the model for an answer. */
export interface Passage {
  readonly text: string
  readonly title?: string | undefined
  readonly url?: string | undefined
  /** Where it is in the document; absent for a whole one. */
  readonly place?: Place | undefined
}

/** A call of one of the page's functions. */
export interface ToolRun {
  readonly name: string
  readonly label: string
  readonly arguments: { readonly [name: string]: unknown }
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
  /** Why an answer ended early. */
  readonly ending?: 'stopped' | 'length' | 'loop' | undefined
  readonly passages?: readonly Passage[] | undefined
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
  /** The encoder that finds passages; undefined: they are found by words. */
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
