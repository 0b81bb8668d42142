// The plot. In: a figure and an element. Out: the figure drawn to scale, redrawn when the width or the theme
// changes.
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { KIND_NAMES } from '../../../lab/bench/roofline/analyse.ts'
import { attainable, type Figure, type Kind, type Point, ridge } from './figure.ts'

const HEIGHT = 340
const KINDS = ['linear', 'attention', 'other'] as const
const STAGES = ['decode', 'prefill'] as const
/** Dashes of the roofs, in pixels and as words for the legend, in the figure's order. */
const DASHES = [[], [8, 4], [2, 4]]
const DASH_NAMES = ['solid', 'dashed', 'dotted']

interface PlotHooks {
  /** The op under the pointer, or undefined. */
  readonly onPoint: (point: Point | undefined) => void
}

/** Returns a function that removes the plot. */
export function drawPlot(parent: HTMLElement, figure: Figure, hooks: PlotHooks): () => void {
  const dark = window.matchMedia('(prefers-color-scheme: dark)')
  let plot = create()
  const redraw = () => {
    plot.destroy()
    plot = create()
  }
  const observer = new ResizeObserver(() => {
    const { clientWidth } = parent
    if (clientWidth > 0 && clientWidth !== plot.width) plot.setSize({ width: clientWidth, height: HEIGHT })
  })
  observer.observe(parent)
  dark.addEventListener('change', redraw)
  return () => {
    dark.removeEventListener('change', redraw)
    observer.disconnect()
    plot.destroy()
  }

  function create(): uPlot {
    return new uPlot(optionsOf(figure, parent, hooks), dataOf(figure), parent)
  }
}

/** Every x value in the drawing, ascending: the ends, the ridges, the points. */
const positions = ({ x, roofs, points }: Figure): number[] =>
  [...x, ...roofs.map(ridge), ...points.map(({ opsPerByte }) => opsPerByte)].toSorted((a, b) => a - b)

interface Group {
  readonly kind: Kind
  readonly stage: Point['stage']
}

const groupsOf = ({ points }: Figure): Group[] =>
  KINDS.flatMap((kind) => STAGES.map((stage) => ({ kind, stage }))).filter((group) =>
    points.some((point) => isOf(point, group)),
  )

const isOf = (point: Point, { kind, stage }: Group): boolean => point.kind === kind && point.stage === stage

/** Columns of equal length. Two points of one group never share an x; they would be one op. */
function dataOf(figure: Figure): uPlot.AlignedData {
  const xs = positions(figure)
  const roofs = figure.roofs.map((roof) => xs.map((x) => attainable(roof, x)))
  const groups = groupsOf(figure).map((group) => {
    const own = figure.points.filter((point) => isOf(point, group))
    return xs.map((x, index) => {
      // The same x may occur twice. Each point is drawn once, at the first.
      const point = xs[index - 1] === x ? undefined : own.find(({ opsPerByte }) => opsPerByte === x)
      return point?.gigaopsPerSecond ?? null
    })
  })
  return [xs, ...roofs, ...groups]
}

function optionsOf(figure: Figure, parent: HTMLElement, { onPoint }: PlotHooks): uPlot.Options {
  const colour = (name: string) => resolveColour(parent, name)
  const ink = colour('--ink-soft')
  const xs = positions(figure)
  const groups = groupsOf(figure)
  const axis = (label: string): uPlot.Axis => ({
    label,
    stroke: ink,
    labelSize: 24,
    font: '12px system-ui',
    labelFont: '12px system-ui',
    grid: { stroke: colour('--plot-grid'), width: 1 },
    ticks: { stroke: colour('--plot-grid'), width: 1 },
    values: (_plot, splits) =>
      splits.map((value) => (Number.isInteger(Math.log10(value)) ? power(value) : '')),
  })
  return {
    width: Math.max(parent.clientWidth, 240),
    height: HEIGHT,
    scales: {
      x: { time: false, distr: 3, range: [...figure.x] },
      y: { distr: 3, range: [...figure.y] },
    },
    axes: [axis('operations per byte'), { ...axis('GOP/s'), size: 52 }],
    legend: {
      live: false,
      markers: {
        width: 2,
        dash: (_plot, series) => DASH_NAMES[series - 1] ?? 'solid',
        fill: (_plot, series) => markerFill(groups[series - 1 - figure.roofs.length], colour),
      },
    },
    cursor: { drag: { x: false, y: false }, points: { size: 12 }, hover: { prox: 24 } },
    series: [
      { label: 'op/byte' },
      ...figure.roofs.map(({ label }, index) => ({
        label,
        stroke: ink,
        width: index === 0 ? 2 : 1.25,
        points: { show: false },
        dash: DASHES[index] ?? [],
      })),
      ...groups.map(({ kind, stage }) => ({
        label: `${KIND_NAMES[kind]}, ${stage}`,
        stroke: colour(`--plot-${kind}`),
        paths: () => null,
        points: {
          show: true,
          size: 9,
          width: 2,
          stroke: colour(`--plot-${kind}`),
          fill: markerFill({ kind, stage }, colour),
        },
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor }) => {
          const hovered = cursor.idxs ?? []
          const series = groups.findIndex(
            (_, index) => typeof hovered[index + 1 + figure.roofs.length] === 'number',
          )
          const group = groups[series]
          const x = xs[hovered[series + 1 + figure.roofs.length] ?? -1]
          onPoint(
            group === undefined
              ? undefined
              : figure.points.find((point) => isOf(point, group) && point.opsPerByte === x),
          )
        },
      ],
    },
  }
}

/** Filled for decode, hollow for prefill. */
const markerFill = (group: Group | undefined, colour: (name: string) => string): string =>
  group?.stage === 'decode' ? colour(`--plot-${group.kind}`) : colour('--paper')

const power = (value: number): string =>
  value >= 0.01 && value < 1e5 ? String(value) : value.toExponential(0)

/** A canvas understands neither custom properties nor light-dark(). */
function resolveColour(parent: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  parent.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
