// The parts of a conversation: messages, images, tools and their calls.
import type { Pixels } from '../../core/formats/pixels.ts'

/**
 * A call that the model requests. The arguments are an object, but they are not checked against the tool's
 * schema.
 */
export interface ToolCall {
  /** Nine letters and digits, unique in the conversation. */
  readonly id: string
  /** The tool's name. */
  readonly name: string
  /** The arguments by name. */
  readonly arguments: { readonly [name: string]: unknown }
  /**
   * The arguments as JSON text in the model's own digits and order, so whole numbers beyond 2^53 and `1.0`
   * are exact. Absent in calls that a model did not write.
   */
  readonly argumentsJson?: string | undefined
}

/** An image: a file such as a PNG or a JPEG, its bytes, or its pixels. */
export type PictureSource = Blob | ArrayBuffer | Uint8Array | Pixels

/** One turn of a conversation. */
export interface Message {
  /** `tool`: the result of a tool. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** The text. Each U+FFFC (object replacement character) in it represents the next one of `images`. */
  readonly content: string
  /**
   * Images, for a model that was loaded with `vision`: their bytes, their pixels, or files that the browser
   * can decode, such as PNG or JPEG (outside browsers, only these two). Images without a U+FFFC in `content`
   * come before the text.
   */
  readonly images?: readonly PictureSource[] | undefined
  /**
   * Role `assistant`: the model's thought before its answer. The model sees it again if the chat template
   * reads `reasoning_content` or `thinking`.
   */
  readonly reasoning?: string | undefined
  /** Role `assistant`: the calls that the model requested. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  /** Role `tool`: the `id` of the call that this message answers. */
  readonly toolCallId?: string | undefined
  /** Role `tool`: the tool's name. */
  readonly name?: string | undefined
}

/** A function that the model may request to call. */
export interface Tool {
  /** The name by which the model calls it. */
  readonly name: string
  /** What it does and when to call it, for the model. Default: none. */
  readonly description?: string | undefined
  /** JSON Schema of the arguments, which are an object. Default: no arguments. */
  readonly parameters?: object | undefined
  /**
   * Once a reply contains the marker that starts a call, it is constrained to a complete call whose arguments
   * match `parameters`. If one tool sets this, calls to the others are constrained to be well-formed. Default
   * false.
   */
  readonly strict?: boolean | undefined
}

/** What happens when a conversation is longer than the context. */
export interface Overflow {
  /**
   * `error`: the reply fails if the prompt is too long, and ends when the context is full. `shift`: the
   * oldest messages are dropped until the context is half full, or the oldest tokens if one message is longer
   * than that, and the keys after them are rotated to their new positions. The remaining messages are not
   * processed again, so replies differ from those of a model that has read only these. Families whose keys
   * cannot be moved process them again. Default `error`.
   */
  readonly overflow?: 'error' | 'shift' | undefined
  /**
   * Number of tokens at the beginning that are never dropped, at most half of the context. Models depend on
   * the first few tokens (attention sinks). Default: the length of the system text, at least 4.
   */
  readonly keep?: number | undefined
}
