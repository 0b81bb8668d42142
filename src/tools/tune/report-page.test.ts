// The report page. In: results, with markup in every text. Out: a page without scripts that shows them as
// text.
import { expect, test } from 'vitest'
import { compareLosses } from './compare-losses.ts'
import { reportPage, type TuneReport } from './report-page.ts'

const HOSTILE = '<script>alert(1)</script>"&'
const before = Array.from({ length: 6 }, (_, at) => ({ loss: 20 + at, tokens: 10 }))
const after = before.map(({ loss, tokens }) => ({ loss: loss - 10, tokens }))

const REPORT: TuneReport = {
  model: HOSTILE,
  data: HOSTILE,
  output: 'a.hbm',
  facts: [['base model', HOSTILE]],
  comparison: compareLosses(before, after),
  bytes: { before: 98_000_000, after: 97_500_000 },
  curve: [
    { event: 'held', step: 0, loss: 2.5 },
    { event: 'step', step: 1, loss: 2.25 },
    { event: 'held', step: 1, loss: 1.5 },
    { event: 'step', step: 2, loss: 1.25 },
    { event: 'held', step: 2, loss: 1.75 },
  ],
  samples: [
    { prompt: HOSTILE, expected: 'yes', before: 'no', after: 'yes\n' },
    { prompt: 'b', expected: HOSTILE, before: HOSTILE, after: '' },
  ],
}

test('shows the verdict, sizes, samples and matches', () => {
  const page = reportPage(REPORT)
  expect(page).toMatch(/class="verdict better">Better: the loss changed by -1\.000/)
  expect(page).toContain('98.0 MB')
  expect(page).toContain('97.5 MB')
  expect(page).toMatch(
    /answers equal to the expected one<\/th><td class="number">1 of 2<\/td><td class="number">1 of 2/,
  )
  expect(page.match(/<svg /g)).toHaveLength(1)
})

test('says what the compression cost, if that is much', () => {
  // The packs' loss is 1.25.
  const curve = (loss: number) => [...REPORT.curve.slice(0, 4), { event: 'held', step: 2, loss } as const]
  expect(reportPage({ ...REPORT, curve: curve(0.5) })).toMatch(/the compression cost 0\.7500 nats per token/)
  expect(reportPage({ ...REPORT, curve: curve(1.2) })).not.toContain('the compression cost')
})

test('texts stay texts, and the page loads nothing', () => {
  const page = reportPage(REPORT)
  expect(page).not.toContain('<script')
  expect(page).toContain('&#60;script&#62;alert(1)')
  expect(page).toContain("default-src 'none'")
  expect(page).not.toMatch(/\b(?:src|href)=/)
})

test('says that the held-out loss rose again', () => {
  expect(reportPage(REPORT)).toMatch(/lowest after 1 of 2 epochs and rose again/)
  const falling = REPORT.curve.slice(0, 3)
  expect(reportPage({ ...REPORT, curve: falling })).not.toContain('rose again')
})

test('a report without samples says so', () => {
  const page = reportPage({ ...REPORT, samples: [] })
  expect(page).toContain('None were asked for.')
  expect(page).not.toContain('answers equal')
})
