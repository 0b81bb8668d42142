// An error as shown to users: a sentence, with the library's message collapsed below.
import { html, nothing, type TemplateResult } from 'lit'
import type { CommonWords } from '../words/english.ts'

export interface Explained {
  /** What happened, and what to do. */
  readonly text: string
  /** The original message, if it says more. */
  readonly details: string | undefined
}

export const detailsView = ({ details }: Explained, words: CommonWords): TemplateResult | typeof nothing =>
  details === undefined
    ? nothing
    : html`<details><summary>${words.details}</summary><p class="reason" dir="auto">${details}</p></details>`
