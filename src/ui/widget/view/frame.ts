// The frame of the chat. In: texts, state. Out: the templates of the title bar, of the empty log, and of a
// bubble's button.
import { html, nothing, type TemplateResult } from 'lit'
import { drawing, PATHS } from '../../chat/icons.ts'
import type { Words } from '../../words/english.ts'

/** Draws an icon. */
export const icon = drawing({
  ...PATHS,
  chat: 'M5 5h14a1.5 1.5 0 0 1 1.5 1.5v9A1.5 1.5 0 0 1 19 17h-7l-4.5 3.5V17H5a1.5 1.5 0 0 1-1.5-1.5v-9A1.5 1.5 0 0 1 5 5M8 9.5h8M8 12.5h5',
  clear: 'M12 20h8M5 16L15.5 5.5l3 3L8 19H5z',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  alert: 'M12 8v5M12 16.5v.1M12 3.5a8.5 8.5 0 1 0 0 17a8.5 8.5 0 0 0 0-17',
  tool: 'M14.5 6.5a4 4 0 0 0 4.8 5.2L11 20a2.1 2.1 0 0 1-3-3l8.3-8.3',
  attach: 'M4 6h16v12H4zM4 15l4.5-4.5l4 4l2.5-2.5L20 16.5M15.5 9.5h.01',
  camera: 'M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 10a3.2 3.2 0 1 0 0 6.4a3.2 3.2 0 0 0 0-6.4',
  quote: 'M5 7h14M5 12h14M5 17h8',
  clip: 'M19 11.5l-7 7a4.6 4.6 0 0 1-6.5-6.5l7.6-7.6a3 3 0 0 1 4.3 4.3l-7.5 7.5a1.5 1.5 0 0 1-2.1-2.1l6.6-6.6',
})

interface BarView {
  readonly words: Words
  readonly heading: string
  /** Starts a new conversation; undefined while the current one is empty. */
  readonly onClear: (() => void) | undefined
  /** Closes the panel; undefined if it cannot be closed. */
  readonly onClose: (() => void) | undefined
}

export function barView({ words, heading, onClear, onClose }: BarView): TemplateResult {
  return html`<header class="bar" part="header">
    <h2 dir="auto"><slot name="header">${heading}</slot></h2>
    ${
      onClear === undefined
        ? nothing
        : html`<button type="button" class="quiet clear" part="button" aria-label=${words.clear} title=${words.clear}
            @click=${onClear}>${icon('clear')}</button>`
    }
    ${
      onClose === undefined
        ? nothing
        : html`<button type="button" class="quiet close" part="button" aria-label=${words.close} title=${words.close}
            @click=${onClose}>${icon('close')}</button>`
    }
  </header>`
}

interface EmptyView {
  readonly words: Words
  readonly suggestions: readonly string[]
  readonly canSend: boolean
  readonly onSuggest: (text: string) => void
}

export function emptyView({ words, suggestions, canSend, onSuggest }: EmptyView): TemplateResult {
  const suggestion = (text: string) =>
    html`<li><button type="button" part="suggestion" dir="auto" ?disabled=${!canSend} @click=${() => onSuggest(text)}>${text}</button></li>`
  return html`<div class="empty" part="empty">
    <slot name="empty"><span class="mark">${icon('chat')}</span><p>${words.empty}</p></slot>
    ${
      suggestions.length === 0
        ? nothing
        : html`<ul class="suggestions" aria-label=${words.suggestions}>${suggestions.map(suggestion)}</ul>`
    }
  </div>`
}

export function launcherView(words: Words, isOpen: boolean, onToggle: () => void): TemplateResult {
  return html`<button type="button" class="launcher" part="launcher" aria-label=${isOpen ? words.close : words.open}
    aria-expanded=${isOpen} aria-controls="panel" @click=${onToggle}>
    <slot name="launcher">${icon(isOpen ? 'close' : 'chat')}</slot></button>`
}

/** Offered for an unanswered question of an earlier visit, or one stopped before its answer began. */
export function waitingView(words: Words, onRetry: () => void): TemplateResult {
  return html`<div class="notice loading" part="notice"><div class="row">
    <button type="button" class="outline retry" part="button" @click=${onRetry}>${icon('again')}<span>${words.retry}</span></button>
  </div></div>`
}
