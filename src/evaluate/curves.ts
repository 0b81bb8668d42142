// Draws series of points as an SVG of one panel, with logarithms on the vertical axis.

const WIDTH = 720
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

export interface Point {
  readonly x: number
  /** Above 0. */
  readonly y: number
  /** Half the length of the whisker; 0: none. */
  readonly error: number
}

export interface Series {
  readonly name: string
  /** In the order of x. */
  readonly points: readonly Point[]
}

export interface CurveLabels {
  readonly title: string
  readonly x: string
  readonly y: string
  /** Uses logarithms for x, too. Default false. */
  readonly isLogX?: boolean | undefined
}

/** Needs at least one point. */
export function svgCurves(series: readonly Series[], { title, x, y, isLogX = false }: CurveLabels): string {
  const points = series.flatMap((each) => each.points)
  const across = axis(
    points.map((point) => point.x),
    isLogX,
    LEFT,
    WIDTH - RIGHT,
  )
  const up = axis(
    points.map((point) => point.y),
    true,
    HEIGHT - BOTTOM,
    TOP,
  )
  const lines = series.map((each, index) => {
    const [color, dash] = STYLES[index % STYLES.length]!
    const path = each.points.map((point, at) => `${at === 0 ? 'M' : 'L'}${across(point.x)} ${up(point.y)}`)
    const marks = each.points.map((point) => {
      const whisker = `<path d="M${across(point.x)} ${up(Math.max(point.y - point.error, point.y / 2))}V${up(point.y + point.error)}" stroke="${color}"/>`
      return `<circle cx="${across(point.x)}" cy="${up(point.y)}" r="3" fill="${color}"/>${point.error > 0 ? whisker : ''}`
    })
    const row = TOP + 10 + index * 20
    return (
      `<path d="${path.join('')}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>${marks.join('')}` +
      `<path d="M${WIDTH - RIGHT + 16} ${row}h28" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>` +
      `<text x="${WIDTH - RIGHT + 50}" y="${row + 4}">${escaped(each.name)}</text>`
    )
  })
  const bottom = HEIGHT - BOTTOM
  const xs = [...new Set(points.map((point) => point.x))].sort((a, b) => a - b)
  const below = xs.map(
    (value) => `<text x="${across(value)}" y="${bottom + 16}" text-anchor="middle">${shown(value)}</text>`,
  )
  const beside = ticksOf(points.map((point) => point.y)).map(
    (value) =>
      `<path d="M${LEFT} ${up(value)}H${WIDTH - RIGHT}" stroke="#ddd"/><text x="${LEFT - 6}" y="${Number(up(value)) + 4}" text-anchor="end">${shown(value)}</text>`,
  )
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" ` +
    `font-family="system-ui, sans-serif" font-size="12"><title>${escaped(title)}</title>` +
    `<rect width="100%" height="100%" fill="#fff"/><text x="8" y="18" font-weight="600">${escaped(title)}</text>` +
    `${beside.join('')}<path d="M${LEFT} ${TOP}V${bottom}H${WIDTH - RIGHT}" fill="none" stroke="#000"/>` +
    `${below.join('')}${lines.join('')}` +
    `<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 10}" text-anchor="middle">${escaped(x)}</text>` +
    `<text x="${LEFT}" y="${TOP - 8}" text-anchor="end">${escaped(y)}</text></svg>\n`
  )
}

/** Places a value between `from` and `to`, as text. */
function axis(
  values: readonly number[],
  isLog: boolean,
  from: number,
  to: number,
): (value: number) => string {
  const of = (value: number) => (isLog ? Math.log(value) : value)
  const low = of(Math.min(...values))
  const high = of(Math.max(...values))
  return (value) => (from + ((of(value) - low) / (high - low || 1)) * (to - from)).toFixed(1)
}

/** 1, 2 and 5 times powers of ten within the range. */
function ticksOf(values: readonly number[]): number[] {
  const low = Math.min(...values)
  const high = Math.max(...values)
  const ticks: number[] = []
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++)
    for (const factor of [1, 2, 5]) ticks.push(factor * 10 ** power)
  return ticks.filter((tick) => tick >= low && tick <= high)
}

const shown = (value: number): string => `${Number(value.toPrecision(3))}`

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
