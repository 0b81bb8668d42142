// Messages. In: the parts of a message. Out: the message, as shown by the page and the widget.
import { html, nothing, type TemplateResult } from 'lit'
import type { CommonWords } from '../words/english.ts'

interface MessageView {
  readonly role: 'user' | 'assistant'
  /** The speaker's name. */
  readonly label: string
  /** True while its text is streaming. */
  readonly isGrowing: boolean
  /** Content above and below the text. */
  readonly above: unknown
  readonly below: unknown
  readonly body: unknown
  /** Replaces the body. */
  readonly editor?: TemplateResult | undefined
}

export const messageView = ({
  role,
  label,
  isGrowing,
  above,
  below,
  body,
  editor,
}: MessageView): TemplateResult =>
  html`<article class="message ${role} ${isGrowing ? 'growing' : ''}" part="message message-${role}"
    aria-label=${label} aria-busy=${isGrowing}>
    ${above}${editor ?? html`<div class="body" dir="auto">${body}</div>`}${below}
  </article>`

/** The model's thought before its answer. Collapsed, because thoughts are long and not the answer. */
export const thoughtsView = (
  thoughts: string | undefined,
  isThinking: boolean,
  words: CommonWords,
): TemplateResult | typeof nothing =>
  thoughts === undefined
    ? nothing
    : html`<details class="thoughts" part="thoughts"><summary>${isThinking ? words.thinking : words.thought}</summary>
        <div dir="auto">${thoughts}</div></details>`

/** Placeholder for the first word of an answer. */
export const WAITING = html`<span class="waiting"><i></i><i></i><i></i></span>`
