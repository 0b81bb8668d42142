// Progress of runs. In: a controlled clock, blocks. Out: lines and the time left.
import { expect, test } from 'vitest'
import { runProgress } from './run-progress.ts'

const MINUTE = 60_000

function told(hasTerminal: boolean) {
  const clock = { ms: 0 }
  const shown: string[] = []
  const lines: string[] = []
  const report = runProgress({
    now: () => clock.ms,
    overwrite: (text) => shown.push(text),
    line: hasTerminal ? undefined : (text) => lines.push(text),
  })
  const at = (ms: number, segment: number) => {
    clock.ms = ms
    report({ segment, segments: 10, what: 'its output', done: 1, total: 4 })
    return shown.at(-1)
  }
  return { at, lines }
}

test('time left is estimated from the blocks of this run', () => {
  const { at } = told(true)
  // An earlier run finished four blocks.
  expect(at(0, 4)).toBe('block 5 of 10: its output, 1 of 4')
  expect(at(MINUTE, 4)).toBe('block 5 of 10: its output, 1 of 4')
  expect(at(3 * MINUTE, 5)).toBe('block 6 of 10, about 15 min left: its output, 1 of 4')
  expect(at(4 * MINUTE, 5)).toBe('block 6 of 10, about 14 min left: its output, 1 of 4')
  expect(at(6 * MINUTE, 6)).toBe('block 7 of 10, about 12 min left: its output, 1 of 4')
  expect(at(90 * MINUTE, 6)).toMatch(/about a minute left/)
})

test('without a terminal, one line per minute is written; with one, none', () => {
  const { at, lines } = told(false)
  for (const seconds of [1, 30, 59, 60, 61, 119, 121]) at(seconds * 1000, 0)
  expect(lines).toHaveLength(2)
  expect(lines[0]).toBe('block 1 of 10: its output, 1 of 4')
  const terminal = told(true)
  terminal.at(2 * MINUTE, 0)
  expect(terminal.lines).toEqual([])
})
