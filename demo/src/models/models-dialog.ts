// The model picker. In: the model in use. Out: an event `model` with the chosen one.

import { PAGE_PACKS } from 'virtual:page-packs'
import { html, nothing, type TemplateResult } from 'lit'
import { keepStored, storedBytes } from '../../../src/index.ts'
import { CATALOGUE } from '../../../src/ui/chat/library.ts'
import { forgetAddress, recentAddresses } from '../conversation/store/remember.ts'
import { icon } from '../shell/icons.ts'
import { Modal } from '../shell/modal.ts'
import { nextTask } from '../shell/tasks.ts'
import { bytes } from '../shell/units.ts'
import { modelText, t } from '../words/words.ts'
import { EMBEDDED, type ModelChoice } from './embedded.ts'
import { addressPlace, choiceName, typedAddress } from './models.ts'
import type { PageModel } from './page-pack.ts'
import { keepTower, unstoreModel } from './towers.ts'
import { removeDownload, renderUnfinished, type Unfinished, unfinishedDownloads } from './unfinished.ts'

/**
 * Packs served with the page are loaded like any model from an address: checked, stored on the device,
 * resumed.
 */
const KNOWN: readonly PageModel[] = [...PAGE_PACKS, ...CATALOGUE]

class ModelsDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    current: { attribute: false },
    recent: { state: true },
    stored: { state: true },
    unfinished: { state: true },
  }
  declare current: ModelChoice
  /** Addresses that were loaded before and are not in the catalogue. */
  declare recent: readonly string[]
  /** Stored bytes of each address on this device. */
  declare stored: ReadonlyMap<string, number>
  /** Interrupted downloads, and other files on this device. */
  declare unfinished: readonly Unfinished[]
  protected override heading = 'chooseModel' as const

  override async open(): Promise<void> {
    this.recent = recentAddresses().filter((address) => !KNOWN.some((model) => model.address === address))
    this.stored = new Map()
    this.unfinished = []
    await super.open()
    this.unfinished = await unfinishedDownloads()
    const addresses = [...this.recent, ...KNOWN.map(({ address }) => address)]
    this.stored = new Map(
      await Promise.all(addresses.map(async (address) => [address, await storedBytes(address)] as const)),
    )
  }

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<ul class="list models">
        ${EMBEDDED.map(
          (model) => html`<li>
            <button class="choice" aria-current=${this.current === model} @click=${() => this.#choose(model)}>
              <b>${model.name}</b>
              <small>${t(model.about)}</small>
            </button>
          </li>`,
        )}
        ${PAGE_PACKS.map(this.#known)}
        ${this.recent
          .filter((address) => !this.unfinished.some((cut) => cut.address === address))
          .map((address) => this.#row(address, this.#storedText(address) || t('notHere')))}
      </ul>`,
      html`${renderUnfinished(
        this.unfinished,
        (address) => void this.#choose({ kind: 'address', address }),
        (download) => void this.#removeUnfinished(download),
      )}`,
      html`<h3 class="over" id="catalogue">${t('catalogue')}</h3>
      <ul class="list models" aria-labelledby="catalogue">
        ${CATALOGUE.map(this.#known)}
      </ul>
      <p class="hint">${t('catalogueMore')}</p>`,
      html`<form @submit=${this.#onAddress}>
        <label class="over" for="address">${t('address')}</label>
        <div class="beside">
          <input id="address" required inputmode="url" autocomplete="off" spellcheck="false"
            placeholder="https://…/model.gguf" aria-describedby="address-hint" />
          <button class="primary">${t('load')}</button>
        </div>
        <p class="hint" id="address-hint">${t('addressMore')} ${t(canKeep() ? 'addressKept' : 'addressUnkept')}</p>
        <label class="over" for="tower">${t('tower')}</label>
        <input id="tower" inputmode="url" autocomplete="off" spellcheck="false"
          placeholder="https://…/mmproj.gguf" aria-describedby="tower-hint" />
        <p class="hint" id="tower-hint">${t('towerMore')}</p>
      </form>`,
      html`<label class="over" for="files">${t('device')}</label>
      <label class="pick">
        ${icon('file')}<span>${t('files')}</span>
        <input id="files" class="visually-hidden" type="file" multiple aria-describedby="files-hint" @click=${this.#onPick} @change=${this.#onFiles} />
      </label>
      <p class="hint" id="files-hint">${t('filesMore')}</p>`,
    ]
  }

  readonly #known = (model: PageModel): TemplateResult =>
    this.#row(model.address, this.#storedText(model.address) || bytes(model.sizeBytes), model)

  /** `place`: its location and size. */
  #row(address: string, place: string, model?: PageModel): TemplateResult {
    const isCurrent = this.current.kind === 'address' && this.current.address === address
    const choice: ModelChoice = { kind: 'address', address }
    const name = model?.title ?? choiceName(choice)
    const facts =
      model === undefined
        ? [addressPlace(address)]
        : [model.licence, t('catalogueContext', { count: model.contextLength })]
    const isKept = model === undefined || (this.stored.get(address) ?? 0) > 0
    return html`<li>
      <button class="choice" aria-current=${isCurrent} title=${address} @click=${() => this.#choose(choice)}>
        <b dir="auto">${name}</b>
        ${model === undefined ? nothing : html`<small>${modelText(model.title, model.about)}</small>`}
        <small>${[place, ...facts].join(' · ')}</small>
      </button>
      ${
        isKept
          ? html`<button class="quiet" aria-label=${t('forget', { name })} @click=${() => this.#forget(address)}>${icon('trash')}</button>`
          : nothing
      }
    </li>`
  }

  #storedText(address: string): string {
    const size = this.stored.get(address) ?? 0
    return size > 0 ? t('onDevice', { size: bytes(size) }) : ''
  }

  async #forget(address: string): Promise<void> {
    forgetAddress(address)
    this.recent = this.recent.filter((other) => other !== address)
    this.stored = new Map([...this.stored].filter(([other]) => other !== address))
    this.querySelector<HTMLElement>('.choice')?.focus()
    await unstoreModel(address)
  }

  async #removeUnfinished(download: Unfinished): Promise<void> {
    this.unfinished = this.unfinished.filter((other) => other !== download)
    this.recent = this.recent.filter((address) => address !== download.address)
    this.querySelector<HTMLElement>('.choice')?.focus()
    await removeDownload(download)
  }

  #onAddress(event: SubmitEvent): void {
    event.preventDefault()
    const typed = (field: string) =>
      typedAddress(this.querySelector<HTMLInputElement>(field)?.value.trim() ?? '')
    const address = typed('#address')
    keepTower(address, typed('#tower'))
    void this.#choose({ kind: 'address', address })
  }

  /**
   * Uses the picker with file handles if the browser has one, because a later visit can reopen such files.
   */
  async #onPick(event: Event): Promise<void> {
    if (!('showOpenFilePicker' in window)) return
    event.preventDefault()
    const { pickFiles } = await import('./device-files.ts')
    const files = await pickFiles()
    if (files.length > 0) void this.#choose({ kind: 'files', files })
  }

  #onFiles(event: Event): void {
    const files = [...((event.target as HTMLInputElement).files ?? [])]
    if (files.length > 0) void this.#choose({ kind: 'files', files })
  }

  async #choose(choice: ModelChoice): Promise<void> {
    // Browsers may ask for permission, so this happens only when the user chooses the files.
    if (choice.kind === 'address') void keepStored()
    this.close()
    // Closing moves the focus, which causes layout, so loading starts in the next task.
    await nextTask()
    this.dispatchEvent(new CustomEvent('model', { detail: choice }))
  }
}

/** Whether the browser has file storage for this page. Insecure pages have none. */
const canKeep = (): boolean => navigator.storage?.getDirectory !== undefined

customElements.define('models-dialog', ModelsDialog)
