// The roofline page. In: a click on Start. Out: this device's limits and how close the embedded model comes,
// as a plot and in tables.
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { analyse, type Measured, type StepAnalysis } from '../../../lab/bench/roofline/analyse.ts'
import { type Effort, PAGE, QUICK } from '../../../lab/bench/roofline/jobs.ts'
import { runRoofline } from '../../../lab/bench/roofline/run.ts'
import {
  allTables,
  figure as digits,
  kindTable,
  machineTables,
  markdown,
  peakTable,
  type Table,
  threadText,
  worstTable,
} from '../../../lab/bench/roofline/tables.ts'
import { copyText } from '../../../src/ui/chat/copy.ts'
import { DEFAULT } from '../models/embedded.ts'
import { choiceSource } from '../models/models.ts'
import { readSettings } from '../shell/settings.ts'
import { describe, type Figure, figureOf, type Point } from './figure.ts'
import { drawPlot } from './plot.ts'

type State =
  | { readonly phase: 'idle' }
  | {
      readonly phase: 'running'
      readonly what: string
      readonly done: number
      readonly abort: AbortController
    }
  | { readonly phase: 'failed'; readonly message: string }
  | { readonly phase: 'done'; readonly measured: Measured; readonly steps: readonly StepAnalysis[] }

/** A build with a thread count. */
interface View {
  readonly build: StepAnalysis['build']
  readonly threads: number
}

class RooflinePage extends LitElement {
  static override properties = {
    state: { state: true },
    view: { state: true },
    point: { state: true },
    copied: { state: true },
  }
  declare state: State
  declare view: View | undefined
  declare point: Point | undefined
  declare copied: boolean | undefined
  #removePlot: (() => void) | undefined
  #drawn: Figure | undefined

  constructor() {
    super()
    this.state = { phase: 'idle' }
  }

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    if (this.state.phase === 'running') this.state.abort.abort()
    this.#removePlot?.()
  }

  protected override render(): TemplateResult {
    return html`<header class="top">
        <a class="row-link" href="./index.html">Chat</a>
        <h1>Roofline</h1>
      </header>
      <main>
        <p>
          How fast this device reads memory and multiplies in the browser, and how much of that the embedded model's
          decode and prefill steps reach. It takes about half a minute; keep the page in front and close other programs.
        </p>
        ${this.#controls()}
        ${this.state.phase === 'done' ? this.#results(this.state) : nothing}
      </main>`
  }

  #controls(): TemplateResult {
    const { state } = this
    if (state.phase === 'running') {
      return html`<div class="controls">
        <progress aria-label="Measured" max="1" .value=${state.done}></progress>
        <p class="hint" role="status">Measuring ${state.what}</p>
        <button class="outline" @click=${() => state.abort.abort()}>Cancel</button>
      </div>`
    }
    return html`<div class="controls">
      ${state.phase === 'failed' ? html`<p class="failure" role="alert">${state.message}</p>` : nothing}
      <button class="primary" @click=${this.#start}>${state.phase === 'done' ? 'Measure again' : 'Start'}</button>
      ${
        state.phase === 'done'
          ? html`<button class="outline" @click=${this.#copy}>Copy as Markdown</button>
            <span class="hint" role="status">${this.copied === undefined ? '' : this.copied ? 'Copied.' : 'This browser refused to copy.'}</span>`
          : nothing
      }
    </div>`
  }

  #results({ measured, steps }: Extract<State, { phase: 'done' }>): TemplateResult {
    const shown = steps.filter(
      ({ build, threads }) => build === this.view?.build && threads === this.view.threads,
    )
    const figure = this.#figure()
    return html`<section aria-labelledby="plot-title">
        <div class="plot-head">
          <h2 id="plot-title">Measured and attainable speed</h2>
          <label for="view" class="visually-hidden">Build and threads</label>
          <select id="view" @change=${this.#onView}>
            ${viewsOf(steps).map(
              (view, index) =>
                html`<option value=${index} ?selected=${isSame(view, this.view)}>${view.build}, ${threadText(view.threads)}</option>`,
            )}
          </select>
        </div>
        <div class="plot" role="img" aria-label=${figure === undefined ? '' : describe(figure)}></div>
        <p class="hint under">${this.point === undefined ? 'Filled: decode. Hollow: prefill. Point at a marker for its name.' : pointText(this.point)}</p>
      </section>
      <section>
        ${[peakTable(steps), ...shown.flatMap((step) => [kindTable(step), worstTable(step)]), ...machineTables(measured.limits)].map(renderTable)}
      </section>`
  }

  protected override updated(): void {
    const figure = this.#figure()
    if (figure === this.#drawn) return
    this.#removePlot?.()
    this.#removePlot = undefined
    this.#drawn = figure
    const place = this.querySelector<HTMLElement>('.plot')
    if (figure === undefined || place === null) return
    this.#removePlot = drawPlot(place, figure, {
      onPoint: (point) => {
        this.point = point
      },
    })
  }

  #cache:
    | { readonly state: State; readonly view: View | undefined; readonly figure: Figure | undefined }
    | undefined

  /** The current figure. It stays the same object until something that it depends on changes. */
  #figure(): Figure | undefined {
    const { state, view } = this
    if (this.#cache?.state !== state || this.#cache.view !== view) {
      this.#cache = { state, view, figure: makeFigure(state, view) }
    }
    return this.#cache.figure
  }

  #onView(event: Event): void {
    if (this.state.phase !== 'done') return
    this.point = undefined
    this.view = viewsOf(this.state.steps)[Number((event.target as HTMLSelectElement).value)]
  }

  async #start(): Promise<void> {
    const abort = new AbortController()
    this.copied = undefined
    this.point = undefined
    this.state = { phase: 'running', what: 'the machine', done: 0, abort }
    const onProgress = (what: string, done: number) => {
      this.state = { phase: 'running', what, done, abort }
    }
    try {
      const model = choiceSource(DEFAULT) as string
      const measured = await runRoofline(model, effort(), { signal: abort.signal, onProgress })
      const steps = analyse(measured)
      this.view = viewsOf(steps)
        .filter(({ build }) => build === steps[0]?.build)
        .at(-1)
      this.state = { phase: 'done', measured, steps }
    } catch (error) {
      if (abort.signal.aborted) this.state = { phase: 'idle' }
      else this.state = { phase: 'failed', message: error instanceof Error ? error.message : String(error) }
    }
  }

  async #copy(): Promise<void> {
    if (this.state.phase !== 'done') return
    const { measured, steps } = this.state
    const about = `${navigator.userAgent}, ${navigator.hardwareConcurrency} cores, ${measured.models[0]?.name ?? ''}\n`
    this.copied = await copyText([about, ...allTables(measured.limits, steps).map(markdown)].join('\n'))
  }
}

