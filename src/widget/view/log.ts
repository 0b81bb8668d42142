// The log. In: a conversation's entries. Out: its messages, or the empty state, and the way to its end.
import { html, nothing, type TemplateResult } from 'lit'
import { guard } from 'lit/directives/guard.js'
import { repeat } from 'lit/directives/repeat.js'
import { GrowingMarkdown, inParts } from '../../chat-ui/markdown/markdown.ts'
import { copyText, renderMarkdown } from '../../chat-ui/markdown/render-markdown.ts'
import { fill } from '../../chat-ui/texts.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { Entry, Passage, ToolRun } from '../conversation/entries.ts'
import type { Words } from '../words.ts'
import { emptyView, icon } from './frame.ts'

/** How long a button shows that it has copied, in milliseconds. */
const COPIED_MS = 1500

interface MessageView {
  readonly entry: Entry
  readonly words: Words
  /** True while its text grows. */
  readonly isGrowing: boolean
  /** Answers again; undefined for all but the last answer, and while another is given. */
  readonly onAgain: (() => void) | undefined
}

/** `markdown` parses the text; for one that grows it must be the same each time. */
function messageView(
  { entry, words, isGrowing, onAgain }: MessageView,
  markdown = new GrowingMarkdown(),
): TemplateResult {
  const { role, content, thoughts, ending, passages = [], toolRuns = [] } = entry
  const isAnswer = role === 'assistant'
  return html`<article class="message ${role} ${isGrowing ? 'growing' : ''}" part="message message-${role}"
    aria-label=${isAnswer ? words.model : words.you} aria-busy=${isGrowing}>
    ${
      thoughts === undefined
        ? nothing
        : html`<details class="thoughts" part="thoughts">
            <summary>${isGrowing && content === '' ? words.thinking : words.thought}</summary>
            <p dir="auto">${thoughts}</p>
          </details>`
    }
    ${toolRuns.map((run) => toolView(run, words))}
    <div class="body" dir="auto">${
      isAnswer
        ? content === ''
          ? waiting(isGrowing, toolRuns)
          : renderMarkdown(inParts(markdown.blocks(content)), 0, { words })
        : content
    }</div>
    ${passages.length === 0 || isGrowing ? nothing : sourcesView(passages, words)}
    ${ending === undefined ? nothing : html`<p class="ending">${ending === 'length' ? words.cut : words.stopped}</p>`}
    ${
      isGrowing || !isAnswer
        ? nothing
        : html`<div class="actions" part="actions">
            <button type="button" class="small" @click=${(event: Event) => copy(event, content, words)}>${icon('copy')}<span>${words.copy}</span></button>
            ${onAgain === undefined ? nothing : html`<button type="button" class="small again" @click=${onAgain}>${icon('again')}<span>${words.again}</span></button>`}
          </div>`
    }
  </article>`
}

const waiting = (isGrowing: boolean, runs: readonly ToolRun[]) =>
  isGrowing && runs.at(-1)?.state !== 'running'
    ? html`<span class="waiting"><i></i><i></i><i></i></span>`
    : nothing

function toolView(run: ToolRun, words: Words): TemplateResult {
  const label = { running: words.toolRunning, done: words.toolDone, failed: words.toolFailed }[run.state]
  const json = JSON.stringify(run.arguments, undefined, 2)
  return html`<details class="tool ${run.state}" part="tool">
    <summary>${icon('tool')}<span dir="auto">${fill(label, { name: run.label })}</span></summary>
    ${json === '{}' ? nothing : html`<p>${words.toolArguments}</p><pre tabindex="0" dir="ltr">${json}</pre>`}
    ${run.result === undefined ? nothing : html`<p>${words.toolResult}</p><pre tabindex="0" dir="auto">${run.result}</pre>`}
  </details>`
}

function sourcesView(passages: readonly Passage[], words: Words): TemplateResult {
  return html`<details class="sources" part="sources">
    <summary>${icon('quote')}<span>${words.sources} (${passages.length})</span></summary>
    <ol>
      ${passages.map((passage, index) => {
        const name = passage.title ?? fill(words.source, { number: index + 1 })
        return html`<li part="source">
          <cite dir="auto">${
            isLink(passage.url)
              ? html`<a href=${passage.url} target="_blank" rel="noopener noreferrer">${name}</a>`
              : name
          }</cite>
          <blockquote dir="auto">${passage.text}</blockquote>
        </li>`
      })}
    </ol>
  </details>`
}

/** Kept conversations hold addresses too: nothing that runs must get into a link. */
const isLink = (url: string | undefined): url is string =>
  url !== undefined &&
  URL.canParse(url, document.baseURI) &&
  ['https:', 'http:'].includes(new URL(url, document.baseURI).protocol)

async function copy(event: Event, text: string, words: Words): Promise<void> {
  const label = (event.currentTarget as HTMLElement).querySelector('span')
  if (!(await copyText(text)) || label === null) return
  label.textContent = words.copied
  setTimeout(() => {
    label.textContent = words.copy
  }, COPIED_MS)
}

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
