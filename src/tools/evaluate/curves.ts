// Draws series of points as a single-panel SVG.
import { fixed, svgDocument, svgText, WIDTH } from './svg.ts'

const HEIGHT = 400
const LEFT = 64
const RIGHT = 190
const TOP = 40
const BOTTOM = 48
/** Series also differ in brightness and dashes. */
const STYLES = [
  ['#1f5a96', ''],
  ['#d98032', '6 3'],
  ['#5aa469', '2 3'],
  ['#b23a48', '8 3 2 3'],
  ['#7b6ba8', '1 2'],
  ['#6b6b6b', '10 4'],
] as const
/**
 * Series with more points have no markers, and an axis with more values is labelled with round numbers
 * instead.
 */
const MAX_MARKS = 30

export interface Point {
  readonly x: number
  /** Above 0. */
  readonly y: number
  /** Half the length of the whisker; default: none. */
  readonly error?: number
}

interface Series {
  readonly name: string
  /** Sorted by x. */
  readonly points: readonly Point[]
}

interface CurveLabels {
  readonly title: string
  readonly x: string
  readonly y: string
  /** Whether x is logarithmic too. Default false. */
  readonly isLogX?: boolean | undefined
  /** Whether y starts at 0 and is linear. Default false. */
  readonly fromZero?: boolean | undefined
}

/** Needs at least one point. */
export function svgCurves(
  series: readonly Series[],
  { title, x, y, isLogX = false, fromZero = false }: CurveLabels,
): string {
  const points = series.flatMap((each) => each.points)
  const xs = points.map((point) => point.x)
  const ys = points.map((point) => point.y)
  if (fromZero) ys.push(0)
  const across = axis(xs, isLogX, LEFT, WIDTH - RIGHT)
  const bottom = HEIGHT - BOTTOM
  const up = axis(ys, !fromZero, bottom, TOP)
  const places = [...new Set(xs)].sort((a, b) => a - b)
  const below = places.length > MAX_MARKS ? evenTicks(places[0]!, places.at(-1)!) : places
  const beside = fromZero ? evenTicks(0, Math.max(...ys)) : logTicks(ys)
  return svgDocument(title, HEIGHT, [
    svgText('x="8" y="18" font-weight="600"', title),
    ...beside.map(
      (value) =>
        `<path d="M${LEFT} ${up(value)}H${WIDTH - RIGHT}" stroke="#ddd"/>` +
        svgText(`x="${LEFT - 6}" y="${Number(up(value)) + 4}" text-anchor="end"`, shown(value)),
    ),
    `<path d="M${LEFT} ${TOP}V${bottom}H${WIDTH - RIGHT}" fill="none" stroke="#000"/>`,
    ...below.map((value) =>
      svgText(`x="${across(value)}" y="${bottom + 16}" text-anchor="middle"`, shown(value)),
    ),
    ...series.map((each, index) => curve(each, index, across, up)),
    svgText(`x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle"`, x),
    svgText(`x="${LEFT}" y="${TOP - 8}" text-anchor="end"`, y),
  ])
}

/** Maps a value to its coordinate on an axis, as text. */
type Place = (value: number) => string

/** The line, marks and whiskers of one series, and its row of the legend. */
function curve({ name, points }: Series, index: number, across: Place, up: Place): string {
  const [color, dash] = STYLES[index % STYLES.length]!
  const path = points.map((point, at) => `${at === 0 ? 'M' : 'L'}${across(point.x)} ${up(point.y)}`)
  const marks = points.map(({ x, y, error = 0 }) => {
    const whisker = `<path d="M${across(x)} ${up(Math.max(y - error, y / 2))}V${up(y + error)}" stroke="${color}"/>`
    return `<circle cx="${across(x)}" cy="${up(y)}" r="3" fill="${color}"/>${error > 0 ? whisker : ''}`
  })
  const row = TOP + 10 + index * 20
  return (
    `<path d="${path.join('')}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>` +
    (points.length > MAX_MARKS ? '' : marks.join('')) +
    `<path d="M${WIDTH - RIGHT + 16} ${row}h28" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>` +
    svgText(`x="${WIDTH - RIGHT + 50}" y="${row + 4}"`, name)
  )
}

/** Maps a value between `from` and `to`. */
function axis(values: readonly number[], isLog: boolean, from: number, to: number): Place {
  const of = (value: number) => (isLog ? Math.log(value) : value)
  const low = of(Math.min(...values))
  const high = of(Math.max(...values))
  return (value) => fixed(from + ((of(value) - low) / (high - low || 1)) * (to - from))
}

/** 1, 2 and 5 times powers of ten within the range. */
function logTicks(values: readonly number[]): number[] {
  const low = Math.min(...values)
  const high = Math.max(...values)
  const ticks: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const factor of [1, 2, 5]) ticks.push(factor * 10 ** power)
  return ticks.filter((tick) => tick >= low && tick <= high)
}

/** Four to ten multiples of 1, 2 or 5 times a power of ten. */
function evenTicks(low: number, high: number): number[] {
  const power = 10 ** Math.floor(Math.log10((high - low || 1) / 4))
  const step = power * ([1, 2, 5].findLast((factor) => (high - low) / (factor * power) >= 4) ?? 1)
  const first = Math.ceil(low / step)
  return Array.from({ length: Math.floor(high / step) - first + 1 }, (_, index) => (first + index) * step)
}

const shown = (value: number): string => `${Number(value.toPrecision(3))}`
