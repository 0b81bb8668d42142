// The list of conversations. In: conversations, and actions on them. Out: the conversations that match the
// search, by date.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { icon } from '../../shell/icons.ts'
import { Speaks, t } from '../../words/words.ts'
import { addressOf } from '../address.ts'
import type { Adding, New } from '../store/add-all.ts'
import { type Conversation, MAX_TITLE } from '../store/conversations.ts'
import { byDate } from './groups.ts'
import { canShare, saveFile, share } from './hand-out.ts'

/** Actions on conversations. */
export interface ListActs {
  /** Starts a new conversation. */
  fresh(): void
  open(id: string): void
  remove(ids: readonly string[]): void
  /** Restores a recently removed conversation. */
  restore(id: string): void
  rename(id: string, title: string): void
  /** Pins or unpins it. */
  pin(id: string, isPinned: boolean): void
  /** Imports all conversations of a file, or none. */
  add(write: Adding): Promise<readonly New[]>
}

/** Number of conversations from which a search field is shown. */
const SEARCH_FROM = 5

export class ConversationList extends LitElement {
  static override properties = {
    conversations: { attribute: false },
    current: { type: String },
    removed: { attribute: false },
    unkept: { type: Boolean },
    acts: { attribute: false },
    query: { state: true },
    chosen: { state: true },
    marked: { state: true },
    said: { state: true },
  }
  declare conversations: readonly Conversation[]
  declare current: string
  /** The most recently removed conversations. Their rows offer to restore them. */
  declare removed: readonly Conversation[]
  /** True if the browser stores nothing for this page. */
  declare unkept: boolean
  declare acts: ListActs
  declare query: string
  /** The conversation whose actions are shown, or whose title is edited. */
  declare chosen: { readonly id: string; readonly isNaming: boolean } | undefined
  /** Ids marked for deletion; undefined outside marking mode. */
  declare marked: ReadonlySet<string> | undefined
  /** The result of the last import, or why an action failed. */
  declare said: { readonly text: string; readonly isError: boolean } | undefined

  #search: Awaited<ReturnType<typeof search>> | undefined

  constructor() {
    super()
    new Speaks(this)
    this.query = ''
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    const { conversations, removed, query } = this
    const all =
      removed.length === 0
        ? conversations
        : [...conversations, ...removed].sort((a, b) => b.updated - a.updated)
    const found = query === '' ? all : (this.#search?.matching(all, query) ?? all)
    return html`
      <button class="outline wide" @click=${() => this.acts.fresh()}>${icon('plus')}${t('newChat')}</button>
      ${
        conversations.length < SEARCH_FROM && query === ''
          ? nothing
          : html`<input type="search" class="search" aria-label=${t('search')} placeholder=${t('searchHint')} dir="auto"
              .value=${query} @input=${this.#onSearch} @keydown=${this.#onSearchKey} />`
      }
      ${byDate(found, Date.now()).map(
        ({ name, conversations: members }) => html`<div class="group" aria-hidden="true">${name}</div>
          <ul class="list" aria-label=${name}>${members.map((conversation) => this.#row(conversation))}</ul>`,
      )}
      ${all.length === 0 ? html`<p class="hint">${t(this.unkept ? 'unkeptConversations' : 'noConversations')}</p>` : nothing}
      <p class="hint" role="status">${query === '' ? '' : t('found', { found: found.length, all: all.length })}</p>
      ${this.#foot()}
    `
  }

  #row(conversation: Conversation): TemplateResult {
    const { id, title } = conversation
    if (this.removed.some((removed) => removed.id === id)) {
      return html`<li class="gone"><span>${t('deleted')}</span>
        <button class="outline" aria-label=${t('undoMore', { title })} @click=${() => this.#restore(id)}>${t('undo')}</button></li>`
    }
    const isChosen = this.chosen?.id === id
    if (isChosen && this.chosen?.isNaming) return this.#editor(conversation)
    if (this.marked !== undefined) return this.#markable(conversation, this.marked)
    return html`<li data-id=${id}>
      <a class="choice" href=${addressOf(id)} aria-current=${id === this.current} @click=${(event: MouseEvent) => this.#open(event, id)}><span dir="auto">${title}</span>${this.#excerpt(conversation)}</a>
      <button class="quiet more" aria-label=${t('moreFor', { title })} aria-expanded=${isChosen}
        @click=${() => this.#choose(isChosen ? undefined : { id, isNaming: false })}>${icon('dots')}</button>
      <button class="quiet remove" aria-label=${t('deleteTitle', { title })} @click=${() => this.#remove(id)}>${icon('trash')}</button>
    </li>
    ${isChosen ? this.#actions(conversation) : nothing}`
  }

  #markable({ id, title }: Conversation, marked: ReadonlySet<string>): TemplateResult {
    return html`<li @keydown=${this.#onEscape}><label class="choice mark"><input type="checkbox" .checked=${marked.has(id)} @change=${() => this.#mark(id)} />
      <span dir="auto">${title}</span></label></li>`
  }

  #mark(id: string): void {
    const marked = new Set(this.marked)
    if (!marked.delete(id)) marked.add(id)
    this.marked = marked
  }

