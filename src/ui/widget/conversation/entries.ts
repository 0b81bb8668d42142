// Entries. The types of what a conversation shows, and of what a page gives it.
import type { ExecuteOptions, GenerateOptions, RunnableTool } from '../../../engine/api/types.ts'
import type { Encoder } from '../../chat/encoder-slot.ts'

/** A function of the page that the model may call. */
export interface WidgetTool extends RunnableTool {
  /** Shown instead of `name`. */
  readonly label?: string | undefined
  execute(args: { readonly [name: string]: unknown }, options: ExecuteOptions): unknown
}

/** A text that answers are looked up in. */
export interface WidgetDocument {
  readonly text: string
  /** Shown with passages of it, and read by the model. */
  readonly title?: string | undefined
  /** Where it can be read, for a link. */
  readonly url?: string | undefined
}

/** A passage that the model was given for an answer. */
export interface Passage {
  readonly text: string
  readonly title?: string | undefined
  readonly url?: string | undefined
  /** Its place in the document: part `part` of `parts`, from 1. */
  readonly part?: number | undefined
  readonly parts?: number | undefined
}

/** A call of one of the page's functions. */
export interface ToolRun {
  readonly name: string
  readonly label: string
  readonly arguments: { readonly [name: string]: unknown }
  readonly state: 'running' | 'done' | 'failed'
  /** What the model was told: the result, or the error's message. */
  readonly result?: string | undefined
}

/** One message, as it is shown. */
export interface Entry {
  readonly role: 'user' | 'assistant'
  /** Markdown in answers, plain text in questions. */
  readonly content: string
  /** What the model thought before it answered. */
  readonly thoughts?: string | undefined
  /** Why an answer ended early. */
  readonly ending?: 'stopped' | 'length' | undefined
  readonly passages?: readonly Passage[] | undefined
  readonly toolRuns?: readonly ToolRun[] | undefined
}

/** What the page says of the replies; read anew for each of them. */
export interface Settings {
  readonly system: string | undefined
  readonly tools: readonly WidgetTool[]
  readonly documents: readonly (string | WidgetDocument)[]
  /** What finds passages; undefined: the language model does. */
  readonly encoder?: (() => Promise<Encoder | undefined>) | undefined
  readonly generateOptions: GenerateOptions
  /** The text with `{passages}` and `{question}` that the model reads. */
  readonly passagesPrompt: string
}
