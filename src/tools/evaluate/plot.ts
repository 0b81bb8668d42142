// Draws the results of evaluations as an SVG with a panel for each metric and a bar for each model.
//
// Bars start at zero, whiskers are one standard error to each side, and a dashed line marks chance.
import { isShare, type ModelReport, type Row, rowsOf, shown } from './report.ts'
import { fixed, svgDocument, svgText, WIDTH } from './svg.ts'

const LABELS = 200
const VALUES = 130
const BAR = 16
const GAP = 6
const TITLE = 30
/** Colours that also differ in brightness. */
const COLORS = ['#1f5a96', '#d98032', '#5aa469', '#b23a48', '#7b6ba8', '#6b6b6b']

export function svgPlot(reports: readonly ModelReport[]): string {
  const rows = rowsOf(reports)
  let top = 10
  const panels: string[] = []
  for (const row of rows) {
    panels.push(`<g transform="translate(0 ${top})">${panel(row, reports)}</g>`)
    top += TITLE + reports.length * (BAR + GAP) + 14
  }
  return svgDocument(`Evaluation of ${reports.map(({ model }) => model).join(', ')}`, top, panels)
}

function panel({ task, metric, items, chance, values }: Row, reports: readonly ModelReport[]): string {
  const most = Math.max(chance ?? 0, ...values.map((each) => (each?.value ?? 0) + (each?.error ?? 0)))
  const scale = (value: number) => ((WIDTH - LABELS - VALUES) * Math.max(0, value)) / (most || 1)
  const title = `${task}: ${metric}${isShare(metric) ? ', %' : ''} (${items})`
  const bars = values.map((each, index) => {
    const y = TITLE + index * (BAR + GAP)
    const name = svgText(`x="${LABELS - 8}" y="${y + 12}" text-anchor="end"`, short(reports[index]!.model))
    if (each === undefined) return name
    const end = LABELS + scale(each.value)
    const [low, high] = [each.value - (each.error ?? 0), each.value + (each.error ?? 0)].map(
      (value) => LABELS + scale(value),
    )
    return (
      `${name}<rect x="${LABELS}" y="${y}" width="${fixed(end - LABELS)}" height="${BAR}" fill="${COLORS[index % COLORS.length]}"/>` +
      (each.error === undefined ? '' : `<path d="M${fixed(low!)} ${y + 8}H${fixed(high!)}" stroke="#000"/>`) +
      svgText(`x="${fixed(Math.max(end, high!) + 6)}" y="${y + 12}"`, shown(metric, each))
    )
  })
  const x = fixed(LABELS + scale(chance ?? 0))
  const bottom = TITLE + values.length * (BAR + GAP)
  const line =
    chance === undefined
      ? ''
      : `<path d="M${x} ${TITLE - 6}V${bottom}" stroke="#000" stroke-dasharray="4 3"/>`
  return svgText('x="8" y="18" font-weight="600"', title) + bars.join('') + line
}

/** Shortens a name at its start, because a path ends with the file's name. */
const short = (name: string): string => (name.length > 28 ? `…${name.slice(-27)}` : name)
