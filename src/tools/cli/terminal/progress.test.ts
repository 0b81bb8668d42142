// Progress of long commands. In: a controlled clock, texts and shares. Out: lines without a long silence, and
// the time left.
import { expect, test } from 'vitest'
import { JobProgress } from './job-progress.ts'
import { StatusLine } from './status-line.ts'

/** A status line with a clock that ticks by itself. */
function told(columns: number | undefined) {
  let now = 0
  let tick: (() => void) | undefined
  const written: { at: number; text: string }[] = []
  const line = new StatusLine({
    now: () => now,
    columns: () => columns,
    write: (text) => written.push({ at: now, text }),
    every: (_, each) => {
      tick = each
      return () => {
        tick = undefined
      }
    },
  })
  const pass = (ms: number) => {
    for (const end = now + ms; now < end; ) {
      now += 1000
      tick?.()
    }
  }
  return { line, pass, written, isTicking: () => tick !== undefined }
}

test.each([
  ['a terminal', 80],
  ['a pipe', undefined],
] as const)('%s is not silent for more than 5 s', (_, columns) => {
  const { line, pass, written } = told(columns)
  line.show('one')
  pass(20_000)
  line.show('two')
  pass(3000)
  line.show('three')
  pass(30_000)
  const times = [0, ...written.map(({ at }) => at), 53_000]
  const silences = times.slice(1).map((at, index) => at - times[index]!)
  expect(Math.max(...silences)).toBeLessThanOrEqual(5000)
  expect(written.at(-1)?.text).toMatch(/three \(\d+ s\)/)
})

test('without a terminal, short work says nothing, and long work a line every few seconds', () => {
  const { line, pass, written } = told(undefined)
  for (let at = 0; at < 100; at++) {
    line.show(`step ${at}`)
    if (at < 4) expect(written).toEqual([])
    pass(1000)
  }
  expect(written.length).toBeLessThanOrEqual(20)
  expect(written[0]?.text).toMatch(/^step 4 \(1 s\)\n$/)
})

test('a terminal’s line is replaced, cut at its width, and removed', () => {
  const { line, written, isTicking } = told(10)
  line.show('a long text')
  line.show('b\x1b[2J')
  line.clear()
  line.clear()
  expect(written.map(({ text }) => text)).toEqual(['\r\x1b[Ka long te', '\r\x1b[Kb\\u001b[2', '\r\x1b[K'])
  expect(isTicking()).toBe(false)
})

/**
 * The times left, in seconds, of a job whose phases take `actual` ms although they are expected to take
 * `costs`.
 */
function estimates(costs: Record<string, number>, actual: Record<string, number>, first = 0) {
  let now = 0
  const job = new JobProgress(costs, () => now)
  const total = Object.values(actual).reduce((sum, each) => sum + each, 0)
  const found: { share: number; ratio: number }[] = []
  for (const [phase, ms] of Object.entries(actual)) {
    const start = now
    for (let step = 0; step <= 50; step++) {
      now = start + (ms * step) / 50
      const [, value, unit] =
        / about ([\d.]+) (s|min|h) left$/.exec(job.at(phase, first + ((1 - first) * step) / 50)) ?? []
      const left = total - now
      if (value === undefined || left < 0.02 * total) continue
      const scale = { s: 1e3, min: 6e4, h: 3.6e6 }[unit as 's']
      found.push({ share: now / total, ratio: (Number(value) * scale) / left })
    }
  }
  return found
}

test.each([
  ['one phase', { a: 1 }, { a: 600_000 }, 0],
  ['one phase that an earlier run has begun', { a: 1 }, { a: 600_000 }, 0.7],
  ['expected phases', { a: 1, b: 8, c: 2 }, { a: 60_000, b: 480_000, c: 120_000 }, 0],
  [
    'a last phase that takes much longer than expected',
    { a: 1, b: 8, c: 1 },
    { a: 60_000, b: 480_000, c: 110_000 },
    0,
  ],
  ['a first phase that is slow', { a: 1, b: 10 }, { a: 110_000, b: 600_000 }, 0],
])(
  'after a tenth of the work the time left is right within a factor of two: %s',
  (_, costs, actual, first) => {
    const late = estimates(costs, actual, first).filter(({ share }) => share >= 0.1)
    expect(late.length).toBeGreaterThan(20)
    for (const { ratio } of late) {
      expect(ratio).toBeGreaterThan(0.5)
      expect(ratio).toBeLessThan(2)
    }
  },
)

test('nothing is estimated at the beginning', () => {
  let now = 0
  const job = new JobProgress({ a: 1, b: 1 }, () => now)
  expect(job.at('a', 0)).toBe('')
  now = 60_000
  expect(job.at('a', 0.05)).toBe('')
  expect(job.at('a', 0.5)).toBe(', about 3 min left')
})
