// How a model runs. In: the engine and its last answers. Out: a dialog with speeds, memory and set-up, and a
// report to copy.
import { html, nothing, type TemplateResult } from 'lit'
import type { StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import type { MemoryUse } from '../../../../src/index.ts'
import { copyText } from '../../../../src/ui/chat/copy.ts'
import type { Figures } from '../../conversation/answer.ts'
import { icon } from '../../shell/icons.ts'
import { Modal } from '../../shell/modal.ts'
import { bytes } from '../../shell/units.ts'
import { t } from '../../words/later-words.ts'
import type { Used } from '../model-slot.ts'
import {
  ANSWER_COLUMNS,
  answerRows,
  engineFacts,
  type Fact,
  memoryFacts,
  readRate,
  report,
} from './how-it-runs.ts'

/** How long the button confirms that the report was copied, in milliseconds. */
const COPIED_MS = 1500

class RunsDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    used: { attribute: false },
    idle: { attribute: false },
    answers: { attribute: false },
    memory: { state: true },
    measured: { state: true },
    copied: { state: true },
  }
  /** The model that answers. */
  declare used: Used | undefined
  /** Resolves when no answer is in progress. */
  declare idle: () => Promise<void>
  /** Oldest first. */
  declare answers: readonly Figures[]
  declare memory: MemoryUse | undefined
  /** The measurements, and the model that was measured. */
  declare measured: { readonly of: Used; readonly steps: readonly StepAnalysis[] } | undefined
  declare copied: boolean
  protected override heading = 'howItRuns' as const

  override async open(): Promise<void> {
    this.copied = false
    // If this fails, the dialog still shows the rest.
    void defineOpLimits().catch(() => undefined)
    this.memory = await this.used?.engine.memory().catch(() => undefined)
    await super.open()
  }

  protected override pieces(): readonly TemplateResult[] {
    const { used, memory, answers } = this
    if (used === undefined || memory === undefined) return [html`<p>${t('noModel')}</p>`]
    const rate = readRate(memory, answers)
    return [
      html`<section aria-labelledby="answers-run">
        <h3 id="answers-run">${t('lastAnswers')}</h3>
        ${answers.length === 0 ? html`<p class="hint">${t('noAnswers')}</p>` : this.#table()}
        ${
          rate === undefined
            ? nothing
            : html`<p class="hint">${t('readRate', { rate: bytes(rate) })} <a href="./roofline.html" target="_blank">${t('limits')}</a></p>`
        }
      </section>`,
      html`<section aria-labelledby="engine-runs"><h3 id="engine-runs">${t('engine')}</h3>${list(engineFacts(used.engine))}</section>`,
      html`<section aria-labelledby="memory-runs"><h3 id="memory-runs">${t('memory')}</h3>${list(memoryFacts(memory))}</section>`,
      html`<op-limits .used=${used} .weightBytes=${memory.weightsBytes} .idle=${this.idle} .steps=${this.#steps}
          @measured=${(event: CustomEvent<readonly StepAnalysis[]>) => this.#keep(used, event.detail)}></op-limits>
        <footer class="sheet-foot">
          <button class="outline" @click=${this.#copy}>${icon(this.copied ? 'check' : 'copy')}${t(this.copied ? 'copied' : 'copyReport')}</button>
        </footer>`,
    ]
  }

  #table(): TemplateResult {
    return html`<table class="figures-table">
      <thead><tr>${ANSWER_COLUMNS.map((name) => html`<th scope="col">${t(name)}</th>`)}</tr></thead>
      <tbody>${answerRows(this.answers).map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
    </table>`
  }

  get #steps(): readonly StepAnalysis[] {
    return this.measured !== undefined && this.measured.of === this.used ? this.measured.steps : []
  }

  #keep(of: Used, steps: readonly StepAnalysis[]): void {
    this.measured = { of, steps }
  }

  async #copy(): Promise<void> {
    const { used, memory, answers } = this
    if (used === undefined || memory === undefined) return
    if (!(await copyText(report(used.engine, memory, answers, this.#steps)))) return
    this.copied = true
    setTimeout(() => {
      this.copied = false
    }, COPIED_MS)
  }
}

/** Few users measure ops, so the element loads separately. */
async function defineOpLimits(): Promise<void> {
  if (customElements.get('op-limits') !== undefined) return
  const { OpLimits } = await import('./op-limits.ts')
  customElements.define('op-limits', OpLimits)
}

const list = (facts: readonly Fact[]): TemplateResult =>
  html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

customElements.define('runs-dialog', RunsDialog)
