// Evaluation compared with an independent implementation. In: stories260K, small data sets. Out: the
// log-likelihoods, decisions and metrics that test/conformance/testing/score-requests.py computes in f64.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { EvaluatedModel } from '../../../src/engine/score/score.ts'
import { forwardRows } from '../../../src/tools/cli/models/model.ts'
import { type ItemResult, runTask, type Task } from '../../../src/tools/evaluate/task.ts'
import {
  arc,
  boolq,
  hellaswag,
  ownChoices,
  piqa,
  winogrande,
} from '../../../src/tools/evaluate/tasks/choices.ts'
import { joinedRows, lambada, wikitext, windowTask } from '../../../src/tools/evaluate/tasks/texts.ts'
import { fixtureFile } from '../../helpers/fixture.ts'
import { withBuilt } from '../testing/node-engine.ts'

const DATA = join(import.meta.dirname, '../golden/evaluation')

const file = (name: string) => ({ name, text: readFileSync(join(DATA, name), 'utf8') })

interface Answer {
  readonly items: readonly {
    readonly logLikelihoods: readonly number[]
    readonly greedy?: boolean
    readonly acc?: 0 | 1
    readonly acc_norm?: 0 | 1
  }[]
  readonly metrics: Readonly<Record<string, readonly [value: number, error?: number]>>
}
const answers = JSON.parse(file('answers.json').text) as Record<string, Answer>

const TASKS: Readonly<
  Record<string, (model: EvaluatedModel, forward: ReturnType<typeof forwardRows>) => Task | Promise<Task>>
> = {
  hellaswag: () => hellaswag(file('hellaswag.jsonl')),
  piqa: () => piqa(file('piqa.jsonl'), file('piqa-labels.lst')),
  arc: () => arc('arc_easy', file('arc.jsonl')),
  winogrande: () => winogrande(file('winogrande.jsonl')),
  boolq: () => boolq(file('boolq.jsonl')),
  choices: () => ownChoices(file('choices.jsonl')),
  lambada: () => lambada(file('lambada.jsonl')),
  wikitext: () => wikitext(file('wikitext.txt')),
  second_halves: ({ tokenizer }, forward) =>
    windowTask({
      name: 'second_halves',
      context: 64,
      bos: 1,
      forward,
      ids: tokenizer.encode(file('wikitext.txt').text, { addSpecial: true }),
    }),
  windows: async ({ tokenizer }, forward) => {
    let text = ''
    for await (const piece of joinedRows(file('wikitext.txt').text)) text += piece
    const ids = tokenizer.encode(text, { addSpecial: true })
    return windowTask({ name: 'windows', context: 64, forward, ids })
  },
}

describe('evaluation of stories260K', () => {
  const found = new Map<string, { results: readonly ItemResult[]; task: Task }>()

  beforeAll(async () => {
    const model = fixtureFile('stories260k/stories260K-f32.gguf')
    await withBuilt([model], { contextLength: 128 }, async (built) => {
      const { scheduler, tokenizer } = built
      const evaluated = { scheduler, tokenizer, newSequence: () => built.newSequence() }
      for (const [name, make] of Object.entries(TASKS)) {
        const own = { ...evaluated, maxTokens: 128, addBos: false }
        const task = await make(own, forwardRows(built))
        const results = await runTask(own, task, { signal: new AbortController().signal, batch: 3 })
        found.set(name, { results, task })
      }
    })
  }, 120_000)

  test.each(Object.keys(TASKS))("%s: log-likelihoods, decisions and metrics match numpy's", (name) => {
    const { results, task } = found.get(name)!
    const { items, metrics } = answers[name]!
    for (const [index, { logLikelihoods, greedy, acc, acc_norm }] of items.entries()) {
      const own = results[index]!
      for (const [at, expected] of logLikelihoods.entries())
        expect(Math.abs(own[at]! - expected), `item ${index}, ${at}`).toBeLessThan(1e-4)
      if (greedy !== undefined) expect(own[1]).toBe(greedy ? 1 : 0)
      const [before, after] = [index, index + 1].map((end) => task.metrics(results.slice(0, end)))
      if (acc !== undefined) expect(decision(before!, after!, index, 'acc')).toBe(acc)
      if (acc_norm !== undefined && 'acc_norm' in metrics)
        expect(decision(before!, after!, index, 'acc_norm')).toBe(acc_norm)
    }
    const told = task.metrics(results)
    expect(Object.keys(told)).toEqual(Object.keys(metrics))
    for (const [metric, [value, error]] of Object.entries(metrics)) {
      expect(Math.abs(told[metric]!.value / (value || 1) - (value === 0 ? 0 : 1))).toBeLessThan(1e-4)
      if (error !== undefined) expect(told[metric]!.error).toBeCloseTo(error, 2)
    }
  })
})

/** An item's contribution to an accuracy: whether it was right. */
const decision = (
  before: ReturnType<Task['metrics']>,
  after: ReturnType<Task['metrics']>,
  count: number,
  metric: 'acc' | 'acc_norm',
): number =>
  Math.round(after[metric]!.value * (count + 1) - (count === 0 ? 0 : before[metric]!.value * count))
