// One message. In: its role and text, and its buttons' actions. Out: the bubble with its actions.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { copyButton } from '../../../src/ui/chat/copy.ts'
import { isComposing, sends } from '../../../src/ui/chat/keys.ts'
import { type Block, GrowingMarkdown, inParts } from '../../../src/ui/chat/markdown/markdown.ts'
import { renderMarkdown } from '../../../src/ui/chat/markdown/render-markdown.ts'
import { messageView, thoughtsView, WAITING } from '../../../src/ui/chat/message.ts'
import { visibleText } from '../../../src/ui/chat/visible.ts'
import { icon } from '../shell/icons.ts'
import { allWords, Speaks, t } from '../words/words.ts'
import { splitQuotes, type TextFile, withQuotes } from './files/attachments.ts'
import { pictureView, readView, usedView } from './files/views.ts'
import { partsOf } from './render/thoughts.ts'
import { RichText } from './rich/rich-text.ts'
import { type Ending, isSaid, type Said, type StoredMessage } from './store/conversations.ts'
import { versionIndexOf } from './store/versions.ts'

const ENDINGS = {
  cancelled: 'endingCancelled',
  length: 'endingLength',
  interrupted: 'endingInterrupted',
  loop: 'endingLoop',
} as const satisfies Readonly<Record<Ending, string>>

/** The actions of message buttons. A message is identified by its index in the conversation. */
export interface MessageActs {
  /** Regenerates the answer to the last question. */
  regenerate(): void
  /** Offers other models to answer the last question again. */
  askOther(): void
  /** Continues the last answer. */
  goOn(): void
  /** Replaces this question with another. */
  resend(index: number, said: Said): void
  /** Shows another version. */
  turn(index: number, step: 1 | -1): void
  /** Forks the conversation here. */
  fork(index: number): void
}

/** Longer questions, in characters or lines, are collapsed. */
const MAX_SHOWN = 1200
const MAX_LINES = 16

/** Characters parsed between checks of the clock. */
const AT_ONCE = 500

/** A message. It renders into the page's own tree, so one style sheet serves all. */
export class ChatMessage extends LitElement {
  static override properties = {
    message: { attribute: false },
    index: { attribute: false },
    acts: { attribute: false },
    streaming: { type: Boolean },
    last: { type: Boolean },
    busy: { type: Boolean },
    mixed: { type: Boolean },
    tail: { attribute: false },
    editing: { state: true },
    reading: { state: true },
    voiceless: { state: true },
    unfolded: { state: true },
  }
  declare message: StoredMessage
  declare index: number
  declare acts: MessageActs
  /** True while its text is streaming. */
  declare streaming: boolean
  /** True for the newest message, whose answer can be generated again. */
  declare last: boolean
  /** True while changes are disabled. */
  declare busy: boolean
  /** True if the conversation's answers are from several models, so that each names its model. */
  declare mixed: boolean
  /**
   * Minimum number of characters shown at the end of an answer. A long answer appears from its end, once
   * parsed.
   */
  declare tail: number
  declare editing: boolean
  /** True while it is being read aloud. */
  declare reading: boolean
  /** True once it is known that this device has no voice. */
  declare voiceless: boolean
  /** True while a long question is expanded. */
  declare unfolded: boolean
  readonly #markdown = new GrowingMarkdown()
  readonly #rich = new RichText(this)
  /** Stops reading aloud. */
  #silence = new AbortController()
  /** Characters parsed so far. */
  #read = 0

  constructor() {
    super()
    new Speaks(this)
    this.tail = Number.POSITIVE_INFINITY
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    const { role, read, used } = this.message
    return messageView({
      role,
      label: t(role === 'user' ? 'you' : 'model'),
      isGrowing: this.streaming,
      above: html`${read === undefined ? nothing : readView(read)}
        ${used === undefined ? nothing : usedView(used)}`,
      body: role === 'user' ? this.#question() : this.#answer(),
      editor: this.editing ? this.#editor() : undefined,
      below: this.streaming || this.editing ? nothing : html`${this.#offer()}${this.#actions()}`,
    })
  }

