// Storage. In: what the page keeps on this device. Out: a dialog that lists it with sizes, and removes it.
import { html, nothing, type TemplateResult } from 'lit'
import { storedSessions } from '../../../src/index.ts'
import { unkeep } from '../conversation/store/kept.ts'
import { icon } from '../shell/icons.ts'
import { Modal } from '../shell/modal.ts'
import { bytes } from '../shell/units.ts'
import { addressPlace, choiceName } from './models.ts'
import { removeDownload, storedDownloads, type Unfinished } from './unfinished.ts'

/** Bytes that the browser counts for this site, and the most that it allows; undefined where it does not say. */
interface Room {
  readonly usage: number
  readonly quota: number
}

export class StorageDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    models: { state: true },
    states: { state: true },
    room: { state: true },
  }
  declare models: readonly Unfinished[]
  /** Stored states of conversations: their number and bytes. */
  declare states: { readonly count: number; readonly bytes: number }
  declare room: Room | undefined
  protected override heading = 'Storage'

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
            : html`<p class="room" role="status">${bytes(room.usage)} of ${bytes(room.quota)} in use</p>
              <progress aria-label="Storage in use" max=${room.quota} value=${room.usage}></progress>
              <p class="hint">With the page itself, its models and your conversations.</p>`
        }
      </section>`,
      html`<section aria-labelledby="stored-models">
        <h3 id="stored-models">Models</h3>
        ${
          models.length === 0
            ? html`<p class="hint">None. The models that come with the page are part of it.</p>`
            : html`<ul class="list models">${models.map((model) => this.#model(model))}</ul>`
        }
      </section>`,
      html`<section aria-labelledby="stored-states">
        <h3 id="stored-states">Conversations</h3>
        <ul class="list models"><li>
          <div class="kept"><b>What models have read</b>
            <small>${states.count} ${states.count === 1 ? 'conversation' : 'conversations'} · ${bytes(states.bytes)}</small></div>
          <button class="quiet" aria-label="Remove what models have read" ?disabled=${states.count === 0}
            @click=${this.#removeStates}>${icon('trash')}</button>
        </li></ul>
        <p class="hint">Without it, a model reads a conversation again when you go on with it. Nothing you see is lost.</p>
      </section>`,
    ]
  }

  #model(model: Unfinished): TemplateResult {
    const name = choiceName({ kind: 'address', address: model.address })
    const cut = model.isCut ? ' of a download that was cut off' : ''
    return html`<li>
      <div class="kept"><b dir="auto">${name}</b><small>${bytes(model.bytes)}${cut} · ${addressPlace(model.address)}</small></div>
      <button class="quiet" aria-label="Remove ${name}" @click=${() => this.#remove(model)}>${icon('trash')}</button>
    </li>`
  }

  async #remove(model: Unfinished): Promise<void> {
    await removeDownload(model)
    await this.#after()
  }

  async #removeStates(): Promise<void> {
    await unkeep()
    await this.#after()
  }

  /** The button that was pressed may be gone. */
  async #after(): Promise<void> {
    await this.#look()
    await this.updateComplete
    this.querySelector<HTMLElement>('.heading button')?.focus()
  }
}

customElements.define('storage-dialog', StorageDialog)
