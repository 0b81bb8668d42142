// Tests the rows of the papers' tables: models on the command line, earlier output, cells and differences.
import { describe, expect, test } from 'vitest'
import { mean } from '../../../src/tools/evaluate/task.ts'
import { jsonLines, parseModel } from './rows.ts'
import { scoreTable, type TableRow } from './score-table.ts'

const task = (name: string, right: readonly number[]): TableRow['tasks'][number] => ({
  task: name,
  metrics: { acc: mean(right), acc_norm: mean(right.map((each) => 1 - each)) },
  items: right.length,
  of: 100,
  unit: 'questions',
  seconds: 1,
  data: [],
})

const row = (model: string, ...tasks: TableRow['tasks']): TableRow => ({
  model,
  settings: { seed: 1 },
  tasks,
  cpuSeconds: 12.4,
})

test('a model has the precision after its last @', () => {
  expect(parseModel('a/model.gguf@f32')).toEqual({ path: 'a/model.gguf', weights: 'f32' })
  expect(parseModel('owner/model@main')).toEqual({ path: 'owner/model@main', weights: 'auto' })
  expect(parseModel('@f32')).toEqual({ path: '@f32', weights: 'auto' })
})

test('unfinished lines and lines without tasks are skipped', () => {
  const line = JSON.stringify(row('whole'))
  expect(jsonLines(`{"method":"none"}\n${line}\n${line.slice(0, -3)}`).map(({ model }) => model)).toEqual([
    'whole',
  ])
})

describe('a table', () => {
  const rows = [
    row('dense', task('piqa', [1, 1, 0, 0]), task('hellaswag', [1, 0, 0, 0])),
    row('2:4', task('piqa', [1, 0, 0, 0]), task('hellaswag', [1, 0, 0, 0])),
    row('f32', task('piqa', [1, 1, 1, 0])),
  ]

  test('has the scores of each model, and a mean if it has run all tasks', () => {
    const [head, , ...lines] = scoreTable(rows, { metrics: ['acc', 'hellaswag.acc_norm'] })
      .trimEnd()
      .split('\n')
    expect(head).toBe(
      '|  | piqa `acc`, % (4 questions) | hellaswag `acc`, % (4 questions) | hellaswag `acc_norm`, % (4 questions) | mean `acc`, % | processor, s |',
    )
    expect(lines).toEqual([
      '| dense | 50.0 ± 28.9 | 25.0 ± 25.0 | 75.0 ± 25.0 | 37.5 ± 19.1 | 12 |',
      '| 2:4 | 25.0 ± 25.0 | 25.0 ± 25.0 | 75.0 ± 25.0 | 25.0 ± 17.7 | 12 |',
      '| f32 | 75.0 ± 25.0 |  |  |  | 12 |',
    ])
  })

  test('has differences from the first row, paired by items', () => {
    const [, , ...lines] = scoreTable(rows, { metrics: ['acc'], isBeside: true })
      .trimEnd()
      .split('\n')
    expect(lines).toEqual([
      '| 2:4 | -25.0 ± 25.0 | +0.0 ± 0.0 | -12.5 ± 12.5 |  |',
      '| f32 | +25.0 ± 25.0 |  |  |  |',
    ])
  })

  test('needs a row', () => {
    expect(scoreTable([], { metrics: ['acc'] })).toBe('')
  })
})