  /** A question as typed, below its images. Its files are collapsed, and so is a long text. */
  #question(): TemplateResult {
    const { text, files } = splitQuotes(this.message.content)
    const isLong = text.length > MAX_SHOWN || text.split('\n').length > MAX_LINES
    const isFolded = isLong && !this.unfolded
    const toggle = () => {
      this.unfolded = !this.unfolded
    }
    return html`${picturesView(this.message)}${isFolded ? beginning(text) : text}${
      isLong
        ? html`<button class="small fold" aria-expanded=${!isFolded} @click=${toggle}>${t(isFolded ? 'showAll' : 'showLess')}</button>`
        : nothing
    }${filesView(files)}`
  }

  #answer(): TemplateResult {
    const { thoughts, isThinking, answer: content } = partsOf(this.message, this.streaming)
    const folded = thoughtsView(thoughts, isThinking, allWords())
    // One template for every state: a different one would recreate the thoughts, and collapse those that were
    // opened.
    return html`${folded}${this.#said(content)}`
  }

  #said(content: string): unknown {
    if (content === '') return this.streaming ? WAITING : nothing
    const isPart = this.tail < content.length
    if (isPart && this.#read < content.length) return nothing
    const parts = inParts(this.#markdown.blocks(content))
    return renderMarkdown(parts, isPart ? firstOfEnd(parts, this.tail) : 0, {
      words: allWords(),
      rich: this.#rich.forms,
    })
  }

  /** Renders changes in this task. */
  showNow(): void {
    if (this.isUpdatePending) this.performUpdate()
  }

  /** Parses for about `ms` milliseconds. Returns true once everything is parsed and more can be shown. */
  read(ms: number): boolean {
    const { answer: content } = partsOf(this.message)
    const end = performance.now() + ms
    while (this.#read < content.length && performance.now() < end) {
      this.#read = Math.min(content.length, this.#read + AT_ONCE)
      this.#markdown.blocks(content.slice(0, this.#read))
    }
    return this.#read >= content.length
  }

  /** Other models, below a question that the embedded one declined. */
  #offer(): TemplateResult | typeof nothing {
    if (!this.last || !this.message.declined) return nothing
    void import('../models/offer/model-offer.ts')
    return html`<model-offer></model-offer>`
  }

  #actions(): TemplateResult {
    const { role, ending, model } = this.message
    const { answer } = partsOf(this.message)
    // A thought without an answer cannot be continued, only regenerated.
    const hasAnswer = answer.trim() !== ''
    return html`<div class="actions">
      ${copyButton(answer, allWords())}
      ${role === 'user' ? html`<button class="small" ?disabled=${this.busy} @click=${this.#edit}>${icon('edit')}${t('edit')}</button>` : nothing}
      ${
        this.last
          ? html`<button class="small" ?disabled=${this.busy} @click=${() => this.acts.regenerate()}>${icon('again')}${t(role === 'user' ? 'answer' : 'regenerate')}</button>`
          : nothing
      }
      ${
        this.last && role === 'assistant'
          ? html`<button class="small" ?disabled=${this.busy} aria-label=${t('askOther')} title=${t('askOther')} @click=${() => this.acts.askOther()}>${icon('more')}</button>`
          : nothing
      }
      ${
        this.last && role === 'assistant' && ending !== undefined && hasAnswer
          ? html`<button class="small" ?disabled=${this.busy} @click=${() => this.acts.goOn()}>${icon('next')}${t('continue')}</button>`
          : nothing
      }
      ${
        role === 'user'
          ? nothing
          : html`<button class="small" ?disabled=${this.busy} @click=${() => this.acts.fork(this.index)}
              aria-label=${t('forkMore')} title=${t('forkMore')}>${icon('fork')}</button>
            ${'speechSynthesis' in window ? this.#reader() : nothing}`
      }
      ${this.#versions()}
      ${ending === undefined ? nothing : html`<span class="ending">${t(ENDINGS[ending])}</span>`}
      ${this.mixed && model !== undefined ? html`<span class="by" dir="auto" title=${t('by')}>${model}</span>` : nothing}
    </div>`
  }

  #reader(): TemplateResult {
    if (this.voiceless) return html`<span class="ending" role="status">${t('noVoice')}</span>`
    const [drawn, label] = this.reading
      ? (['stop', 'stopReading'] as const)
      : (['sound', 'readAloud'] as const)
    return html`<button class="small" aria-label=${t(label)} title=${t(label)} @click=${this.#toggleReading}>${icon(drawn)}</button>`
  }

  async #toggleReading(): Promise<void> {
    if (this.reading) return this.#silence.abort()
    this.#silence = new AbortController()
    this.reading = true
    try {
      const { readAloud } = await import('./speech/read-aloud.ts')
      const body = this.querySelector('.body')
      this.voiceless = body !== null && !(await readAloud(body, this.#silence.signal))
    } finally {
      this.reading = false
    }
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#silence.abort()
  }

  #versions(): TemplateResult | typeof nothing {
    const { others = [] } = this.message
    if (others.length === 0) return nothing
    const place = versionIndexOf(this.message)
    const step = (by: 1 | -1, label: 'versionEarlier' | 'versionLater') =>
      html`<button class="small" ?disabled=${this.busy || (by < 0 ? place === 0 : place === others.length)}
        aria-label=${t(label)} @click=${() => this.#turn(by)}>${icon(by < 0 ? 'back' : 'next')}</button>`
    return html`<span class="versions" role="group" aria-label=${t('versions')}>
      ${step(-1, 'versionEarlier')}<span role="status"><span class="visually-hidden">${t('version')} </span>${place + 1}/${others.length + 1}</span>${step(1, 'versionLater')}
    </span>`
  }

  /** The pressed button may now be disabled. */
  async #turn(step: 1 | -1): Promise<void> {
    this.acts.turn(this.index, step)
    await new Promise(requestAnimationFrame)
    const { activeElement } = document
    if (activeElement === document.body || activeElement?.matches('.versions :disabled'))
      this.querySelector<HTMLElement>('.versions button:enabled')?.focus()
  }

  #editor(): TemplateResult {
    const { text, files } = splitQuotes(this.message.content)
    return html`<form class="edit" @submit=${this.#resend} @keydown=${this.#onKey}>
      <textarea name="text" rows="3" dir="auto" aria-label=${t('editor')} .value=${text}></textarea>
      ${filesView(files)}${picturesView(this.message)}
      <div class="row">
        <button type="button" class="outline" @click=${this.#cancel}>${t('cancel')}</button>
        <button class="primary">${t('sendAgain')}</button>
      </div>
    </form>`
  }

  async #edit(): Promise<void> {
    this.editing = true
    await this.updateComplete
    const area = this.querySelector('textarea')
    area?.focus()
    area?.setSelectionRange(area.value.length, area.value.length)
  }

  async #cancel(): Promise<void> {
    this.editing = false
    await this.updateComplete
    this.#focusAction(2)
  }

  /** The editor that had focus is gone. While the model answers, only the first button is enabled. */
  #focusAction(place: number): void {
    this.querySelector<HTMLElement>(`.actions button:nth-of-type(${place})`)?.focus()
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key === 'Escape' && !isComposing(event)) void this.#cancel()
    if (sends(event)) this.#resend(event)
  }

  #resend(event: Event): void {
    event.preventDefault()
    const { content: before, pictures } = this.message
    const { files } = splitQuotes(before)
    // The attached files and images stay.
    const content = withQuotes(visibleText(this.querySelector('textarea')?.value ?? ''), files)
    const said: Said = { content, ...(pictures && { pictures }) }
    if (!isSaid(said) || this.busy) return
    this.editing = false
    void this.updateComplete.then(() => this.#focusAction(1))
    this.acts.resend(this.index, said)
  }
}

/** The first characters or lines, without splitting an emoji. */
function beginning(text: string): string {
  const lines = text.split('\n').slice(0, MAX_LINES).join('\n')
  return `${[...lines.slice(0, MAX_SHOWN / 2 + 1)]
    .slice(0, MAX_SHOWN / 2)
    .join('')
    .trimEnd()}…`
}

const picturesView = ({ pictures }: Said) =>
  pictures === undefined ? nothing : html`<div class="pictures">${pictures.map(pictureView)}</div>`

const filesView = (files: readonly TextFile[]) =>
  files.map(
    (file) =>
      html`<details class="file"><summary dir="auto">${icon('file')}${file.name}</summary><div dir="auto">${file.text}</div></details>`,
  )

/**
 * Index of the first part such that the parts from there on have at least `letters` characters, or the last
 * part.
 */
function firstOfEnd(parts: readonly (readonly Block[])[], letters: number): number {
  const lengths = parts.map((blocks) => blocks.reduce((sum, { source }) => sum + source.length, 0))
  let first = Math.max(0, parts.length - 1)
  let left = letters - (lengths[first] ?? 0)
  while (first > 0 && left > 0) left -= lengths[--first] ?? 0
  return first
}

customElements.define('chat-message', ChatMessage)
