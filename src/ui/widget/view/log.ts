// The log. In: a conversation's entries. Out: its messages, or the empty state, and the button that jumps to
// the end.
import { html, nothing, type TemplateResult } from 'lit'
import { guard } from 'lit/directives/guard.js'
import { repeat } from 'lit/directives/repeat.js'
import { copyButton } from '../../chat/copy.ts'
import { GrowingMarkdown, inParts } from '../../chat/markdown/markdown.ts'
import { renderMarkdown } from '../../chat/markdown/render-markdown.ts'
import { messageView, thoughtsView, WAITING } from '../../chat/message.ts'
import { placeText } from '../../documents/place-text.ts'
import type { Words } from '../../words/english.ts'
import { numberText, say } from '../../words/message.ts'
import type { Conversation } from '../conversation/conversation.ts'
import type { Entry, Passage, ToolRun } from '../conversation/entries.ts'
import { documentsView } from './documents.ts'
import { emptyView, icon } from './frame.ts'
import { picturesView } from './pictures.ts'

interface EntryView {
  readonly entry: Entry
  readonly words: Words
  /** For numbers. */
  readonly language: string
  /** True while its text is streaming. */
  readonly isGrowing: boolean
  /** Regenerates the answer; undefined for all but the last answer, and while an answer is in progress. */
  readonly onAgain: (() => void) | undefined
}

/** The words for each reason why an answer ended early. */
const ENDINGS = { stopped: 'stopped', length: 'cut', loop: 'looped' } as const

/** `markdown` parses the text; for a streaming text it must be the same function each time. */
function entryMessage(view: EntryView, markdown = new GrowingMarkdown()): TemplateResult {
  const { entry, words, language, isGrowing } = view
  const { role, content, thoughts, toolRuns = [] } = entry
  return messageView({
    role,
    label: role === 'assistant' ? words.model : words.you,
    isGrowing,
    above: [
      thoughtsView(thoughts, isGrowing && content === '', words),
      toolRuns.map((run) => toolView(run, words, language)),
    ],
    body:
      role === 'user'
        ? html`${picturesView(entry.pictures, words, language)}${content}${documentsView(entry.documents)}`
        : answer(view, markdown),
    below: below(view),
  })
}

function answer({ entry, words, isGrowing }: EntryView, markdown: GrowingMarkdown): unknown {
  const { content, toolRuns = [] } = entry
  if (content !== '') return renderMarkdown(inParts(markdown.blocks(content)), 0, { words })
  return isGrowing && toolRuns.at(-1)?.state !== 'running' ? WAITING : nothing
}

function below({ entry, words, language, isGrowing, onAgain }: EntryView): unknown {
  const { role, content, ending, passages = [] } = entry
  if (isGrowing || role === 'user') return nothing
  return html`
    ${passages.length === 0 ? nothing : sourcesView(passages, words, language)}
    ${ending === undefined ? nothing : html`<p class="ending">${words[ENDINGS[ending]]}</p>`}
    <div class="actions" part="actions">
      ${copyButton(content, words)}
      ${onAgain === undefined ? nothing : html`<button type="button" class="small again" @click=${onAgain}>${icon('again')}<span>${words.again}</span></button>`}
    </div>`
}

function toolView(run: ToolRun, words: Words, language: string): TemplateResult {
  const label = { running: words.toolRunning, done: words.toolDone, failed: words.toolFailed }[run.state]
  const json = JSON.stringify(run.arguments, undefined, 2)
  return html`<details class="tool ${run.state}" part="tool">
    <summary>${icon('tool')}<span dir="auto">${say(label, { name: run.label }, language)}</span></summary>
    ${json === '{}' ? nothing : html`<p>${words.toolArguments}</p><pre tabindex="0" dir="ltr">${json}</pre>`}
    ${run.result === undefined ? nothing : html`<p>${words.toolResult}</p><pre tabindex="0" dir="auto">${run.result}</pre>`}
  </details>`
}

function sourcesView(passages: readonly Passage[], words: Words, language: string): TemplateResult {
  return html`<details class="sources" part="sources">
    <summary>${icon('quote')}<span>${words.sources} (${numberText(passages.length, language)})</span></summary>
    <ol>
      ${passages.map((passage, index) => {
        const where = passage.place === undefined ? '' : placeText(passage.place, words, language)
        const name = passage.title ?? say(words.source, { number: index + 1 }, language)
        return html`<li part="source">
          <cite dir="auto">${
            isLink(passage.url)
              ? html`<a href=${placed(passage.url, passage.text)} target="_blank" rel="noopener noreferrer">${name}</a>`
              : name
          }${where === '' ? nothing : `, ${where}`}</cite>
          <blockquote dir="auto">${passage.text}</blockquote>
        </li>`
      })}
    </ol>
  </details>`
}

/** Number of words of a passage in the text fragment of its link. */
const MAX_WORDS = 8

/** The address with a text fragment, so that browsers jump to the passage. */
function placed(url: string, text: string): string {
  const [line = ''] = text.split('\n')
  const words = encodeURIComponent(line.trim().split(/\s+/).slice(0, MAX_WORDS).join(' '))
  return `${url}${url.includes('#') ? '' : '#'}:~:text=${words.replaceAll('-', '%2D')}`
}

/** Stored conversations contain addresses too, so links must not be executable. */
const isLink = (url: string | undefined): url is string =>
  url !== undefined &&
  URL.canParse(url, document.baseURI) &&
  ['https:', 'http:'].includes(new URL(url, document.baseURI).protocol)

interface EntriesView {
  readonly words: Words
  /** For numbers. */
  readonly language: string
  readonly entries: readonly Entry[]
  readonly activity: Conversation['activity']
  readonly suggestions: readonly string[]
  readonly canSend: boolean
  /** Renders the answer in progress. */
  readonly growing: GrowingMarkdown
  readonly onSuggest: (text: string) => void
  readonly onAgain: () => void
}

/** The contents of the log. */
export function entriesView(view: EntriesView): TemplateResult {
  const { words, entries, activity, suggestions, canSend, onSuggest } = view
  if (entries.length === 0) return emptyView({ words, suggestions, canSend, onSuggest })
  const keyOf = (_: unknown, index: number) => index
  return html`${repeat(entries, keyOf, (_, index) => entryView(view, index))}
    ${activity === undefined ? nothing : activityView(activity, words, view.language)}`
}

function activityView(
  activity: NonNullable<Conversation['activity']>,
  words: Words,
  language: string,
): unknown {
  if (activity.name === 'answering') return nothing
  const { done, total } = activity
  if (activity.name === 'searching')
    return html`<p class="searching">${say(words.searching, { done, total }, language)}</p>`
  return html`<label class="searching">${say(words.readingPrompt, { done, total }, language)}
    <progress max=${total} value=${done}></progress></label>`
}

function entryView(
  { entries, activity, words, language, canSend, growing, onAgain }: EntriesView,
  index: number,
): unknown {
  const entry = entries[index] as Entry
  const isLast = index === entries.length - 1
  const isGrowing = isLast && activity !== undefined && entry.role === 'assistant'
  const again = isLast && canSend ? onAgain : undefined
  const message = { entry, words, language, isGrowing, onAgain: again }
  if (isGrowing) return entryMessage(message, growing)
  return guard([entry, words, language, again === undefined], () => entryMessage(message))
}