  /** The passage with the search words, unless the title has them. */
  #excerpt(conversation: Conversation): TemplateResult | typeof nothing {
    const excerpt = this.#search?.excerptOf(conversation, this.query)
    if (excerpt === undefined) return nothing
    const { before, match, after } = excerpt
    return html`<small class="passage" dir="auto">${before}<mark>${match}</mark>${after}</small>`
  }

  /** A click that opens a new tab or window is left to the browser. */
  #open(event: MouseEvent, id: string): void {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    this.acts.open(id)
  }

  #actions(conversation: Conversation): TemplateResult {
    const { id, title, isPinned = false } = conversation
    return html`<li class="more-actions" @keydown=${this.#onEscape}>
      <button class="small" aria-label=${t('renameTitle', { title })} @click=${() => this.#choose({ id, isNaming: true })}>${t('rename')}</button>
      <button class="small" aria-label=${t('pinTitle', { title })} aria-pressed=${isPinned} @click=${() => this.#pin(id, !isPinned)}>${t('pin')}</button>
      <button class="small" aria-label=${t('markdownOf', { title })} @click=${() => this.#saveMarkdown(conversation)}>Markdown</button>
      <button class="small" aria-label=${t('jsonOf', { title })} @click=${() => this.#saveJson([conversation], title)}>JSON</button>
      ${
        canShare()
          ? html`<button class="small" aria-label=${t('shareTitle', { title })} @click=${() => this.#share(conversation)}>${t('share')}</button>`
          : nothing
      }
    </li>`
  }

  #editor({ id, title }: Conversation): TemplateResult {
    return html`<li class="naming" @keydown=${this.#onEscape}>
      <form @submit=${(event: Event) => this.#rename(event, id)}>
        <input aria-label=${t('title')} dir="auto" maxlength=${MAX_TITLE} enterkeyhint="done" .value=${title} />
        <button class="outline">${t('save')}</button>
      </form>
    </li>`
  }

  #foot(): TemplateResult {
    const { marked } = this
    if (marked !== undefined) {
      return html`<div class="list-foot" @keydown=${this.#onEscape}>
        <button class="small" @click=${() => this.#endMarking()}>${t('cancel')}</button>
        <button class="danger" ?disabled=${marked.size === 0} @click=${() => this.#removeMarked([...marked])}>${t('deleteMany', { count: marked.size })}</button>
      </div>`
    }
    return html`<div class="list-foot">
      <label class="small-pick">${t('import')}<input class="visually-hidden" type="file" accept=".json,application/json"
        aria-label=${t('importMore')} @change=${this.#onImport} /></label>
      ${
        this.conversations.length === 0
          ? nothing
          : html`<button class="small" @click=${() => this.#saveJson(this.conversations, 'conversations')}>${t('exportAll')}</button>
            ${this.conversations.length > 1 ? html`<button class="small" @click=${() => this.#startMarking()}>${t('select')}</button>` : nothing}`
      }
    </div>
    ${
      this.said === undefined
        ? nothing
        : html`<p class="hint ${this.said.isError ? 'wrong' : ''}" role=${this.said.isError ? 'alert' : 'status'}>${this.said.text}</p>`
    }`
  }

  async #choose(chosen: typeof this.chosen): Promise<void> {
    const before = this.chosen
    this.chosen = chosen
    await this.updateComplete
    if (chosen === undefined) this.#focus(`[data-id="${before?.id}"] .more`)
    else if (chosen.isNaming) {
      const input = this.querySelector<HTMLInputElement>('.naming input')
      input?.focus()
      input?.select()
    } else this.#focus('.more-actions button')
  }

  /** The first Escape closes what is open in the list, the next one the drawer. */
  #onEscape(event: KeyboardEvent): void {
    if (event.key !== 'Escape') return
    event.preventDefault()
    void (this.marked === undefined ? this.#choose(undefined) : this.#endMarking())
  }

  #rename(event: Event, id: string): void {
    event.preventDefault()
    const title = this.querySelector<HTMLInputElement>('.naming input')?.value ?? ''
    this.acts.rename(id, title)
    void this.#choose(undefined)
  }

  async #pin(id: string, isPinned: boolean): Promise<void> {
    this.chosen = undefined
    this.acts.pin(id, isPinned)
    await this.#focusNext(`[data-id="${id}"] .more`)
  }

  async #startMarking(): Promise<void> {
    this.chosen = undefined
    this.marked = new Set()
    await this.updateComplete
    this.#focus('.mark input')
  }

  async #endMarking(): Promise<void> {
    this.marked = undefined
    await this.updateComplete
    this.#focus('.list-foot button:last-child')
  }

  async #removeMarked(ids: readonly string[]): Promise<void> {
    this.marked = undefined
    this.acts.remove(ids)
    await this.#focusNext('.gone button')
  }

  async #remove(id: string): Promise<void> {
    this.chosen = undefined
    this.acts.remove([id])
    await this.#focusNext('.gone button')
  }

  async #restore(id: string): Promise<void> {
    this.acts.restore(id)
    await this.#focusNext(`[data-id="${id}"] .remove`)
  }

  async #onSearch(event: Event): Promise<void> {
    const { value } = event.target as HTMLInputElement
    this.#search ??= await search().catch((error) => this.#fail(error))
    this.query = value
  }

  #onSearchKey(event: KeyboardEvent): void {
    if (event.key !== 'Escape' || this.query === '') return
    event.preventDefault()
    this.query = ''
  }

  async #saveMarkdown(conversation: Conversation): Promise<void> {
    const { toMarkdown, fileName } = await exchange()
    saveFile(fileName(conversation.title, 'md'), toMarkdown(conversation), 'text/markdown')
  }

  async #saveJson(conversations: readonly Conversation[], title: string): Promise<void> {
    const { toJson, fileName } = await exchange()
    saveFile(fileName(title, 'json'), await toJson(conversations), 'application/json')
  }

  async #share(conversation: Conversation): Promise<void> {
    const { toMarkdown } = await exchange()
    await share(conversation.title, toMarkdown(conversation)).catch((error: unknown) => this.#fail(error))
  }

  async #onImport(event: Event): Promise<void> {
    const input = event.target as HTMLInputElement
    const [file] = input.files ?? []
    input.value = ''
    if (file === undefined) return
    try {
      const { importFile } = await exchange()
      this.said = { text: await importFile(file, this.acts.add), isError: false }
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): undefined {
    this.said = { text: error instanceof Error ? error.message : String(error), isError: true }
  }

  /** The app passes the change down in its own update. */
  async #focusNext(selector: string): Promise<void> {
    await new Promise(requestAnimationFrame)
    await this.updateComplete
    this.#focus(selector)
  }

  #focus(selector: string): void {
    this.querySelector<HTMLElement>(selector)?.focus()
  }
}

/** Rarely used code is loaded on demand. */
const exchange = () => import('./exchange.ts')
const search = () => import('./search.ts')
