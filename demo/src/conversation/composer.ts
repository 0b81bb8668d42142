// Message input. Emits `send` (text, quoted files, images) and `stop`.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { isHalfbyteError } from '../../../src/index.ts'
import { Composer } from '../../../src/ui/chat/composer.ts'
import { isTouch } from '../../../src/ui/chat/keys.ts'
import type { ModelChoice } from '../models/embedded.ts'
import { icon } from '../shell/icons.ts'
import { sessionItem, writeSessionItem } from '../shell/storage.ts'
import { allWords, Speaks, t } from '../words/words.ts'
import { type Attachment, isPicture, splitQuotes, type TextFile, withQuotes } from './files/attachments.ts'
import type { ComposerFiles } from './files/composer-files.ts'
import { canListen, type Listening, listenTo } from './speech/voice.ts'
import type { Said } from './store/conversations.ts'

/** Storage key of an unsent text, for this tab only. */
const DRAFT = 'halfbyte-draft'
/** Pasted texts longer than this become files. */
const MAX_PASTED = 2000

const isText = (file: Attachment): file is TextFile => !isPicture(file)

export class ChatComposer extends LitElement {
  static override properties = {
    ready: { type: Boolean },
    waiting: { type: Boolean },
    busy: { type: Boolean },
    blind: { type: Boolean },
    context: { attribute: false },
    shown: { attribute: false },
    hint: { type: String },
    attached: { state: true },
    wrong: { state: true },
    note: { state: true },
    reading: { state: true },
    hears: { state: true },
    listening: { state: true },
  }
  /** True if a message is answered immediately. */
  declare ready: boolean
  /** True if a message is answered as soon as the model is loaded. */
  declare waiting: boolean
  declare busy: boolean
  /** True if the model has no vision tower. */
  declare blind: boolean
  /** Tokens of the model's context. Undefined while there is no model. */
  declare context: number | undefined
  /** The model that answers. */
  declare shown: ModelChoice | undefined
  /** Placeholder of the empty field. */
  declare hint: string
  /** Files that go with the next message. */
  declare attached: readonly Attachment[]
  /** Why some files were not attached. */
  declare wrong: string
  /** A note about the attached files. */
  declare note: string
  /** Number of file reads in progress. A message waits for them. */
  declare reading: number
  /** True if the platform recognises speech on this device. */
  declare hears: boolean
  /** Set while the user speaks. */
  declare listening: Listening | undefined
  readonly #composer = new Composer(this)
  /** The code for files, once it is loaded. */
  #files: ComposerFiles | undefined
  /** True while the keys for pasting plain text are held. */
  #isPlain = false

  constructor() {
    super()
    new Speaks(this)
    this.attached = []
    this.wrong = ''
    this.note = ''
    this.reading = 0
    this.hears = false
    const onKey = ({ type, key, shiftKey }: KeyboardEvent): void => {
      this.#isPlain = type === 'keydown' && shiftKey && key !== 'Insert'
    }
    this.addEventListener('keydown', onKey)
    this.addEventListener('keyup', onKey)
  }

  get field(): HTMLTextAreaElement | null {
    return this.#composer.field
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override focus(): void {
    this.field?.focus()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    void canListen(navigator.language).then((can) => {
      this.hears = can
    })
  }

  /** True for a vision model on a device whose file picker may not offer its camera. */
  get #hasCamera(): boolean {
    return this.context !== undefined && !this.blind && isTouch()
  }

  protected override updated(): void {
    if (this.#hasCamera && this.#files === undefined)
      void this.#part().then(
        () => this.requestUpdate(),
        () => undefined,
      )
  }

