// Rows of measured ops. In: a measured step. Out: whether the rows list its ops and leave out negligible
// ones.
import { expect, test } from 'vitest'
import type { Line, StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import { opRows, opTables, stepTitle } from './op-rows.ts'

const line = (label: string, ms: number, limitMs: number, count = 1): Line => ({
  label,
  name: 'linear',
  kind: 'linear',
  count,
  bytes: 1,
  ops: 1,
  ms: { median: ms, min: ms, max: ms },
  limitMs,
  share: limitMs / ms,
})
const step: StepAnalysis = {
  stage: 'decode',
  build: 'relaxed',
  threads: 2,
  tokens: 1,
  position: 128,
  lines: [
    line('mlp_down [tokens, 288]', 0.5, 0.25, 6),
    line('logits [1, 6144]', 0.3, 0.29),
    line('norm [288]', 0.005, 0.001),
  ],
  kinds: [],
  step: line('whole step', 0.8, 0.541),
  limitTokensPerSecond: 1850,
  tokensPerSecond: 1250,
}

test('the whole step comes first, and negligible ops are omitted', () => {
  expect(opRows(step)).toEqual([
    ['Whole step', '0.800', '0.541', '68%'],
    ['6 × mlp_down', '0.500', '0.250', '50%'],
    ['logits', '0.300', '0.290', '97%'],
  ])
})

test('ops with the same name are distinguished', () => {
  const lines = [line('attn [64]', 0.4, 0.1), { ...line('attn [288]', 0.4, 0.2), name: 'attention_f32' }]
  expect(opRows({ ...step, lines }).map(([name]) => name)).toEqual([
    'Whole step',
    'attn (linear)',
    'attn (attention_f32)',
  ])
})

test('the report has a table for each step', () => {
  const prefill: StepAnalysis = { ...step, stage: 'prefill', tokens: 64 }
  expect(stepTitle(prefill)).toBe('Reading 64 tokens: 2 threads, relaxed')
  const text = opTables([step, prefill])
  expect(text.match(/^### .*$/gm)).toEqual([
    '### Generating a token after 128 others: 2 threads, relaxed',
    '### Reading 64 tokens: 2 threads, relaxed',
  ])
  expect(text).toContain('| Op | ms | Limit, ms | Of the limit |\n| --- | --: | --: | --: |\n')
})
