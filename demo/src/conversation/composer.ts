// The composer. In: whether the engine is ready or answering. Out: events `send`, with the text and quoted
// files, and `stop`.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit'
import { isTouch, sends } from '../../../src/widget/view/composer.ts'
import { icon } from '../shell/icons.ts'
import { Speaks, t } from '../words/words.ts'
import { type Attachment, readTexts, withQuotes } from './attachments.ts'
import { canListen, type Listening, listenTo } from './voice.ts'

export class ChatComposer extends LitElement {
  static override properties = {
    ready: { type: Boolean },
    busy: { type: Boolean },
    hint: { type: String },
    attached: { state: true },
    wrong: { state: true },
    hears: { state: true },
    listening: { state: true },
  }
  declare ready: boolean
  declare busy: boolean
  /** Placeholder of the empty field. */
  declare hint: string
  /** Text files that go with the next message. */
  declare attached: readonly Attachment[]
  /** Why files were not attached. */
  declare wrong: string
  /** True where the platform recognises speech on this device. */
  declare hears: boolean
  /** Set while the person speaks. */
  declare listening: Listening | undefined

  constructor() {
    super()
    new Speaks(this)
    this.attached = []
    this.wrong = ''
    this.hears = false
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override focus(): void {
    this.querySelector('textarea')?.focus()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    void canListen(navigator.language).then((can) => {
      this.hears = can
    })
  }

  /** Writes what the person says after what is there already. */
  async #listen(): Promise<void> {
    if (this.listening !== undefined) return this.listening.stop()
    const before = this.querySelector('textarea')?.value.trim() ?? ''
    this.listening = listenTo(navigator.language, (text) => this.write(`${before} ${text}`.trim()))
    await this.listening.ended
    this.listening = undefined
    this.focus()
  }

  /** Puts a text into the field, for the person to send. */
  write(text: string): void {
    const area = this.querySelector('textarea')
    if (area === null) return
    area.value = text
    this.#fit()
    this.focus()
  }

  /** Adds text files to the message, or says why not. */
  async attach(files: readonly File[]): Promise<void> {
    this.wrong = ''
    try {
      const texts = await readTexts(files, this.attached.length)
      this.attached = [...this.attached, ...texts]
    } catch (error) {
      this.wrong = error instanceof Error ? error.message : String(error)
    }
    this.focus()
  }

  protected override render(): TemplateResult {
    return html`${this.wrong === '' ? nothing : html`<p class="notice error" role="alert" dir="auto">${this.wrong}</p>`}
    <form class="composer" @submit=${this.#onSubmit} @click=${this.#onClick}>
      ${this.attached.length === 0 ? nothing : this.#files()}
      <button type="button" class="quiet" aria-label=${t('attach')} @click=${this.#pick}>${icon('attach')}</button>
      <input class="visually-hidden" type="file" multiple tabindex="-1" aria-hidden="true" @change=${this.#onPicked} />
      <textarea rows="1" aria-label=${t('message')} dir="auto" enterkeyhint=${isTouch() ? 'enter' : 'send'} placeholder=${this.hint}
        @keydown=${this.#onKey} @input=${this.#fit} @paste=${this.#onPaste}></textarea>
      ${
        this.hears
          ? html`<button type="button" class="quiet" aria-pressed=${this.listening !== undefined} aria-label=${t('speak')}
              @click=${this.#listen}>${icon('speak')}</button>`
          : nothing
      }
      ${
        this.busy
          ? html`<button type="button" class="round stop" aria-label=${t('stop')} title=${t('stopKey')}
              aria-keyshortcuts="Escape" @click=${this.#stop}>${icon('stop')}</button>`
          : html`<button class="round" aria-label=${t('send')} ?disabled=${!this.ready}>${icon('send')}</button>`
      }
    </form>`
  }

  #files(): TemplateResult {
    return html`<ul class="attached" aria-label=${t('attached')}>
      ${this.attached.map(
        (file) => html`<li><span dir="auto">${file.name}</span>
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

  protected override updated(changed: PropertyValues<this>): void {
    // The button that had the focus was replaced.
    if (changed.has('busy') && this.#hadFocus) this.querySelector<HTMLElement>('.round')?.focus()
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('busy')) this.#hadFocus = this.querySelector('.round') === document.activeElement
  }

  #hadFocus = false

  #onKey(event: KeyboardEvent): void {
    if (sends(event)) this.#onSubmit(event)
  }

  /** A click anywhere in the composer focuses the field. */
  #onClick(event: Event): void {
    if (event.target === event.currentTarget) this.focus()
  }

  #onSubmit(event: Event): void {
    event.preventDefault()
    const area = this.querySelector('textarea')
    const text = withQuotes(area?.value.trim() ?? '', this.attached)
    if (area === null || text === '' || !this.ready || this.busy) return
    this.listening?.stop()
    area.value = ''
    this.attached = []
    this.wrong = ''
    this.#fit()
    this.dispatchEvent(new CustomEvent('send', { detail: text }))
  }

  /** Grows with its text in browsers whose CSS cannot do it. */
  #fit(): void {
    const area = this.querySelector('textarea')
    if (area === null || CSS.supports('field-sizing', 'content')) return
    area.style.height = 'auto'
    area.style.height = `${area.scrollHeight + 2}px`
  }

  #stop(): void {
    this.dispatchEvent(new CustomEvent('stop'))
  }
}

customElements.define('chat-composer', ChatComposer)
