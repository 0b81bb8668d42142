// The log. In: a conversation's entries. Out: its messages, or the empty state, and the way to its end.
import { html, nothing, type TemplateResult } from 'lit'
import { guard } from 'lit/directives/guard.js'
import { repeat } from 'lit/directives/repeat.js'
import type { Conversation } from '../conversation/conversation.ts'
import type { Entry } from '../conversation/entries.ts'
import type { GrowingMarkdown } from '../markdown/markdown.ts'
import { fill, type Words } from '../words.ts'
import { emptyView } from './frame.ts'
import { icon } from './icons.ts'
import { messageView } from './message.ts'

export interface LogView {
  readonly words: Words
  readonly entries: readonly Entry[]
  readonly activity: Conversation['activity']
  readonly suggestions: readonly string[]
  readonly canSend: boolean
  /** The log shows its end. */
  readonly isFollowing: boolean
  /** Draws the answer under way. */
  readonly growing: GrowingMarkdown
  readonly onSuggest: (text: string) => void
  readonly onAgain: () => void
  readonly onScroll: (log: HTMLElement) => void
  readonly onToEnd: () => void
}

export function logView(view: LogView): TemplateResult {
  const { words, entries, activity, suggestions, canSend, isFollowing, onSuggest } = view
  const keyOf = (_: unknown, index: number) => index
  const onScroll = ({ currentTarget }: Event) => view.onScroll(currentTarget as HTMLElement)
  return html`<div class="place">
      <div class="log" part="log" role="log" aria-live="off" tabindex="0" aria-label=${words.conversation} @scroll=${onScroll}>
        ${
          entries.length === 0
            ? emptyView({ words, suggestions, canSend, onSuggest })
            : repeat(entries, keyOf, (_, index) => entryView(view, index))
        }
        ${activity?.name === 'searching' ? html`<p class="searching">${fill(words.searching, activity)}</p>` : nothing}
      </div>
      ${
        isFollowing || entries.length === 0
          ? nothing
          : html`<button type="button" class="to-end" aria-label=${words.toEnd} @click=${view.onToEnd}>${icon('down')}</button>`
      }
    </div>`
}

function entryView({ entries, activity, words, canSend, growing, onAgain }: LogView, index: number): unknown {
  const entry = entries[index] as Entry
  const isLast = index === entries.length - 1
  const isGrowing = isLast && activity !== undefined && entry.role === 'assistant'
  const again = isLast && canSend ? onAgain : undefined
  const message = { entry, words, isGrowing, onAgain: again }
  if (isGrowing) return messageView(message, growing)
  return guard([entry, words, again === undefined], () => messageView(message))
}
