// Storage. In: the page's data on this device. Out: a dialog that lists it with sizes, and removes it.
import { html, nothing, type TemplateResult } from 'lit'
import { storedSessions } from '../../../src/index.ts'
import type { ListActs } from '../conversation/list/conversation-list.ts'
import type { Conversation } from '../conversation/store/conversations.ts'
import { unkeep } from '../conversation/store/kept.ts'
import { bySize } from '../conversation/store/size.ts'
import { icon } from '../shell/icons.ts'
import { Modal } from '../shell/modal.ts'
import { bytes } from '../shell/units.ts'
import { t } from '../words/later-words.ts'
import { addressPlace, choiceName } from './models.ts'
import { removeDownload, storedDownloads, type Unfinished } from './unfinished.ts'

/** Bytes used by this site, and its quota. */
interface Room {
  readonly usage: number
  readonly quota: number
}

/** Maximum number of listed conversations; the largest ones are listed. */
const MAX_LISTED = 20

class StorageDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    models: { state: true },
    states: { state: true },
    conversations: { attribute: false },
    acts: { attribute: false },
    room: { state: true },
  }
  declare models: readonly Unfinished[]
  /** The stored model states: their number and bytes. */
  declare states: { readonly count: number; readonly bytes: number }
  declare room: Room | undefined
  declare conversations: readonly Conversation[]
  declare acts: Pick<ListActs, 'remove'>
  protected override heading = 'storage' as const

  override async open(): Promise<void> {
    await this.#look()
    await super.open()
  }

  async #look(): Promise<void> {
    this.models = await storedDownloads()
    const sessions = await storedSessions().catch(() => [])
    this.states = { count: sessions.length, bytes: sessions.reduce((sum, { size }) => sum + size, 0) }
    const { usage, quota } = (await navigator.storage?.estimate?.().catch(() => undefined)) ?? {}
    this.room = usage === undefined || quota === undefined ? undefined : { usage, quota }
  }

  protected override pieces(): readonly TemplateResult[] {
    const { models, states, room } = this
    return [
      html`<section>
        ${
          room === undefined
            ? nothing
            : html`<p class="room" role="status">${t('inUse', { used: bytes(room.usage), all: bytes(room.quota) })}</p>
              <progress aria-label=${t('inUseMore')} max=${room.quota} value=${room.usage}></progress>
              <p class="hint">${t('inUseHint')}</p>`
        }
      </section>`,
      html`<section aria-labelledby="stored-models">
        <h3 id="stored-models">${t('models')}</h3>
        ${
          models.length === 0
            ? html`<p class="hint">${t('noneStored')}</p>`
            : html`<ul class="list models">${models.map((model) => this.#model(model))}</ul>`
        }
      </section>`,
      html`<section aria-labelledby="stored-states">
        <h3 id="stored-states">${t('conversations')}</h3>
        ${this.#written()}
        <ul class="list models"><li>
          <div class="kept"><b>${t('states')}</b>
            <small>${t('statesCount', { count: states.count })} · ${bytes(states.bytes)}</small></div>
          <button class="quiet" aria-label=${t('statesRemove')} ?disabled=${states.count === 0}
            @click=${this.#removeStates}>${icon('trash')}</button>
        </li></ul>
        <p class="hint">${t('statesHint')}</p>
      </section>`,
    ]
  }

  #model(model: Unfinished): TemplateResult {
    const name = choiceName({ kind: 'address', address: model.address })
    const size = model.isCut ? t('cutOff', { size: bytes(model.bytes) }) : bytes(model.bytes)
    return html`<li>
      <div class="kept"><b dir="auto">${name}</b><small>${size} · ${addressPlace(model.address)}</small></div>
      <button class="quiet" aria-label=${t('removeName', { name })} @click=${() => this.#remove(model)}>${icon('trash')}</button>
    </li>`
  }

  #written(): TemplateResult {
    const all = bySize(this.conversations)
    const smaller = all.length - MAX_LISTED
    return html`${
      all.length === 0
        ? html`<p class="hint">${t('noneWritten')}</p>`
        : html`<ul class="list models" aria-label=${t('conversations')}>${all.slice(0, MAX_LISTED).map(
            ({ conversation: { id, title }, bytes: size }) => html`<li>
              <div class="kept"><b dir="auto">${title}</b><small>${bytes(size)}</small></div>
              <button class="quiet" aria-label=${t('deleteTitle', { title })} @click=${() => this.#delete(id)}>${icon('trash')}</button>
            </li>`,
          )}</ul>
          ${smaller > 0 ? html`<p class="hint">${t('moreWritten', { count: smaller })}</p>` : nothing}
          <p class="hint">${t('writtenHint')}</p>`
    }`
  }

  async #delete(id: string): Promise<void> {
    this.acts.remove([id])
    await this.#after()
  }

  async #remove(model: Unfinished): Promise<void> {
    await removeDownload(model)
    await this.#after()
  }

  async #removeStates(): Promise<void> {
    await unkeep()
    await this.#after()
  }

  /** The button that had the focus may no longer exist. */
  async #after(): Promise<void> {
    this.dispatchEvent(new Event('freed'))
    await this.#look()
    await this.updateComplete
    this.querySelector<HTMLElement>('.heading button')?.focus()
  }
}

customElements.define('storage-dialog', StorageDialog)
