// The entry `halfbyte/widget`. In: nothing. Out: <halfbyte-chat> as an element of the page, and its types.
//
// The element is in a separate chunk: importing the entry does nothing without custom elements, as on a
// server.
import type { HalfbyteChat, HalfbyteChatEvents } from './element.ts'

export { ENGLISH, type Words } from '../words/english.ts'
export type { Entry, Passage, ToolRun, WidgetDocument, WidgetTool } from './conversation/entries.ts'
export type { ChatState, HalfbyteChat, HalfbyteChatEvents, HalfbyteChatProps } from './element.ts'

/** Resolves when the element is defined. Never resolves on a server. */
export const defined: Promise<void> =
  globalThis.customElements === undefined
    ? new Promise(() => undefined)
    : import('./define.ts').then(() => undefined)

declare global {
  interface HTMLElementTagNameMap {
    'halfbyte-chat': HalfbyteChat
  }
  interface HTMLElementEventMap extends HalfbyteChatEvents {}
}
