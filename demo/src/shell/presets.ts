// Presets. In: the settings of the open conversation. Out: a menu of named settings, and an `apply` event
// with the chosen ones.
import { html, LitElement, type TemplateResult } from 'lit'
import { isComposing } from '../../../src/ui/chat/keys.ts'
import { t } from '../words/later-words.ts'
import { Speaks } from '../words/words.ts'
import { type OwnSettings, ownPart, parseOwn } from './own-settings.ts'
import { DEFAULT_SETTINGS, type Settings } from './settings.ts'
import { readItem, writeItem } from './storage.ts'

/**
 * Named settings. A preset overrides everything: for sampling options that it lacks, the model's values
 * apply.
 */
interface Preset {
  readonly name: string
  readonly settings: OwnSettings
}

const KEY = 'halfbyte-presets'
const MAX_PRESETS = 50
/** Maximum length of a name in UTF-16 units. */
const MAX_NAME = 60

class PresetMenu extends LitElement {
  static override properties = {
    settings: { attribute: false },
    presets: { state: true },
    naming: { state: true },
  }
  declare settings: Settings
  /** Sorted by name. */
  declare presets: readonly Preset[]
  declare naming: boolean

  constructor() {
    super()
    new Speaks(this)
    this.presets = readPresets()
    this.naming = false
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  protected override render(): TemplateResult {
    const current = this.#current
    return html`<div class="field">
        <label for="preset">${t('preset')}</label>
        <small id="preset-hint">${t('presetHint')}</small>
        <select id="preset" aria-describedby="preset-hint" @change=${this.#onChoice}>
          <option value="" ?selected=${current === undefined} ?disabled=${current === undefined}>${t('presetNone')}</option>
          ${this.presets.map(
            ({ name }) => html`<option value=${name} .selected=${name === current?.name}>${name}</option>`,
          )}
        </select>
      </div>
      ${this.naming ? this.#naming() : this.#actions(current)}`
  }

  #actions(current: Preset | undefined): TemplateResult {
    return html`<div class="row">
      ${
        current === undefined
          ? html`<button type="button" class="outline save" @click=${this.#startNaming}>${t('presetSave')}</button>`
          : html`<button type="button" class="outline" @click=${() => this.#remove(current)}>${t('presetDelete', { name: current.name })}</button>`
      }
    </div>`
  }

  /** Not a form, because the dialog already is one. */
  #naming(): TemplateResult {
    return html`<label class="over" for="preset-name">${t('presetName')}</label>
      <div class="beside">
        <input id="preset-name" dir="auto" maxlength=${MAX_NAME} autocomplete="off" @keydown=${this.#onKey} />
        <button type="button" class="primary" @click=${this.#save}>${t('save')}</button>
      </div>`
  }

  /** The preset that matches the current settings. */
  get #current(): Preset | undefined {
    const holds = keyOf(ownPart(this.settings))
    return this.presets.find(({ settings }) => keyOf(settings) === holds)
  }

  #onChoice(event: Event): void {
    const { value } = event.target as HTMLSelectElement
    const preset = this.presets.find(({ name }) => name === value)
    if (preset === undefined) return
    this.dispatchEvent(new CustomEvent('apply', { detail: preset.settings, bubbles: true }))
  }

  async #startNaming(): Promise<void> {
    this.naming = true
    await this.updateComplete
    this.querySelector('input')?.focus()
  }

  #onKey(event: KeyboardEvent): void {
    if (isComposing(event)) return
    if (event.key === 'Enter') void this.#save(event)
    if (event.key !== 'Escape') return
    event.preventDefault()
    void this.#endNaming()
  }

  async #save(event: Event): Promise<void> {
    event.preventDefault()
    const name = this.querySelector('input')?.value.trim().replace(/\s+/g, ' ') ?? ''
    if (name !== '')
      this.#keep([
        ...this.presets.filter((other) => other.name !== name),
        { name, settings: ownPart(this.settings) },
      ])
    await this.#endNaming()
  }

  async #endNaming(): Promise<void> {
    this.naming = false
    await this.updateComplete
    this.querySelector('select')?.focus()
  }

  async #remove(preset: Preset): Promise<void> {
    this.#keep(this.presets.filter((other) => other !== preset))
    await this.updateComplete
    this.querySelector('select')?.focus()
  }

  #keep(presets: readonly Preset[]): void {
    this.presets = presets.toSorted((a, b) => a.name.localeCompare(b.name)).slice(0, MAX_PRESETS)
    writeItem(KEY, this.presets.length === 0 ? undefined : JSON.stringify(this.presets))
  }
}

/** The same key for equal settings, regardless of the order of their fields. */
const keyOf = (settings: OwnSettings): string =>
  JSON.stringify(
    Object.entries(settings)
      .filter(([, value]) => value !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )

/** The stored presets, without damaged ones. */
function readPresets(): readonly Preset[] {
  let stored: unknown
  try {
    stored = JSON.parse(readItem(KEY) ?? '[]')
  } catch {
    // The next preset replaces an unreadable record.
  }
  if (!Array.isArray(stored)) return []
  return stored.flatMap((record: unknown): readonly Preset[] => {
    const { name, settings } = Object(record)
    const own = parseOwn(settings)
    return typeof name === 'string' && name !== '' && own !== undefined
      ? [{ name, settings: whole(own) }]
      : []
  })
}

/** JSON omits keys whose value is undefined. */
const whole = (own: OwnSettings): OwnSettings => ownPart({ ...DEFAULT_SETTINGS, ...own })

customElements.define('preset-menu', PresetMenu)
