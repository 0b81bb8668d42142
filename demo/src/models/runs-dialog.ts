// How it runs. In: the engine and its last answers. Out: a dialog with speeds, memory and set-up, and a report
// to copy.
import { html, nothing, type TemplateResult } from 'lit'
import type { Engine, MemoryUse } from '../../../src/index.ts'
import { copyText } from '../../../src/widget/markdown/clipboard.ts'
import type { Figures } from '../conversation/chat.ts'
import { icon } from '../shell/icons.ts'
import { Modal } from '../shell/modal.ts'
import { bytes } from '../shell/units.ts'
import {
  ANSWER_COLUMNS,
  answerRows,
  engineFacts,
  type Fact,
  memoryFacts,
  readRate,
  report,
} from './how-it-runs.ts'

/** How long the button shows that it has copied, in milliseconds. */
const COPIED_MS = 1500

export class RunsDialog extends Modal {
  static override properties = {
    ...Modal.properties,
    engine: { attribute: false },
    answers: { attribute: false },
    memory: { state: true },
    copied: { state: true },
  }
  declare engine: Engine | undefined
  /** Oldest first. */
  declare answers: readonly Figures[]
  declare memory: MemoryUse | undefined
  declare copied: boolean
  protected override heading = 'How it runs'

  override async open(): Promise<void> {
    this.copied = false
    this.memory = await this.engine?.memory().catch(() => undefined)
    await super.open()
  }

  protected override pieces(): readonly TemplateResult[] {
    const { engine, memory, answers } = this
    if (engine === undefined || memory === undefined) return [html`<p>No model is loaded.</p>`]
    const rate = readRate(memory, answers)
    return [
      html`<section aria-labelledby="answers-run">
        <h3 id="answers-run">Last answers</h3>
        ${answers.length === 0 ? html`<p class="hint">None yet.</p>` : this.#table()}
        ${
          rate === undefined
            ? nothing
            : html`<p class="hint">Each token reads all weights once: ${bytes(rate)} per second. What the memory and the
                processor of this device allow, op by op, is measured on <a href="./roofline.html" target="_blank">a page of its own</a>.</p>`
        }
      </section>`,
      html`<section aria-labelledby="engine-runs"><h3 id="engine-runs">Engine</h3>${list(engineFacts(engine))}</section>`,
      html`<section aria-labelledby="memory-runs"><h3 id="memory-runs">Memory</h3>${list(memoryFacts(memory))}</section>
        <footer class="sheet-foot">
          <button class="outline" @click=${this.#copy}>${icon(this.copied ? 'check' : 'copy')}${this.copied ? 'Copied' : 'Copy as a report'}</button>
        </footer>`,
    ]
  }

  #table(): TemplateResult {
    return html`<table class="figures-table">
      <thead><tr>${ANSWER_COLUMNS.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${answerRows(this.answers).map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
    </table>`
  }

  async #copy(): Promise<void> {
    if (this.engine === undefined || this.memory === undefined) return
    if (!(await copyText(report(this.engine, this.memory, this.answers)))) return
    this.copied = true
    setTimeout(() => {
      this.copied = false
    }, COPIED_MS)
  }
}

const list = (facts: readonly Fact[]): TemplateResult =>
  html`<dl class="facts">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd dir="auto">${value}</dd></div>`)}</dl>`

customElements.define('runs-dialog', RunsDialog)
