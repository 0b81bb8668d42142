// The plot. In: memory over time. Out: an SVG with a line for each kind of it.
import type { Census } from './census.ts'

export interface Sample extends Census {
  /** Since the start. */
  readonly minute: number
  /** Linear memory of the engines that stay. */
  readonly wasmBytes: number
}

const LINES = [
  { name: 'resident', colour: '#b5482a', of: ({ residentBytes }: Sample) => residentBytes },
  { name: 'JavaScript heap', colour: '#2a6fb5', of: ({ heapBytes }: Sample) => heapBytes },
  { name: 'linear memory of four engines', colour: '#3a8f4d', of: ({ wasmBytes }: Sample) => wasmBytes },
] as const

const WIDTH = 720
const HEIGHT = 360
const EDGE = { left: 56, right: 12, top: 14, bottom: 56 }

/** Time goes from left to right in minutes, memory upwards in MB. */
export function memoryPlot(samples: readonly Sample[]): string {
  const minutes = samples.at(-1)?.minute || 1
  const most = niceAbove(Math.max(...samples.flatMap((sample) => LINES.map(({ of }) => of(sample)))) / 1e6)
  const x = (minute: number) => EDGE.left + (minute / minutes) * (WIDTH - EDGE.left - EDGE.right)
  const y = (megabytes: number) =>
    HEIGHT - EDGE.bottom - (megabytes / most) * (HEIGHT - EDGE.top - EDGE.bottom)
  const text = (at: number, height: number, anchor: string, words: string) =>
    `<text x="${at.toFixed(1)}" y="${height.toFixed(1)}" text-anchor="${anchor}">${words}</text>`
  const rows = Array.from({ length: 6 }, (_, index) => (index * most) / 5).flatMap((value) => [
    `<path d="M${EDGE.left} ${y(value).toFixed(1)}H${WIDTH - EDGE.right}" stroke="#8884"/>`,
    text(EDGE.left - 6, y(value) + 4, 'end', `${value}${value === most ? ' MB' : ''}`),
  ])
  const columns = Array.from({ length: 6 }, (_, index) => (index * minutes) / 5).map((minute) =>
    text(x(minute), HEIGHT - EDGE.bottom + 18, 'middle', `${Number(minute.toFixed(1))} min`),
  )
  const lines = LINES.map(({ colour, of }) => {
    const points = samples.map((sample) => `${x(sample.minute).toFixed(1)},${y(of(sample) / 1e6).toFixed(1)}`)
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`
  })
  const legend = LINES.flatMap(({ name, colour }, index) => {
    const at = EDGE.left + index * 190
    return [
      `<path d="M${at} ${HEIGHT - 16}h18" stroke="${colour}" stroke-width="3"/>`,
      text(at + 24, HEIGHT - 12, 'start', name),
    ]
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#777">
${[...rows, ...columns, ...lines, ...legend].join('\n')}
</svg>
`
}

/** The next of 1, 2, 3, 5, 8 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return power * ([1, 2, 3, 5, 8, 10].find((step) => step * power >= value) ?? 10)
}
