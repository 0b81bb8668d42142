// <halfbyte-chat>. In: attributes and properties set by a page, user input. Out: a chat with a model on this
// device, and events.
import { html, nothing, type PropertyValues, type TemplateResult } from 'lit'
import { checkEngine } from '../../adapters/load-once.ts'
import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError } from '../../core/base/errors.ts'
import type { Engine } from '../../engine/api/engine.ts'
import { Composer } from '../chat/composer.ts'
import { type Encoder, EncoderSlot, type LoadEncoder } from '../chat/encoder-slot.ts'
import { GrowthSaver } from '../chat/growth-saver.ts'
import { isComposing } from '../chat/keys.ts'
import { Log } from '../chat/log.ts'
import { GrowingMarkdown, plainText } from '../chat/markdown/markdown.ts'
import { chatStyles } from '../chat/styles.ts'
import { visibleText } from '../chat/visible.ts'
import { readsDocuments } from '../documents/choose.ts'
import { ENGLISH, type Words } from '../words/english.ts'
import { ChatProperties, planOf, reported, settingsOf } from './chat-properties.ts'
import { type AskedFiles, Conversation } from './conversation/conversation.ts'
import type { Entry } from './conversation/entries.ts'
import { Kept, unfinished } from './conversation/keep.ts'
import type { ChatState, HalfbyteChat } from './element.ts'
import { Loader, type Outside, type Phase } from './loading/loader.ts'
import { Speech } from './speech.ts'
import { baseStyles } from './styles/base.ts'
import { conversationStyles } from './styles/conversation.ts'
import { documentStyles } from './styles/documents.ts'
import { messageStyles } from './styles/messages.ts'
import { Cover } from './view/cover.ts'
import { AttachedDocuments } from './view/documents.ts'
import { barView, launcherView, waitingView } from './view/frame.ts'
import { entriesView } from './view/log.ts'
import { isFatal, noticeView } from './view/notice.ts'
import { Pictures } from './view/pictures.ts'

/** An answer may deliver many chunks per frame. A hidden page has no frames, so it renders immediately. */
class Frames {
  readonly #draw: () => void
  #isScheduled = false

  constructor(draw: () => void) {
    this.#draw = draw
  }

  schedule(): void {
    if (this.#isScheduled) return
    if (document.hidden) {
      this.#draw()
      return
    }
    this.#isScheduled = true
    requestAnimationFrame(() => {
      this.#isScheduled = false
      this.#draw()
    })
  }
}

/** The element; element.ts documents its members. */
export class HalfbyteChatElement extends ChatProperties implements HalfbyteChat {
  static override styles = [...chatStyles, baseStyles, conversationStyles, messageStyles, documentStyles]
  /** What the element needs from its page; set once by `define`. */
  static outside: {
    readonly page: Outside
    readonly tabs: Outside
    readonly loadEncoder: LoadEncoder
    readonly startPdf: () => Promise<Worker>
  }

