// Curves. In: series of points, names with markup. Out: a valid SVG with every point in the right place.
import { expect, test } from 'vitest'
import { svgCurves } from './curves.ts'

const labels = { title: 'a < b', x: 'share', y: 'perplexity' }
const point = (x: number, y: number, error = 0) => ({ x, y, error })

test('higher values are plotted higher, also on a log scale, and every series has its line and name', () => {
  const svg = svgCurves(
    [
      { name: 'one & two', points: [point(0, 1), point(1, 10), point(2, 100, 5)] },
      { name: 'flat', points: [point(0, 10), point(2, 10)] },
    ],
    labels,
  )
  const places = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ])
  expect(places).toHaveLength(5)
  const [first, second, third, left] = places as [number, number][]
  expect(first![0]).toBe(left![0])
  expect(second![1] - third![1]).toBeCloseTo(first![1] - second![1], 0)
  expect(left![1]).toBe(second![1])
  expect(svg).toContain('one &#38; two')
  expect(svg).toContain('a &#60; b')
  expect(svg).not.toContain('NaN')
})

test('a single point is plotted', () => {
  expect(svgCurves([{ name: 'one', points: [point(0.5, 7)] }], labels)).not.toMatch(/NaN|Infinity/)
})

test('many points from zero become a line without markers, with round numbers on both axes', () => {
  const points = Array.from({ length: 41 }, (_, x) => ({ x: x / 20, y: 80 + x }))
  const svg = svgCurves([{ name: 'memory', points }], { ...labels, fromZero: true })
  expect(svg).not.toContain('<circle')
  const texts = [...svg.matchAll(/text-anchor="(end|middle)">(\d[^<]*)</g)].map(([, side, text]) => [
    side,
    text,
  ])
  expect(texts.flatMap(([side, text]) => (side === 'end' ? [text] : []))).toEqual([
    '0',
    '20',
    '40',
    '60',
    '80',
    '100',
    '120',
  ])
  expect(texts.flatMap(([side, text]) => (side === 'middle' ? [text] : []))).toEqual([
    '0',
    '0.5',
    '1',
    '1.5',
    '2',
  ])
})
