// The settings dialog. In: settings. Out: an event `settings` with the new ones at each change, `reload`,
// `show` with the dialog to open, `apply` with a preset, and `for-new` to make the current settings the
// defaults for new conversations.
import { html, nothing, type TemplateResult } from 'lit'
import type { SamplerOptions } from '../../../src/index.ts'
import { isTouch } from '../../../src/ui/chat/keys.ts'
import { typedAddress } from '../models/models.ts'
import { t } from '../words/later-words.ts'
import { OWN_NAMES } from '../words/own-names.ts'
import { canInstall, install, onOffer } from './install.ts'
import { SHORTCUTS } from './keys.ts'
import { Modal } from './modal.ts'
import {
  type ChoiceField,
  checkNumber,
  DEFAULT_SETTINGS,
  ENGINE_FIELDS,
  LANGUAGE_FIELD,
  LENGTH_FIELD,
  MEMORY_FIELD,
  type NumberField,
  PICTURES_FIELD,
  RECOMMENDED,
  type Recommended,
  SAMPLER_FIELDS,
  type Settings,
  THEME_FIELD,
  TOOLS_FIELD,
  usualValue,
  WEIGHTS_FIELD,
} from './settings.ts'

/** Loads when the dialog opens. */
const PRESETS = () => import('./presets.ts')

class SettingsDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    settings: { attribute: false },
    sampling: { attribute: false },
    own: { type: Boolean },
    stale: { type: Boolean },
    presets: { state: true },
    wrong: { state: true },
  }
  /** The settings of the open conversation. */
  declare settings: Settings
  /** The values recommended by the loaded model's files. */
  declare sampling: SamplerOptions
  /** True if the open conversation has its own settings. */
  declare own: boolean
  /** True when the model was loaded with different engine settings. */
  declare stale: boolean
  /** The field with an invalid value. */
  declare wrong: NumberField['key'] | undefined
  /** True once the presets' code has loaded. */
  declare presets: boolean
  protected override heading = 'settings' as const

  #endOffer = (): void => undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#endOffer = onOffer(() => this.requestUpdate())
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#endOffer()
  }

  override async open(): Promise<void> {
    // If the presets cannot be loaded, for example after an update of the page, the rest of the dialog still
    // works.
    void PRESETS().then(
      () => {
        this.presets = true
      },
      () => undefined,
    )
    await super.open()
  }

  protected override around(pieces: readonly TemplateResult[]): TemplateResult {
    return html`<form method="dialog" novalidate @submit=${this.#onSubmit}>${pieces}</form>`
  }

  protected override pieces(): readonly TemplateResult[] {
    return [
      html`<section>
        <label class="over" for="system">${t('system')}</label>
        <textarea id="system" rows="2" dir="auto" placeholder=${t('systemHint')} .value=${this.settings.system} @change=${this.#onSystem}></textarea>
      </section>`,
      html`<section aria-labelledby="answers-title">
        <h3 id="answers-title">${t('answers')}</h3>
        ${this.#number(LENGTH_FIELD)}
        ${this.#choice(TOOLS_FIELD)}
      </section>`,
      html`<section>
        ${this.presets ? html`<preset-menu .settings=${this.settings}></preset-menu>` : nothing}
        <p class="hint" role="status">${t(this.own ? 'ofThisChat' : 'ofNewChats')}</p>
        ${
          this.own
            ? html`<button type="button" class="row-link" @click=${() => this.dispatchEvent(new CustomEvent('for-new'))}>${t('useForNew')}</button>`
            : nothing
        }
      </section>`,
      html`<section aria-labelledby="page-title">
        <h3 id="page-title">${t('page')}</h3>
        ${this.#choice(THEME_FIELD)}
        ${this.#choice(LANGUAGE_FIELD, OWN_NAMES)}
        ${
          isTouch()
            ? nothing
            : html`<h4 id="keys-title">${t('keys')}</h4>
              <dl class="keys" aria-labelledby="keys-title">
                ${SHORTCUTS.map(({ keys, does }) => html`<div><dt><kbd>${keys}</kbd></dt><dd>${t(does)}</dd></div>`)}
              </dl>`
        }
        ${
          canInstall()
            ? html`<button type="button" class="row-link" @click=${() => void install()}>${t('install')}</button>`
            : nothing
        }
        <button type="button" class="row-link" @click=${() => this.#show('runs-dialog')}>${t('howItRuns')}</button>
        <button type="button" class="row-link" @click=${() => this.#show('storage-dialog')}>${t('storage')}</button>
        <a class="row-link" href="./roofline.html" target="_blank">${t('roofline')}</a>
      </section>`,
      html`<details>
        <summary>${t('sampling')}</summary>
        ${SAMPLER_FIELDS.map((field) => this.#number(field))}
      </details>
      <details>
        <summary>${t('engine')}</summary>
        ${ENGINE_FIELDS.map((field) => this.#number(field))}
        ${this.#choice(WEIGHTS_FIELD)}
        ${this.#choice(MEMORY_FIELD)}
        ${this.#choice(PICTURES_FIELD)}
      </details>
      <details>
        <summary>${t('longFiles')}</summary>
        <label class="over" for="search-model">${t('searchModel')}</label>
        <input id="search-model" inputmode="url" autocomplete="off" spellcheck="false" aria-describedby="search-hint"
          placeholder="owner/name" .value=${this.settings.search} @change=${this.#onSearch} />
        <p class="hint" id="search-hint">${t('searchModelMore')}</p>
      </details>
      <div class="apply" role="status">
        ${
          this.stale
            ? html`<span>${t('staleHint')}</span>
              <button type="button" class="outline" @click=${this.#reload}>${t('reload')}</button>`
            : nothing
        }
      </div>
      <footer class="sheet-foot">
        <button type="button" class="outline" @click=${() => this.#emit(DEFAULT_SETTINGS)}>${t('reset')}</button>
        <button class="primary">${t('done')}</button>
      </footer>`,
    ]
  }

  #number(field: NumberField): TemplateResult {
    const id = `setting-${field.key}`
    const isWrong = this.wrong === field.key
    const bounds = t(field.empty === undefined ? 'bounds' : 'boundsEmpty', { min: field.min, max: field.max })
    return html`<div class="field">
      <label for=${id}>${t(field.label)}</label>
      <small id="${id}-hint" class=${isWrong ? 'wrong' : ''}>${isWrong ? bounds : t(field.hint) + this.#recommendation(field)}</small>
      <input id=${id} type="number" inputmode=${field.step < 1 ? 'decimal' : 'numeric'} aria-describedby="${id}-hint"
        aria-invalid=${isWrong} min=${field.min} max=${field.max} step=${field.step < 1 ? 'any' : '1'}
        placeholder=${field.empty === undefined ? '' : t(field.empty)} .value=${this.#shown(field)}
        @change=${(event: Event) => this.#onNumber(field, event.target as HTMLInputElement)} />
    </div>`
  }

  /** The value used if nothing is chosen. */
  #shown({ key }: NumberField): string {
    const usual = isRecommended(key) ? usualValue(key, this.sampling) : ''
    return String(this.settings[key] ?? usual)
  }

  /** Says that a value is the model's own, or names the model's value if the user has chosen another. */
  #recommendation({ key }: NumberField): string {
    const value = isRecommended(key) ? this.sampling[key] : undefined
    if (value === undefined) return ''
    return ` · ${this.settings[key] === undefined ? t('isModels') : t('modelsIs', { value })}`
  }

  /** `languages`: further choices, each labelled in its own language. */
  #choice(
    { key, label, hint, choices }: ChoiceField,
    languages: Readonly<Record<string, string>> = {},
  ): TemplateResult {
    const id = `setting-${key}`
    const value = this.settings[key]
    return html`<div class="field">
      <label for=${id}>${t(label)}</label>
      <small id="${id}-hint">${t(hint)}</small>
      <select id=${id} aria-describedby="${id}-hint" @change=${(event: Event) =>
        this.#emit({ ...this.settings, [key]: (event.target as HTMLSelectElement).value })}>
        ${Object.entries(choices).map(
          ([choice, name]) => html`<option value=${choice} ?selected=${choice === value}>${t(name)}</option>`,
        )}
        ${Object.entries(languages).map(
          ([code, name]) =>
            html`<option value=${code} lang=${code} ?selected=${code === value}>${name}</option>`,
        )}
      </select>
    </div>`
  }

  /** Keeps a valid number. For an invalid one it shows the bounds and leaves the text for correction. */
  #onNumber(field: NumberField, input: HTMLInputElement): void {
    const isEmpty = input.value === '' && !input.validity.badInput
    const value = isEmpty ? undefined : checkNumber(field, input.valueAsNumber)
    const isFine = value !== undefined || (isEmpty && field.empty !== undefined)
    if (!isFine) {
      this.wrong = field.key
      return
    }
    this.#emit({ ...this.settings, [field.key]: value })
    // The field may have been empty before.
    if (isEmpty) void this.updateComplete.then(() => Object.assign(input, { value: this.#shown(field) }))
  }

  #onSystem(event: Event): void {
    this.#emit({ ...this.settings, system: (event.target as HTMLTextAreaElement).value.trim() })
  }

  #onSearch(event: Event): void {
    const search = typedAddress((event.target as HTMLInputElement).value.trim())
    this.#emit({ ...this.settings, search })
  }

  /** The dialog stays open while a field is invalid. */
  #onSubmit(event: Event): void {
    if (this.wrong === undefined) return
    event.preventDefault()
    const field = this.querySelector<HTMLElement>(`#setting-${this.wrong}`)
    const folded = field?.closest('details')
    if (folded) folded.open = true
    field?.focus()
  }

  #reload(): void {
    this.close()
    this.dispatchEvent(new CustomEvent('reload'))
  }

  /** Opens another dialog in place of this one. */
  #show(tag: string): void {
    this.close()
    this.dispatchEvent(new CustomEvent('show', { detail: tag }))
  }

  #emit(settings: Settings): void {
    this.wrong = undefined
    this.dispatchEvent(new CustomEvent('settings', { detail: settings }))
  }
}

const isRecommended = (key: NumberField['key']): key is Recommended =>
  RECOMMENDED.some((recommended) => recommended === key)

customElements.define('settings-dialog', SettingsDialog)