  readonly #conversation = new Conversation({
    onChange: () => {
      this.#frames.schedule()
      if (this.#conversation.activity !== undefined && this.keep !== 'none') this.#saver.grown()
    },
    onEntry: (entry) => this.#onEntry(entry),
    onToolRun: (run) => this.#emit('tool', run),
  })
  #loader: Loader | undefined
  readonly #encoders = new EncoderSlot(() => HalfbyteChatElement.outside.loadEncoder)
  readonly #markdown = new GrowingMarkdown()
  readonly #log = new Log(this)
  readonly #composer = new Composer(this)
  readonly #cover = new Cover(
    this,
    () => this.mode === 'bubble' && this.open,
    () => this.focus(),
  )
  readonly #pictures = new Pictures(this, {
    words: () => this.#words,
    language: () => this.#speech.tag,
    sees: () => this.#sees,
    others: (files) => this.#documents.takeFrom(files),
    onAttached: () => this.focus(),
  })
  readonly #documents = new AttachedDocuments(this, {
    words: () => this.#words,
    language: () => this.#speech.tag,
    isAllowed: () => this.allowFiles,
    reads: () => (this.engine === undefined ? undefined : readsDocuments(this.engine.model.contextLength)),
    startPdf: () => HalfbyteChatElement.outside.startPdf(),
    onAttached: () => this.focus(),
    onError: (error) => this.report(error),
  })
  #kept: Kept | undefined
  /** False if the conversation could not be stored. */
  #isKept = true
  readonly #saver = new GrowthSaver(() => this.#save(unfinished(this.conversation)))
  readonly #speech = new Speech(this)
  #words: Words = ENGLISH
  /** Announced by screen readers. */
  #status = ''
  /** True if the user has asked something in this visit, which the engine answers once it is ready. */
  #isAsked = false
  #hadFocus = false
  readonly #frames = new Frames(() => this.requestUpdate())

  get engine(): Engine | undefined {
    return this.#loader?.engine
  }
  set engine(engine: Engine | undefined) {
    if (engine === undefined) this.#loading.cancel()
    else {
      checkEngine(engine)
      this.#loading.adopt(engine)
    }
  }

  get conversation(): readonly Entry[] {
    return this.#conversation.entries
  }

  get state(): ChatState {
    return this.#conversation.activity === undefined ? this.#loading.phase.name : 'answering'
  }

  async load(): Promise<Engine> {
    // A model that was set in this task cancels the load of the previous one.
    if (this.isConnected) await this.updateComplete
    await this.#loading.load(planOf(this))
    const { phase } = this.#loading
    if (phase.name === 'ready') return phase.engine
    if (phase.name === 'failed') throw phase.error
    throw new DOMException('the load was cancelled', 'AbortError')
  }

  send(text: string, pictures: readonly Blob[] = []): void {
    if (typeof text !== 'string') throw wrongOption('the text', text, 'a text')
    if (!Array.isArray(pictures) || pictures.some((file) => !(file instanceof Blob)))
      throw wrongOption('the pictures', pictures, 'a list of files')
    const named = pictures.map((file) => ({ name: file instanceof File ? file.name : '', file }))
    this.#ask(text, { pictures: named })
  }

  #ask(text: string, files: AskedFiles): void {
    const { documents = [], pictures = [] } = files
    const question = visibleText(text)
    if ((question === '' && documents.length + pictures.length === 0) || !this.#canSend) return
    this.#log.toEnd()
    this.#conversation.ask(question, files)
    this.#go()
  }

  /** Whether the model sees pictures; undefined until that is known. */
  get #sees(): boolean | undefined {
    return this.engine?.model.seesImages ?? (this.loadOptions.vision === undefined ? undefined : true)
  }

  stop(): void {
    this.#conversation.stop()
  }

  retry(): void {
    if (this.#conversation.activity !== undefined) return
    if (!this.#conversation.isWaiting && this.#loading.phase.name !== 'failed') this.#conversation.takeBack()
    this.#go()
  }

  clear(): void {
    this.#isAsked = false
    this.#conversation.restore([])
    this.#saver.end()
    this.#save([])
  }

  show(): void {
    this.open = true
  }

  hide(): void {
    this.open = false
  }

  override focus(options?: FocusOptions): void {
    this.#composer.field?.focus(options)
  }

  override connectedCallback(): void {
    super.connectedCallback()
    window.addEventListener('pagehide', this.#onLeave)
    document.addEventListener('visibilitychange', this.#onLeave)
    if (this.autoload) void this.updateComplete.then(() => this.isConnected && this.#autoload())
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    window.removeEventListener('pagehide', this.#onLeave)
    document.removeEventListener('visibilitychange', this.#onLeave)
    this.#saver.flush()
    // Frameworks move elements: an element that is back by the next task has only been moved.
    setTimeout(() => {
      if (this.isConnected) return
      void this.#conversation.dispose()
      this.#loader?.leave()
      this.#encoders.end()
    })
  }

  /** The first rendering waits for the translation, so that no English text flashes. */
  protected override scheduleUpdate(): Promise<unknown> | undefined {
    const settled = this.hasUpdated ? undefined : this.#speech.settled
    if (settled !== undefined) return settled.then(() => super.scheduleUpdate())
    super.scheduleUpdate()
    return undefined
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    this.#words = this.#speech.words(this.messages)
    if (changed.has('keep') || changed.has('name')) this.#restore()
    if (changed.get('model') !== undefined) this.#changeModel()
    if (this.mode === 'bubble' && changed.has('open') && !this.open && changed.get('open') === true)
      this.#hadFocus = this.matches(':focus-within')
  }

  protected override updated(changed: PropertyValues<this>): void {
    if (changed.has('open') && this.mode === 'bubble' && changed.get('open') !== undefined) this.#onToggle()
    this.#log.follow()
  }

  protected override render(): TemplateResult {
    const words = this.#words
    const heading = this.heading ?? words.heading
    const isBubble = this.mode === 'bubble'
    return html`
      <section class="panel" part="panel" id="panel" role=${isBubble ? 'dialog' : 'region'} aria-label=${heading}
        lang=${this.#speech.language ?? nothing} dir=${this.#speech.direction ?? nothing}
        aria-modal=${this.#cover.isCovering ? 'true' : nothing} ?hidden=${isBubble && !this.open}
        data-drop=${this.#pictures.isOver ? (this.allowFiles ? words.dropDocuments : words.dropPictures) : nothing}
        @dragover=${this.#pictures.onDrag} @dragleave=${this.#pictures.onDrag} @drop=${this.#pictures.onDrop}
        @keydown=${this.#onKey} @focusout=${this.#cover.onFocusOut}>
        ${barView({
          words,
          heading,
          onClear: this.conversation.length === 0 ? undefined : () => this.#byHand(() => this.clear()),
          onClose: isBubble ? () => this.hide() : undefined,
        })}
        <div class="place">${this.#entries()}</div>
        <div class="foot-notice">${this.#notice()}</div>
        <div>${this.#form()}<slot name="footer"></slot></div>
      </section>
      ${isBubble ? launcherView(words, this.open, () => (this.open = !this.open)) : nothing}
      <div class="visually-hidden" role="status">${this.#status}</div>`
  }

  #entries(): TemplateResult {
    const { entries, activity } = this.#conversation
    const words = this.#words
    return this.#log.view({
      words,
      role: 'log',
      hasMessages: entries.length > 0,
      content: entriesView({
        words,
        language: this.#speech.tag,
        entries,
        activity,
        suggestions: this.suggestions,
        canSend: this.#canSend,
        growing: this.#markdown,
        onSuggest: (text) => this.#byHand(() => this.send(text)),
        onAgain: () => this.retry(),
      }),
    })
  }

  #notice(): TemplateResult | typeof nothing {
    const { isWaiting, error } = this.#conversation
    const { phase } = this.#loading
    const isQuiet = phase.name === 'idle' || phase.name === 'ready'
    if (isQuiet && error === undefined && isWaiting && !this.#isAsked)
      return waitingView(this.#words, () => this.#byHand(() => this.retry()))
    return noticeView({
      phase,
      error,
      words: this.#words,
      language: this.#speech.tag,
      onAccept: () => this.#byHand(() => void this.#loading.load(planOf(this))),
      onCancel: () => this.#byHand(() => this.#loading.cancel()),
      onRetry: () => this.#byHand(() => this.retry()),
    })
  }

  #form(): TemplateResult {
    const words = this.#words
    return this.#composer.view({
      words,
      placeholder: this.placeholder ?? words.placeholder,
      stopTitle: words.stop,
      isAnswering: this.#conversation.activity !== undefined,
      canSend: this.#canSend && !this.#pictures.isReading && !this.#documents.isReading,
      hasMore: this.#pictures.hasSome || this.#documents.hasSome,
      above: html`${this.#documents.above()}${this.#pictures.above()}`,
      before: html`${this.#documents.button()}${this.#pictures.buttons()}`,
      onPaste: this.#pictures.onPaste,
      onSend: (text) =>
        this.#ask(text, { documents: this.#documents.take(), pictures: this.#pictures.take() }),
      onStop: () => this.#byHand(() => this.stop()),
    })
  }

  get #loading(): Loader {
    this.#loader ??= new Loader(
      () => HalfbyteChatElement.outside[this.share === 'tabs' ? 'tabs' : 'page'],
      (phase) => this.#onPhase(phase),
    )
    return this.#loader
  }

  /** One question may wait for the model; the next one has to wait for its answer. */
  get #canSend(): boolean {
    return this.#conversation.activity === undefined && !(this.#isAsked && this.#conversation.isWaiting)
  }

  /** After a question: answers it, or first does what is needed to answer it. */
  #go(): void {
    this.#isAsked = true
    void this.#goOn()
  }

  async #goOn(): Promise<void> {
    const isAnswered = await this.#conversation.answerAlone(this.assist)
    if (isAnswered) this.#isAsked = false
    const { engine } = this.#loading
    if (this.#isAsked && this.#conversation.isWaiting) {
      if (engine !== undefined) void this.#answer(engine)
      else this.#attempt(() => void this.#loading.begin(planOf(this)))
    }
    this.requestUpdate()
  }

  /** The next question is answered by the new model. */
  #changeModel(): void {
    this.#conversation.stop()
    this.#loader?.leave()
    if (this.autoload) this.#autoload()
  }

  #autoload(): void {
    if (this.#loading.phase.name === 'idle') this.#attempt(() => void this.#loading.load(planOf(this)))
  }

  #attempt(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.#loading.fail(error)
    }
  }

  async #answer(engine: Engine): Promise<void> {
    if (!this.#conversation.isWaiting) return
    this.#isAsked = false
    this.#say(this.#words.answering)
    await this.#conversation.answer(
      engine,
      settingsOf(this, this.#words, () => this.#encoder(), this.#speech.tag),
    )
    // Reported even if it was stopped or failed. A later answer may already be in progress.
    if (this.#conversation.activity === undefined) {
      this.#saver.end()
      this.#save(this.conversation)
    }
    const { error } = this.#conversation
    if (error === undefined) return
    this.report(error)
    // Without a model to load, only the page's own engine can answer.
    if (isFatal(error) && this.model !== undefined) this.#loading.fail(error, true)
  }

  /** Undefined if there is none or it fails to load: the language model then finds the passages. */
  async #encoder(): Promise<Encoder | undefined> {
    const { embedder, loadOptions } = this
    if (embedder === undefined || embedder === '') return undefined
    try {
      const { assets, cache, hub } = loadOptions
      return await this.#encoders.of(embedder, { cache, hub, assets: { ...assets, worker: undefined } })
    } catch (error) {
      this.report(error)
      return undefined
    }
  }

  #onPhase(phase: Phase): void {
    const words = this.#words
    this.#frames.schedule()
    if (phase.name === 'checking') this.#say(words.checking)
    if (phase.name === 'loading') {
      if (phase.progress === undefined) this.#say(words.waiting)
      else this.#emit('progress', phase.progress)
    }
    if (phase.name === 'consent') {
      this.#say(words.consentTitle)
      void this.#focusFirst('.accept')
    }
    if (phase.name === 'failed' || phase.name === 'idle') this.#isAsked = false
    if (phase.name === 'failed') this.report(phase.error)
    if (phase.name !== 'ready') return
    this.#say(words.ready)
    this.#emit('ready', phase.engine)
    if (this.#isAsked) void this.#answer(phase.engine)
  }

  #onEntry(entry: Entry): void {
    this.#saver.end()
    this.#save(this.conversation)
    if (entry.role === 'assistant') this.#say(plainText(entry.content))
    this.#emit('message', entry)
  }

  #save(entries: readonly Entry[]): void {
    const isKept = this.#kept?.write(entries) ?? true
    if (this.#isKept && !isKept) {
      const message =
        'the conversation could not be stored and lasts only until the page is closed; free some storage'
      this.report(new HalfbyteError('storage-full', message, { keep: this.keep }))
    }
    this.#isKept = isKept
  }

  /** A hidden page may be closed without further notice. */
  readonly #onLeave = (): void => this.#saver.flush()

  protected report(error: unknown): void {
    this.#emit('error', reported(error))
  }

  /** After a gesture, the user continues writing. */
  #byHand(act: () => void): void {
    act()
    this.focus()
  }

  #restore(): void {
    if (this.#kept?.isFor(this.keep, this.name)) return
    const isFirst = this.#kept === undefined
    this.#saver.flush()
    this.#saver.end()
    this.#kept = new Kept(this.keep, this.name)
    this.#isKept = true
    if (this.keep === 'none') return
    const kept = this.#kept.read()
    if (kept.length > 0 || !isFirst) this.#conversation.restore(kept)
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || isComposing(event)) return
    if (this.#conversation.activity !== undefined) this.#byHand(() => this.stop())
    else if (this.mode === 'bubble') this.hide()
    else return
    event.stopPropagation()
  }

  #onToggle(): void {
    this.#emit('toggle', { open: this.open })
    if (this.open) void this.#focusFirst('.accept, textarea')
    else if (this.#hadFocus) void this.#focusFirst('.launcher')
  }

  async #focusFirst(selector: string): Promise<void> {
    this.requestUpdate()
    await this.updateComplete
    if (this.mode === 'bubble' && !this.open && selector !== '.launcher') return
    // A load started by the page does not take the page's focus.
    if (selector === '.accept' && !this.matches(':focus-within')) return
    this.renderRoot.querySelector<HTMLElement>(selector)?.focus()
  }

  #say(text: string): void {
    this.#status = text
    this.#frames.schedule()
  }

  #emit(name: string, detail: unknown): void {
    this.dispatchEvent(new CustomEvent(`halfbyte-${name}`, { detail, bubbles: true, composed: true }))
  }
}
