// The composer. In: whether a message can be answered, or one is being answered. Out: events `send`, with the
// message's text, quoted files and pictures, and `stop`.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { Composer } from '../../../src/chat-ui/composer.ts'
import { icon } from '../shell/icons.ts'
import { sessionItem, writeSessionItem } from '../shell/storage.ts'
import { allWords, Speaks, t } from '../words/words.ts'
import { type Attachment, isPicture, type TextFile, withQuotes } from './files/attachments.ts'
import { pictureView } from './files/views.ts'
import type { Said } from './store/conversations.ts'
import { canListen, type Listening, listenTo } from './voice.ts'

/** Key of an unsent text, for this tab alone. */
const DRAFT = 'halfbyte-draft'

export class ChatComposer extends LitElement {
  static override properties = {
    ready: { type: Boolean },
    waiting: { type: Boolean },
    busy: { type: Boolean },
    blind: { type: Boolean },
    hint: { type: String },
    attached: { state: true },
    wrong: { state: true },
    note: { state: true },
    hears: { state: true },
    listening: { state: true },
  }
  /** True if a message is answered at once. */
  declare ready: boolean
  /** True if a message is answered as soon as the model is there. */
  declare waiting: boolean
  declare busy: boolean
  /** True if the model does not see pictures. */
  declare blind: boolean
  /** Placeholder of the empty field. */
  declare hint: string
  /** Files that go with the next message. */
  declare attached: readonly Attachment[]
  /** Why files were not attached. */
  declare wrong: string
  /** What to know of those that were. */
  declare note: string
  /** True where the platform recognises speech on this device. */
  declare hears: boolean
  /** Set while the person speaks. */
  declare listening: Listening | undefined
  readonly #composer = new Composer(this)

  constructor() {
    super()
    new Speaks(this)
    this.attached = []
    this.wrong = ''
    this.note = ''
    this.hears = false
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override focus(): void {
    this.#composer.field?.focus()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    void canListen(navigator.language).then((can) => {
      this.hears = can
    })
  }

  protected override firstUpdated(): void {
    const draft = sessionItem(DRAFT)
    if (draft !== undefined) this.#composer.write(draft)
  }

  /** Keeps what is written in case the page closes; it is there again after a reload of this tab. */
  keepDraft(): void {
    writeSessionItem(DRAFT, this.#composer.field?.value || undefined)
  }

  /** Writes what the person says after what is there already. */
  async #listen(): Promise<void> {
    if (this.listening !== undefined) return this.listening.stop()
    const before = this.#composer.field?.value.trim() ?? ''
    this.listening = listenTo(navigator.language, (text) => this.write(`${before} ${text}`.trim()))
    await this.listening.ended
    this.listening = undefined
    this.focus()
  }

  /** Puts a text into the field, for the person to send. */
  write(text: string): void {
    this.#composer.write(text)
    this.focus()
  }

  /** Adds files to the message, or says why not. */
  async attach(files: readonly File[]): Promise<void> {
    this.wrong = ''
    this.note = ''
    try {
      const { readFiles } = await import('./files/read-files.ts')
      const { attachments, note } = await readFiles(files, this.attached.length, this.blind)
      this.attached = [...this.attached, ...attachments]
      this.note = note
    } catch (error) {
      this.wrong = error instanceof Error ? error.message : String(error)
    }
    this.focus()
  }

  protected override render(): TemplateResult {
    return html`${this.wrong === '' ? nothing : html`<p class="notice error" role="alert" dir="auto">${this.wrong}</p>`}
    ${this.note === '' ? nothing : html`<p class="notice" role="status">${this.note}</p>`}
    ${this.#composer.view({
      words: allWords(),
      placeholder: this.hint,
      stopTitle: t('stopKey'),
      isAnswering: this.busy,
      canSend: this.ready || this.waiting,
      hasMore: this.attached.length > 0,
      above: this.attached.length === 0 ? nothing : this.#files(),
      before: html`<button type="button" class="quiet" aria-label=${t('attach')} @click=${this.#pick}>${icon('attach')}</button>
        <input class="visually-hidden" type="file" multiple tabindex="-1" aria-hidden="true" @change=${this.#onPicked} />`,
      after: this.hears ? this.#voice() : nothing,
      onPaste: (event) => this.#onPaste(event),
      onSend: (text) => this.#send(text),
      onStop: () => this.dispatchEvent(new CustomEvent('stop')),
    })}`
  }

  #voice(): TemplateResult {
    return html`<button type="button" class="quiet" aria-pressed=${this.listening !== undefined} aria-label=${t('speak')}
      @click=${this.#listen}>${icon('speak')}</button>`
  }

  #files(): TemplateResult {
    return html`<ul class="attached" aria-label=${t('attached')}>
      ${this.attached.map(
        (
          file,
        ) => html`<li>${isPicture(file) ? pictureView(file) : nothing}<span dir="auto">${file.name}</span>
          <button type="button" class="quiet" aria-label=${t('removeName', { name: file.name })} @click=${() => this.#remove(file)}>${icon('close')}</button></li>`,
      )}
    </ul>`
  }

  #pick(): void {
    this.querySelector<HTMLInputElement>('input[type=file]')?.click()
  }

  #onPicked(event: Event): void {
    const input = event.target as HTMLInputElement
    const files = [...(input.files ?? [])]
    // The same file can be picked again.
    input.value = ''
    if (files.length > 0) void this.attach(files)
  }

  #onPaste(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])]
    if (files.length === 0) return
    event.preventDefault()
    void this.attach(files)
  }

  #remove(file: Attachment): void {
    this.attached = this.attached.filter((other) => other !== file)
    this.focus()
  }

  #send(text: string): void {
    const pictures = this.attached.filter(isPicture)
    const texts = this.attached.filter((file): file is TextFile => !isPicture(file))
    const detail: Said = { content: withQuotes(text, texts), ...(pictures.length > 0 && { pictures }) }
    this.listening?.stop()
    this.attached = []
    this.wrong = ''
    this.note = ''
    this.dispatchEvent(new CustomEvent('send', { detail }))
  }
}

customElements.define('chat-composer', ChatComposer)
