// The composer. In: whether something can be sent. Out: the form for a message.
import { html, type TemplateResult } from 'lit'
import type { Words } from '../words.ts'
import { icon } from './frame.ts'

/** True where a finger types: there Enter makes a new line, as in other apps of a phone. */
export const isTouch = (): boolean => window.matchMedia('(hover: none) and (pointer: coarse)').matches

/** Enter sends at a desktop; Control or Command with Enter sends everywhere. */
export function sends(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' || event.isComposing || event.shiftKey) return false
  return event.ctrlKey || event.metaKey || !isTouch()
}

export interface ComposerView {
  readonly words: Words
  readonly placeholder: string
  /** True while an answer can be stopped. */
  readonly isAnswering: boolean
  /** False while a message could not be answered next. */
  readonly canSend: boolean
  /** Gets the trimmed text. */
  readonly onSend: (text: string) => void
  readonly onStop: () => void
}

/** Characters of a message: far more than a model reads, and few enough for every step before it. */
const MOST_LETTERS = 200_000

export function composerView({
  words,
  placeholder,
  isAnswering,
  canSend,
  onSend,
  onStop,
}: ComposerView): TemplateResult {
  const submit = (event: Event) => {
    event.preventDefault()
    const area = (event.currentTarget as HTMLElement).closest('form')?.querySelector('textarea')
    const text = area?.value.trim() ?? ''
    if (area == null || text === '' || !canSend) return
    area.value = ''
    grow(area)
    onSend(text)
  }
  return html`<form class="composer" part="composer" @submit=${submit}>
    <textarea part="input" rows="1" dir="auto" maxlength=${MOST_LETTERS} aria-label=${words.message} placeholder=${placeholder}
      enterkeyhint=${isTouch() ? 'enter' : 'send'}
      @keydown=${(event: KeyboardEvent) => {
        if (sends(event)) submit(event)
      }}
      @input=${(event: Event) => grow(event.currentTarget as HTMLTextAreaElement)}></textarea>
    ${
      isAnswering
        ? html`<button type="button" class="round stop" part="button-primary stop" aria-label=${words.stop} title=${words.stop}
            aria-keyshortcuts="Escape" @click=${onStop}>${icon('stop')}</button>`
        : html`<button class="round send" part="button-primary send" aria-label=${words.send} title=${words.send}
            ?disabled=${!canSend}>${icon('send')}</button>`
    }
  </form>`
}

/** Grows with its text in browsers whose CSS cannot. A policy takes a set property for no inline style. */
function grow(area: HTMLTextAreaElement): void {
  if (CSS.supports('field-sizing', 'content')) return
  area.style.height = 'auto'
  area.style.height = `${area.scrollHeight + 2}px`
}
