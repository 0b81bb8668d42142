// Ops compared with their limits. In: the model in use. Out: a button that starts measuring, progress, and a
// table for each step.
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit'
import type { StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import { bytes } from '../../shell/units.ts'
import { t } from '../../words/later-words.ts'
import { Speaks } from '../../words/words.ts'
import { explain } from '../explain.ts'
import type { Used } from '../model-slot.ts'
import { OP_COLUMNS, opRows, stepTitle } from './op-rows.ts'

type State =
  | { readonly phase: 'idle' }
  /** `done`: from 0 to 1. */
  | { readonly phase: 'running'; readonly done: number; readonly abort: AbortController }
  | { readonly phase: 'failed'; readonly why: string }

/** Fires `measured` with the steps. */
export class OpLimits extends LitElement {
  static override properties = {
    used: { attribute: false },
    weightBytes: { attribute: false },
    idle: { attribute: false },
    steps: { attribute: false },
    state: { state: true },
  }
  declare used: Used
  declare weightBytes: number
  /** Resolves when no answer is in progress: running both at once would be slow. */
  declare idle: () => Promise<void>
  /** The steps, if they were measured before. */
  declare steps: readonly StepAnalysis[]
  declare state: State

  constructor() {
    super()
    new Speaks(this)
    this.state = { phase: 'idle' }
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#cancel()
  }

  protected override willUpdate(changed: PropertyValues<this>): void {
    if (changed.has('used') && changed.get('used') !== undefined) this.#cancel()
  }

  protected override render(): TemplateResult {
    const { state, steps } = this
    const isRunning = state.phase === 'running'
    return html`<section aria-labelledby="ops-run">
      <h3 id="ops-run">${t('ops')}</h3>
      <p class="hint">${steps.length > 0 ? t('opsNote') : t('opsHint', { size: bytes(this.weightBytes) })}</p>
      ${isRunning ? nothing : steps.map(renderStep)}
      ${state.phase === 'failed' ? html`<p class="notice error" role="alert">${state.why}</p>` : nothing}
      ${isRunning ? html`<progress aria-label=${t('measuring')} max="1" .value=${state.done}></progress>` : nothing}
      <p class="visually-hidden" role="status">${isRunning ? t('measuring') : ''}</p>
      <button class="outline" @click=${isRunning ? this.#cancel : this.#measure}>
        ${t(isRunning ? 'cancel' : steps.length > 0 ? 'measureAgain' : 'measure')}
      </button>
    </section>`
  }

  readonly #measure = async (): Promise<void> => {
    const abort = new AbortController()
    const { signal } = abort
    this.state = { phase: 'running', done: 0, abort }
    try {
      const { measureOps } = await import('./measure-ops.ts')
      await this.idle()
      signal.throwIfAborted()
      const steps = await measureOps(this.used, this.weightBytes, {
        signal,
        onProgress: (_, done) => {
          if (!signal.aborted) this.state = { phase: 'running', done, abort }
        },
      })
      this.state = { phase: 'idle' }
      this.dispatchEvent(new CustomEvent('measured', { detail: steps }))
    } catch (error) {
      if (!signal.aborted) this.state = { phase: 'failed', why: explain(error).text }
    }
  }

  readonly #cancel = (): void => {
    if (this.state.phase !== 'running') return
    this.state.abort.abort()
    this.state = { phase: 'idle' }
  }
}

function renderStep(step: StepAnalysis): TemplateResult {
  return html`<table class="figures-table ops">
    <caption>${stepTitle(step)}</caption>
    <thead><tr>${OP_COLUMNS.map((name) => html`<th scope="col">${t(name)}</th>`)}</tr></thead>
    <tbody>${opRows(step).map(
      ([name, ...cells]) =>
        html`<tr><th scope="row" dir="auto">${name}</th>${cells.map((cell) => html`<td dir="ltr">${cell}</td>`)}</tr>`,
    )}</tbody>
  </table>`
}
