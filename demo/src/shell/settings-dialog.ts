// The settings dialog. In: settings. Out: an event `settings` with the new ones at each change, `reload`,
// and `show` with the dialog to open.
import { html, nothing, type TemplateResult } from 'lit'
import { isTouch } from '../../../src/chat-ui/keys.ts'
import { t } from '../words/words.ts'
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
  SAMPLER_FIELDS,
  type Settings,
  THEME_FIELD,
  TOOLS_FIELD,
  WEIGHTS_FIELD,
} from './settings.ts'

export class SettingsDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    settings: { attribute: false },
    stale: { type: Boolean },
    wrong: { state: true },
  }
  declare settings: Settings
  /** True when the model was loaded with different engine settings. */
  declare stale: boolean
  /** The field with an invalid value. */
  declare wrong: NumberField['key'] | undefined
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
      html`<section aria-labelledby="page-title">
        <h3 id="page-title">${t('page')}</h3>
        ${this.#choice(THEME_FIELD)}
        ${this.#choice(LANGUAGE_FIELD)}
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
      <small id="${id}-hint" class=${isWrong ? 'wrong' : ''}>${isWrong ? bounds : t(field.hint)}</small>
      <input id=${id} type="number" inputmode=${field.step < 1 ? 'decimal' : 'numeric'} aria-describedby="${id}-hint"
        aria-invalid=${isWrong} min=${field.min} max=${field.max} step=${field.step < 1 ? 'any' : '1'}
        placeholder=${field.empty === undefined ? '' : t(field.empty)} .value=${String(this.settings[field.key] ?? '')}
        @change=${(event: Event) => this.#onNumber(field, event.target as HTMLInputElement)} />
    </div>`
  }

  #choice({ key, label, hint, choices }: ChoiceField): TemplateResult {
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
      </select>
    </div>`
  }

  /** Keeps a valid number. For an invalid one it shows the bounds and leaves the text for correction. */
  #onNumber(field: NumberField, input: HTMLInputElement): void {
    const isEmpty = input.value === '' && !input.validity.badInput
    const value = isEmpty ? undefined : checkNumber(field, input.valueAsNumber)
    const isFine = value !== undefined || (isEmpty && field.empty !== undefined)
    if (isFine) this.#emit({ ...this.settings, [field.key]: value })
    else this.wrong = field.key
  }

  #onSystem(event: Event): void {
    this.#emit({ ...this.settings, system: (event.target as HTMLTextAreaElement).value.trim() })
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

  /** Another dialog in the place of this one. */
  #show(tag: string): void {
    this.close()
    this.dispatchEvent(new CustomEvent('show', { detail: tag }))
  }

  #emit(settings: Settings): void {
    this.wrong = undefined
    this.dispatchEvent(new CustomEvent('settings', { detail: settings }))
  }
}

customElements.define('settings-dialog', SettingsDialog)