function makeFigure(state: State, view: View | undefined): Figure | undefined {
  if (state.phase !== 'done' || view === undefined) return undefined
  const limits = state.measured.limits.find(({ build }) => build === view.build)
  if (limits === undefined) return undefined
  const steps = state.steps.filter((step) => isSame(step, view))
  return figureOf(limits, view.threads, steps)
}

const isSame = (one: View, other: View | undefined): boolean =>
  one.build === other?.build && one.threads === other.threads

function viewsOf(steps: readonly StepAnalysis[]): View[] {
  const views: View[] = []
  for (const { build, threads } of steps) {
    if (!views.some((view) => isSame(view, { build, threads }))) views.push({ build, threads })
  }
  return views
}

const pointText = ({ label, opsPerByte, gigaopsPerSecond }: Point): string =>
  `${label}: ${digits(opsPerByte)} operations per byte, ${digits(gigaopsPerSecond)} GOP/s`

/** `?quick` uses small working sets and few samples, for trying out the page. */
function effort(): Effort {
  const base = new URLSearchParams(location.search).has('quick') ? QUICK : PAGE
  const cores = Math.max(1, navigator.hardwareConcurrency ?? 1)
  return { ...base, threads: [1, 2, 4].filter((threads) => threads <= cores) }
}

function renderTable({ title, note, head, rows }: Table): TemplateResult {
  const [corner, ...columns] = head
  return html`<div class="table" role="region" tabindex="0" aria-label=${title}>
    <table>
      <caption>${title}${note === undefined ? nothing : html`<small>${note}</small>`}</caption>
      <thead><tr><td>${corner}</td>${columns.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
      <tbody>${rows.map(
        ([name, ...cells]) =>
          html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`,
      )}</tbody>
    </table>
  </div>`
}

const { theme } = readSettings()
if (theme !== 'auto') document.documentElement.dataset.theme = theme
customElements.define('roofline-page', RooflinePage)
