// What a conversation is made of: messages, pictures, tools and their calls.
import type { Pixels } from '../../core/formats/pixels.ts'

/**
 * A call that the model asks for. The arguments are an object, but they are not checked against the tool's
 * schema.
 */
export interface ToolCall {
  /** Nine letters and digits, unique in the conversation. */
  readonly id: string
  readonly name: string
  readonly arguments: { readonly [name: string]: unknown }
  /**
   * The arguments as JSON text in the model's own digits and order, so whole numbers beyond 2^53 and `1.0`
   * are exact. Absent in calls that no model has written.
   */
  readonly argumentsJson?: string | undefined
}

/** A picture: a file such as a PNG or a JPEG, its bytes, or its pixels. */
export type PictureSource = Blob | ArrayBuffer | Uint8Array | Pixels

/** One turn of a conversation. */
export interface Message {
  /** `tool`: the result of a tool. */
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** The text. Each U+FFFC in it, the object replacement character, stands for the next of `images`. */
  readonly content: string
  /**
   * Pictures, for a model that was loaded with `vision`: their bytes, their pixels, or files that the browser
   * decodes, such as PNG or JPEG (outside a browser these two). Those without a U+FFFC in `content` come
   * before the text.
   */
  readonly images?: readonly PictureSource[] | undefined
  /**
   * Role `assistant`: what the model thought before it answered. It reaches the model again if the chat
   * template reads it, as `reasoning_content` or `thinking`.
   */
  readonly reasoning?: string | undefined
  /** Role `assistant`: the calls that the model asked for. */
  readonly toolCalls?: readonly ToolCall[] | undefined
  /** Role `tool`: the `id` of the call that this message answers. */
  readonly toolCallId?: string | undefined
  /** Role `tool`: the tool's name. */
  readonly name?: string | undefined
}

/** A function that the model may ask to call. */
export interface Tool {
  readonly name: string
  readonly description?: string | undefined
  /** JSON Schema of the arguments, which are an object. Default: no arguments. */
  readonly parameters?: object | undefined
  /**
   * From the marker of a call on, the reply is held to a whole call, with arguments that `parameters` allow.
   * If one tool has it, calls of the others are held to their form. Default false.
   */
  readonly strict?: boolean | undefined
}

/** What happens when a conversation is longer than the context. */
export interface Overflow {
  /**
   * `error`: the reply fails if the prompt is too long, and ends when the context is full. `shift`: the
   * oldest tokens are dropped until the context is half full, and the keys after them are rotated to their
   * new positions. The model reads nothing again, so its replies differ from those of a model that only read
   * the remaining tokens. Default `error`.
   */
  readonly overflow?: 'error' | 'shift' | undefined
  /**
   * Number of tokens at the beginning that are never dropped, at most half of the context. Models depend on
   * the first few tokens (attention sinks). Default: the length of the system text, at least 4.
   */
  readonly keep?: number | undefined
}