  protected override firstUpdated(): void {
    const draft = sessionItem(DRAFT)
    if (draft === undefined) return
    const { text, files } = splitQuotes(draft)
    this.#composer.write(text)
    if (files.length === 0) return
    void this.#part().then(
      () => {
        this.attached = [...files, ...this.attached]
      },
      () => this.#composer.write(draft),
    )
  }

  /**
   * Saves the typed text, and texts of files, in case the page closes; a reload of this tab restores them.
   */
  keepDraft(): void {
    const text = this.field?.value ?? ''
    writeSessionItem(DRAFT, text || undefined)
    // The browser rejects data that is too long; then only the text is kept.
    const texts = this.attached.filter(isText)
    if (texts.length > 0) writeSessionItem(DRAFT, withQuotes(text, texts))
  }

  async #part(): Promise<ComposerFiles> {
    const { ComposerFiles } = await import('./files/composer-files.ts')
    this.#files ??= new ComposerFiles(this)
    return this.#files
  }

  /** Appends recognised speech to the existing text. */
  async #listen(): Promise<void> {
    if (this.listening !== undefined) return this.listening.stop()
    const before = this.field?.value.trim() ?? ''
    this.listening = listenTo(navigator.language, (text) => this.write(`${before} ${text}`.trim()))
    await this.listening.ended
    this.listening = undefined
    this.focus()
  }

  /** Puts text into the field, for the user to send. */
  write(text: string): void {
    this.#composer.write(text)
    this.focus()
  }

  /** Attaches files to the message, or says why not. */
  async attach(files: readonly File[]): Promise<void> {
    await this.#read((part) => part.attach(files))
  }

  /** `text`: the text to put into the field if the code does not load. */
  async #read(read: (part: ComposerFiles) => Promise<void>, text = ''): Promise<void> {
    this.wrong = ''
    this.note = ''
    this.reading++
    try {
      await read(await this.#part())
    } catch (error) {
      if (text === '' || isHalfbyteError(error))
        this.wrong = error instanceof Error ? error.message : String(error)
      else document.execCommand('insertText', false, text)
    }
    this.reading--
    this.focus()
  }

  protected override render(): TemplateResult {
    return html`${this.wrong === '' ? nothing : html`<p class="notice error" role="alert">${this.wrong}</p>`}
    <div role="status">${this.note === '' ? nothing : html`<p class="notice">${this.note}</p>`}</div>
    ${this.#composer.view({
      words: allWords(),
      placeholder: this.hint,
      stopTitle: t('stopKey'),
      isAnswering: this.busy,
      canSend: (this.ready || this.waiting) && this.reading === 0,
      hasMore: this.attached.length > 0,
      above: this.attached.length + this.reading === 0 ? nothing : this.#files?.view(),
      before: html`<button type="button" class="quiet" aria-label=${t('attach')} @click=${this.#pick}>${icon('attach')}</button>
        <input class="visually-hidden" type="file" multiple tabindex="-1" aria-hidden="true" @change=${this.#onPicked} />${this.#hasCamera ? this.#files?.camera(this.#onPicked) : nothing}`,
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

  #pick(): void {
    this.querySelector<HTMLInputElement>('input[type=file]')?.click()
  }

  readonly #onPicked = (event: Event): void => {
    const input = event.target as HTMLInputElement
    const files = [...(input.files ?? [])]
    // So that the same file can be picked again.
    input.value = ''
    if (files.length > 0) void this.attach(files)
  }

  #onPaste(event: ClipboardEvent): void {
    const files = [...(event.clipboardData?.files ?? [])]
    const text = this.#isPlain ? '' : (event.clipboardData?.getData('text/plain') ?? '')
    // An English token has about four letters, so such a text fills half of the context.
    const isLong = text.length > Math.min(MAX_PASTED, 2 * (this.context ?? MAX_PASTED))
    if (files.length === 0 && !isLong) return
    event.preventDefault()
    if (files.length > 0) void this.attach(files)
    else void this.#read((part) => part.attachText(text), text)
  }

  #send(text: string): void {
    const pictures = this.attached.filter(isPicture)
    const detail: Said = {
      content: withQuotes(text, this.attached.filter(isText)),
      ...(pictures.length > 0 && { pictures }),
    }
    this.listening?.stop()
    this.attached = []
    this.wrong = ''
    this.note = ''
    this.dispatchEvent(new CustomEvent('send', { detail }))
  }
}

customElements.define('chat-composer', ChatComposer)
