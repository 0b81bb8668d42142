// The page. In: the chat's state. Out: header, conversation, composer and dialogs, for touch, keyboard and
// screen reader.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { ConversationAddress } from './conversation/address.ts'
import type { ChatComposer } from './conversation/composer.ts'
import './conversation/composer.ts'
import { DropTarget } from './conversation/drop.ts'
import { areAttached } from './conversation/files/attachments.ts'
import type { ListActs } from './conversation/list/conversation-list.ts'
import type { ChatLog } from './conversation/log.ts'
import type { MessageActs } from './conversation/message.ts'
import { logo } from './shell/icons.ts'
import './conversation/log.ts'
import { isComposing, isTouch } from '../../src/ui/chat/keys.ts'
import { renderUnsaved } from './conversation/list/unsaved.ts'
import { Repaint } from './conversation/render/repaint.ts'
import { Reveal } from './conversation/render/reveal.ts'
import { chat, started } from './conversation/start.ts'
import type { Said } from './conversation/store/conversations.ts'
import type { ModelChoice } from './models/embedded.ts'
import { choiceName } from './models/models.ts'
import { announcement, renderFigures, renderNotice } from './models/status.ts'
import { type Acts, renderBar, renderWelcome } from './shell/frame.ts'
import { type Launch, onLaunch } from './shell/launch.ts'
import type { Modal } from './shell/modal.ts'
import type { OwnSettings } from './shell/own-settings.ts'
import type { Settings } from './shell/settings.ts'
import { replaceShell } from './shell/shell.ts'
import { idle, nextFrame, nextTask, sleep } from './shell/tasks.ts'
import { languageToSpeak, Speaks, speak, t } from './words/words.ts'

/** Dialogs load after the page, one per task. */
const USUAL_DIALOGS = {
  'conversation-drawer': () => import('./shell/drawer.ts'),
  'models-dialog': () => import('./models/models-dialog.ts'),
}
/** Other dialogs load when they are opened. */
const DIALOGS = {
  ...USUAL_DIALOGS,
  'other-dialog': () => import('./models/other-dialog.ts'),
  'runs-dialog': () => import('./models/runs/runs-dialog.ts'),
  'settings-dialog': () => import('./shell/settings-dialog.ts'),
  'storage-dialog': () => import('./models/storage-dialog.ts'),
}
/** How long, in milliseconds, loading the dialogs' code waits for the first model. */
const MAX_WAIT = 3000
/** See `#parts`. */
const PARTS = 4
/** The width from which the conversation list fits next to the chat. The style sheet has the same value. */
const WIDE = '(min-width: 64rem)'

