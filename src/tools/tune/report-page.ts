// The report of a training as one HTML file without scripts: the verdict, the loss curve, sizes, and answers
// before and after.
import { type Point, svgCurves } from '../evaluate/curves.ts'
import { escaped } from '../evaluate/svg.ts'
import { compressionNote, type LossComparison, verdictOf } from './compare-losses.ts'

/** A point of the loss curve: of the examples of a step, or of all held-out ones after it. */
export interface CurvePoint {
  readonly event: 'step' | 'held'
  readonly step: number
  /** Nats per trained token. */
  readonly loss: number
}

/** A held-out example, and what both models answer. */
export interface AnswerSample {
  readonly prompt: string
  readonly expected: string
  readonly before: string
  readonly after: string
}

export interface TuneReport {
  readonly model: string
  readonly data: string
  readonly output: string
  /** Shown as a table. */
  readonly facts: readonly (readonly [name: string, value: string])[]
  readonly comparison: LossComparison
  /** Sizes in bytes of the base model compressed in the same way, and of the tuned pack. */
  readonly bytes: { readonly before: number; readonly after: number }
  readonly curve: readonly CurvePoint[]
  readonly samples: readonly AnswerSample[]
}

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 2rem auto; padding: 0 1rem; max-width: 60rem }
h1 { font-size: 1.6rem } h2 { font-size: 1.2rem; margin-top: 2rem }
.verdict { border-left: 6px solid #6b6b6b; background: #f4f4f4; padding: .75rem 1rem; font-size: 1.1rem }
.better { border-color: #2e7d4f } .worse { border-color: #b23a48 }
table { border-collapse: collapse; width: 100% } th, td { border: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top }
th { background: #f4f4f4; font-weight: 600 } td.number { text-align: right; font-variant-numeric: tabular-nums }
pre { margin: 0; font: 14px/1.4 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }
svg { max-width: 100%; height: auto }
.scroll { overflow-x: auto }
`

/** A complete page that loads nothing. */
export function reportPage(report: TuneReport): string {
  const { model, output, comparison, facts } = report
  const title = `${output}: ${model} tuned`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
<p class="verdict ${comparison.verdict}">${escaped(verdictOf(comparison))}</p>
${numbers(report)}
${noteOf(report)}<h2>Loss</h2>
${curveOf(report.curve)}
${curveNote(report.curve)}<h2>Answers to held-out prompts</h2>
${samples(report)}
<h2>How it was made</h2>
<table>${facts.map(([name, value]) => row(`<th scope="row">${escaped(name)}</th>`, `<td>${escaped(value)}</td>`)).join('')}</table>
</body>
</html>
`
}

const row = (...cells: readonly string[]): string => `<tr>${cells.join('')}</tr>\n`
const head = (...names: readonly string[]): string =>
  row(...names.map((name) => `<th scope="col">${escaped(name)}</th>`))
const number = (text: string): string => `<td class="number">${escaped(text)}</td>`
const block = (text: string): string => `<td><pre>${escaped(text)}</pre></td>`
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

function numbers({ comparison: { before, after, examples, tokens }, bytes, samples }: TuneReport): string {
  const line = (name: string, first: string, second: string) =>
    row(`<th scope="row">${escaped(name)}</th>`, number(first), number(second))
  const equal = (of: (sample: AnswerSample) => string) =>
    `${samples.filter((each) => of(each).trim() === each.expected.trim()).length} of ${samples.length}`
  return `<div class="scroll"><table>${head('', 'base model, compressed', 'tuned pack')}${[
    line(
      `loss on ${examples} held-out examples (${tokens} tokens), nats per token`,
      before.toFixed(4),
      after.toFixed(4),
    ),
    line('perplexity', Math.exp(before).toFixed(3), Math.exp(after).toFixed(3)),
    samples.length === 0
      ? ''
      : line(
          'answers equal to the expected one',
          equal((each) => each.before),
          equal((each) => each.after),
        ),
    line('size', megabytes(bytes.before), megabytes(bytes.after)),
  ].join('')}</table></div>`
}

function curveOf(curve: readonly CurvePoint[]): string {
  const points = (event: CurvePoint['event']): Point[] =>
    curve.filter((each) => each.event === event).map(({ step, loss }) => ({ x: step, y: loss }))
  const series = [
    { name: 'examples of a step', points: points('step') },
    { name: 'held-out examples', points: points('held') },
  ].filter((each) => each.points.length > 0)
  return svgCurves(series, {
    title: 'Loss of the float model during training, nats per token',
    x: 'step',
    y: '',
    fromZero: true,
  })
}

/** The loss of the float model on the held-out examples at the end; undefined if it was not measured. */
export const floatLoss = (curve: readonly CurvePoint[]): number | undefined =>
  curve.findLast(({ event }) => event === 'held')?.loss

function noteOf({ comparison, curve }: TuneReport): string {
  const note = compressionNote(comparison, floatLoss(curve) ?? Number.NaN)
  return note === undefined ? '' : `<p>${escaped(note)}</p>\n`
}

/** Says that the last epochs made the held-out loss worse. */
function curveNote(curve: readonly CurvePoint[]): string {
  const held = curve.filter(({ event }) => event === 'held')
  const best = held.reduce((low, each, epoch) => (each.loss < held[low]!.loss ? epoch : low), 0)
  if (held.length < 2 || best === held.length - 1) return ''
  return `<p>The loss of the held-out examples was lowest after ${best} of ${held.length - 1} epochs and rose again: the model began to memorize the examples. Fewer --epochs would have been better.</p>\n`
}

function samples({ samples: all }: TuneReport): string {
  if (all.length === 0) return '<p>None were asked for.</p>'
  const rows = all.map((each) =>
    row(block(each.prompt), block(each.expected), block(each.before), block(each.after)),
  )
  return `<div class="scroll"><table>${head('prompt', 'expected', 'before', 'after')}${rows.join('')}</table></div>`
}
