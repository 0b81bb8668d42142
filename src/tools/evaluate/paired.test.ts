// Two models on the same items. In: their reports. Out: differences with their paired errors, computed from
// the items themselves, or nothing if the items differ.
import { expect, test } from 'vitest'
import { markdownTable } from './markdown.ts'
import { pairedTasks } from './paired.ts'
import type { ModelReport, TaskReport } from './report.ts'
import { type Metrics, mean, perplexityOf } from './task.ts'

const report = (model: string, metrics: Metrics, changes: Partial<TaskReport> = {}): ModelReport => ({
  model,
  settings: { seed: 1 },
  tasks: [
    {
      task: 'piqa',
      metrics,
      items: 6,
      of: 9,
      unit: 'questions',
      chance: 0.5,
      seconds: 1,
      data: [{ file: 'piqa.jsonl', sha256: 'a' }],
      ...changes,
    },
  ],
})
const right = [1, 0, 1, 1, 0, 1]
const later = [1, 1, 1, 1, 0, 0]

test("the error of a difference is that of the items' differences", () => {
  const [paired] = pairedTasks(report('a', { acc: mean(right) }), report('b', { acc: mean(later) }))
  const own = mean(later.map((each, item) => each - right[item]!))
  expect(paired).toMatchObject({ task: 'piqa', items: 6, metrics: { acc: { value: 0 } } })
  expect(paired!.metrics['acc']!.error).toBeCloseTo(own.error!, 12)
})

test("the error of two perplexities' difference comes from the items' losses", () => {
  const losses = [-3, -2, -4, -1, -2, -3]
  const shifted = losses.map((each) => each - 0.01)
  const after = perplexityOf(shifted)
  const [paired] = pairedTasks(
    report('a', { perplexity: perplexityOf(losses) }),
    report('b', { perplexity: after }),
  )
  const { value, error } = paired!.metrics['perplexity']!
  expect(value).toBeCloseTo(after.value - perplexityOf(losses).value, 12)
  // All items lose the same amount, so the errors, each above 5, almost cancel.
  expect(after.error).toBeGreaterThan(5)
  expect(error).toBeCloseTo(0.01 * after.error!, 1)
})

test('results with different items, a different order or no items are not compared', () => {
  const first = report('a', { acc: mean(right) })
  const of = (changes: Partial<TaskReport>) => pairedTasks(first, report('b', { acc: mean(later) }, changes))
  expect(of({})).toHaveLength(1)
  expect(of({ items: 5 })).toEqual([])
  expect(of({ data: [{ file: 'piqa.jsonl', sha256: 'b' }] })).toEqual([])
  expect(of({ metrics: { acc: { value: 0.5, error: 0.1 } } })).toMatchObject([{ metrics: {} }])
  expect(pairedTasks(first, { ...report('b', { acc: mean(later) }), settings: { seed: 2 } })).toEqual([])
})

test('a table of several models ends with their differences and the mean over the tasks that all have run', () => {
  const two = (model: string, values: readonly number[]): ModelReport => {
    const whole = report(model, { acc: mean(values) })
    return { ...whole, tasks: [...whole.tasks, { ...whole.tasks[0]!, task: 'winogrande' }] }
  }
  const table = markdownTable([two('first', right), two('second', [1, 1, 1, 1, 1, 1])])
  expect(table).toContain('| mean | 2 tasks | acc, % | 66.7 ± 14.9 | 100.0 ± 0.0 |  |')
  expect(table).toMatch(
    /\n\nCompared with first, paired by items:\n\n\| task \| scored \| metric \| second \|\n/,
  )
  expect(table).toContain('| piqa | 6 questions | acc, % | +33.3 ± 21.1 |')
  expect(table).toContain('| mean | 2 tasks | acc, % | +33.3 ± 14.9 |')
  const alone = markdownTable([two('first', right)])
  expect(alone).toContain('| mean | 2 tasks |')
  expect(alone).not.toContain('Beside')
  expect(markdownTable([report('first', { acc: mean(right) })])).not.toContain('mean')
})