export class ChatApp extends LitElement {
  readonly #chat = chat
  readonly #wide = window.matchMedia(WIDE)
  /** True when loading has progressed further than the page shows. */
  #isBehind = false
  /**
   * How much of the page has been rendered. Each frame adds one part: header, composer, conversation, empty
   * dialogs. The static frame is shown until all parts are rendered.
   */
  #parts = 0
  readonly #acts: Acts = {
    open: (dialog) => void this.#openDialog(dialog),
    fresh: () => this.#onFresh(),
    send: (content) => this.#send({ content }),
  }
  readonly #messageActs: MessageActs = {
    regenerate: () => {
      this.#toEnd()
      void this.#chat.regenerate()
    },
    askOther: () => void this.#openDialog('other-dialog'),
    goOn: () => {
      this.#toEnd()
      this.#reveal.resume(this.#chat.conversation)
      void this.#chat.goOn()
    },
    resend: (index, said) => void this.#chat.resend(index, said),
    turn: (index, step) => {
      this.#reveal.leave()
      void this.#chat.turn(index, step)
    },
    fork: (index) => {
      void this.#chat.fork(index)
      this.#toEnd()
    },
  }
  readonly #listActs: ListActs = {
    fresh: () => this.#onFresh(),
    open: (id) => {
      this.#chat.open(id)
      this.#toEnd()
    },
    remove: (ids) => void this.#chat.remove(ids),
    restore: (id) => void this.#chat.restore(id),
    rename: (id, title) => void this.#chat.rename(id, title),
    pin: (id, isPinned) => void this.#chat.pin(id, isPinned),
    add: (write) => this.#chat.add(write),
  }
  readonly #address = new ConversationAddress(this, (id) => this.#visit(id))
  readonly #reveal = new Reveal()
  readonly #repaint = new Repaint(
    () => this.#paint(),
    (ms) => {
      this.#reveal.took(ms)
      if (this.#reveal.isBehind) this.#repaint.request(this.#reveal.isEnding)
    },
  )

  constructor() {
    super()
    new Speaks(this)
    // An engine far ahead of the display would only slow down the page. A hidden page displays nothing.
    this.#chat.room = (letters) => (document.hidden ? undefined : this.#reveal.room(letters)?.then(nextTask))
    new DropTarget(this, (files) => this.#take(files))
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override connectedCallback(): void {
    super.connectedCallback()
    this.#chat.addEventListener('change', this.#onChange)
    this.#chat.addEventListener('grow', this.#onGrow)
    this.#chat.addEventListener('progress', this.#onProgress)
    this.#wide.addEventListener('change', this.#onChange)
    window.addEventListener('keydown', this.#onKey)
    window.addEventListener('pagehide', this.#onLeave)
    document.addEventListener('visibilitychange', this.#onVisibility)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#chat.removeEventListener('change', this.#onChange)
    this.#chat.removeEventListener('grow', this.#onGrow)
    this.#chat.removeEventListener('progress', this.#onProgress)
    this.#wide.removeEventListener('change', this.#onChange)
    window.removeEventListener('keydown', this.#onKey)
    window.removeEventListener('pagehide', this.#onLeave)
    document.removeEventListener('visibilitychange', this.#onVisibility)
  }

  protected override render(): TemplateResult {
    const chat = this.#chat
    const { conversation } = chat
    const isReady = chat.model.engine !== undefined
    const shown = this.#reveal.cut(conversation)
    const isGrowing = chat.isAnswering || this.#reveal.isBehind
    return html`
      ${this.#wide.matches && this.#parts > 2 ? this.#side() : nothing}
      <div class="chat">
        ${this.#parts > 0 ? renderBar(chat, this.#wide.matches, this.#acts) : nothing}
        ${
          this.#parts > 2
            ? html`<chat-log .conversation=${shown} model=${choiceName(chat.model.shown)} .welcome=${renderWelcome(chat, this.#acts)} ?busy=${!isReady} ?streaming=${isGrowing}
                .acts=${this.#messageActs}></chat-log>`
            : nothing
        }
        ${this.#parts > 1 ? this.#foot(isReady, isGrowing) : nothing}
      </div>
      ${this.#parts > 3 ? this.#dialogs() : nothing}
    `
  }

  /** Creating the app and rendering it are separate tasks. */
  protected override async scheduleUpdate(): Promise<void> {
    if (!this.hasUpdated) await nextTask()
    super.scheduleUpdate()
  }

  protected override async firstUpdated(): Promise<void> {
    while (this.#parts < PARTS) {
      await nextFrame()
      this.#parts++
      this.requestUpdate()
      await this.updateComplete
      // In the same task as the frame, this would block the page for too long.
      await nextTask()
      this.getBoundingClientRect()
    }
    if (this.#wide.matches) await this.#chat.parts.load(DIALOGS['conversation-drawer'])
    replaceShell(this)
    // On a phone, this would open the keyboard.
    if (!isTouch()) this.querySelector<ChatComposer>('chat-composer')?.focus()
    await nextFrame()
    void started.then(() => onLaunch((launch) => void this.#launch(launch)))
    await idle()
    await this.#chat.parts.load(() => import('./conversation/message.ts'))
    // On a slow phone, loading these would delay a model that has just loaded, and the first answer.
    await Promise.race([this.#chat.model.settled, sleep(MAX_WAIT)])
    for (const load of Object.values(USUAL_DIALOGS)) {
      await idle()
      await this.#chat.answered
      // If this fails, opening the dialog shows the error.
      await load().catch(() => undefined)
    }
    const warming = await import('./models/warm-up.ts').catch(() => undefined)
    await warming?.warmUp()
  }

  /** Handles the launch of an installed page. */
  async #launch(launch: Launch): Promise<void> {
    switch (launch.kind) {
      case 'new':
        return this.#onFresh()
      case 'models':
        return this.#openDialog('models-dialog')
      case 'text':
        this.#onFresh()
        await this.updateComplete
        return this.querySelector<ChatComposer>('chat-composer')?.write(launch.text)
      case 'files':
        return this.#take(launch.files)
      default:
        throw new TypeError(`unknown launch ${JSON.stringify(launch satisfies never)}`)
    }
  }

  protected override updated(): void {
    const { theme, language } = this.#chat.settings
    void speak(languageToSpeak(language))
    this.dataset['drop'] = t('drop')
    if (theme === 'auto') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }

  #foot(isReady: boolean, isGrowing: boolean): TemplateResult {
    const chat = this.#chat
    const model = chat.model.engine?.model
    return html`<footer class="foot">
      ${renderUnsaved(chat, () => this.#openDialog('storage-dialog'))}${renderNotice(chat, () => this.#openDialog('models-dialog'))}
      <chat-composer ?ready=${isReady} ?waiting=${!isReady && chat.canAsk} ?busy=${isGrowing} ?blind=${model?.seesImages === false} .context=${model?.contextLength} .shown=${chat.model.shown} hint=${this.#hint()}
        @send=${(event: CustomEvent<Said>) => this.#send(event.detail)} @models=${() => this.#openDialog('models-dialog')} @stop=${this.#stop} @input=${() => chat.prepare()}></chat-composer>
      ${renderFigures(chat, () => this.#openDialog('runs-dialog'))}
      <div class="visually-hidden" role="status">${announcement(chat)}</div>
    </footer>`
  }

  #dialogs(): TemplateResult {
    const chat = this.#chat
    return html`<conversation-drawer .conversations=${chat.conversations} current=${chat.conversation.id}
        .removed=${chat.removed} ?unkept=${!chat.keeps} .acts=${this.#listActs}></conversation-drawer>
      <models-dialog .current=${chat.model.shown}
        @model=${(event: CustomEvent<ModelChoice>) => void chat.load(event.detail)}></models-dialog>
      <settings-dialog .settings=${chat.settings} .sampling=${chat.model.engine?.model.sampling ?? {}}
        ?own=${chat.hasOwn} ?stale=${chat.needsReload}
        @settings=${(event: CustomEvent<Settings>) => chat.configure(event.detail)}
        @apply=${(event: CustomEvent<OwnSettings>) => void chat.adapt(event.detail)}
        @for-new=${() => chat.useForNew()}
        @reload=${() => void chat.reload()}
        @show=${(event: CustomEvent<'runs-dialog' | 'storage-dialog'>) => void this.#openDialog(event.detail)}></settings-dialog>
      <other-dialog .current=${chat.model.shown} @model=${(event: CustomEvent<ModelChoice>) => void chat.askOther(event.detail)}></other-dialog>
      <runs-dialog .used=${chat.model.used} .idle=${chat.model.idle} .answers=${chat.history}></runs-dialog>
      <storage-dialog .conversations=${chat.conversations} .acts=${this.#listActs} @freed=${() => void chat.retry()}></storage-dialog>`
  }

  #side(): TemplateResult {
    const chat = this.#chat
    const { conversations, conversation } = chat
    return html`<nav class="side" aria-label=${t('conversations')}>
      <div class="brand">${logo()}<span>Halfbyte</span></div>
      <conversation-list .conversations=${conversations} current=${conversation.id}
        .removed=${chat.removed} ?unkept=${!chat.keeps} .acts=${this.#listActs}></conversation-list>
    </nav>`
  }

  #hint(): string {
    const { engine, phase } = this.#chat.model
    return engine !== undefined || phase.name === 'loading' ? t('placeholder') : t('placeholderEmpty')
  }

  /** Attaches text files and images, loads models. */
  #take(files: readonly File[]): void {
    if (areAttached(files)) void this.querySelector<ChatComposer>('chat-composer')?.attach(files)
    else void this.#chat.load({ kind: 'files', files })
  }

  #send(said: Said): void {
    this.#toEnd()
    void this.#chat.send(said)
  }

  #toEnd(): void {
    this.querySelector<ChatLog>('chat-log')?.toEnd()
  }

  /** Shows the rest of the answer without pauses. */
  #stop(): void {
    this.#chat.stop()
    this.#reveal.finish()
    this.#repaint.request(true)
  }

  /** While only the answer is streaming, the rest of the page is not re-rendered. */
  async #paint(): Promise<void> {
    this.#reveal.advance()
    const log = this.querySelector<ChatLog>('chat-log')
    if (this.#chat.isAnswering && !this.#isBehind && log !== null) {
      log.conversation = this.#reveal.cut(this.#chat.conversation)
    } else {
      this.#isBehind = false
      this.requestUpdate()
      await this.updateComplete
    }
    await log?.updateComplete
    log?.follow()
  }

  async #openDialog(tag: keyof typeof DIALOGS): Promise<void> {
    if (!(await this.#chat.parts.load(DIALOGS[tag]))) return
    while (this.#parts < PARTS) await nextFrame()
    await this.updateComplete
    await this.querySelector<Modal>(tag)?.open()
  }

  /** Shows the conversation that the address names, if it still exists. */
  #visit(id: string): void {
    if (id === '') this.#chat.fresh()
    else this.#listActs.open(id)
    this.#onChange()
  }

  #onFresh(): void {
    this.#chat.fresh()
    this.querySelector<ChatComposer>('chat-composer')?.focus()
  }

  /**
   * Renders before the triggering event ends, so that a second click cannot hit an outdated button.
   */
  readonly #onChange = (): void => {
    if (this.#chat.isOpen) this.#address.follow(this.#chat.conversation)
    this.requestUpdate()
  }

  readonly #onProgress = (): void => {
    this.#isBehind = true
    this.#repaint.request()
  }

  readonly #onGrow = (): void => this.#repaint.request()

  readonly #onKey = (event: KeyboardEvent): void => {
    // Escape first closes a dialog, a question or an editor.
    const isTaken =
      event.defaultPrevented || isComposing(event) || this.querySelector('dialog[open], .edit') !== null
    const isGrowing = this.#chat.isAnswering || this.#reveal.isBehind
    if (event.key === 'Escape' && isGrowing && !isTaken) this.#stop()
    if (!event.altKey || event.ctrlKey || event.metaKey || this.querySelector('dialog[open]') !== null) return
    const act = this.#shortcuts.get(event.code)
    if (act === undefined) return
    event.preventDefault()
    act()
  }

  /** Uses the physical key, because Alt changes letters on some keyboards; see `SHORTCUTS`. */
  readonly #shortcuts: ReadonlyMap<string, () => void> = new Map([
    ['KeyN', () => this.#onFresh()],
    ['KeyM', () => void this.#openDialog('models-dialog')],
    ['KeyS', () => void this.#openDialog('settings-dialog')],
    ['KeyC', () => this.querySelector<ChatComposer>('chat-composer')?.focus()],
  ])

  readonly #onLeave = (): void => {
    this.#chat.save()
    this.querySelector<ChatComposer>('chat-composer')?.keepDraft?.()
  }

  /** The last event that a phone sends before it may close the page. */
  readonly #onVisibility = (): void => {
    if (document.visibilityState !== 'hidden') return
    this.#reveal.goOn()
    this.#onLeave()
  }
}
