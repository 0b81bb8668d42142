// An error for people, as page and widget show it: a sentence, and the library's message folded below.
import { html, nothing, type TemplateResult } from 'lit'
import type { CommonWords } from './composer.ts'

export interface Explained {
  /** What happened, and what to do. */
  readonly text: string
  /** The message as it was, if it says more. */
  readonly details: string | undefined
}

export const detailsView = ({ details }: Explained, words: CommonWords): TemplateResult | typeof nothing =>
  details === undefined
    ? nothing
    : html`<details><summary>${words.details}</summary><p class="reason" dir="auto">${details}</p></details>`
