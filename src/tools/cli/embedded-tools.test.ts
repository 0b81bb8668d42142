// Tool use of the embedded model. In: questions, a calculator. Out: whether the model calls the calculator
// and answers with its results.
import { afterAll, expect, test } from 'vitest'
import type { Engine } from '../../engine/api/engine.ts'
import type { RunnableTool } from '../../engine/api/types.ts'
import { openEngine } from './command-engine.ts'

const opened: Promise<Engine> = openEngine(
  'embedded',
  { threads: 1, build: 'auto', weights: 'auto', kv: { k: 'f32', v: 'f32' } },
  new AbortController().signal,
)

afterAll(async () => {
  await (await opened).dispose()
})

const calculator = (execute: RunnableTool['execute'], expression: object = { type: 'string' }) => ({
  name: 'calculate',
  description: 'Computes an arithmetic expression.',
  parameters: { type: 'object', properties: { expression }, required: ['expression'] },
  ...(execute && { execute }),
})

const multiplied: RunnableTool['execute'] = ({ expression }) => {
  const [one = 0, other = 0] = String(expression).split('*').map(Number)
  return one * other
}

test('the model requests a sum, the page computes it, and the model’s answer contains it', async () => {
  const session = (await opened).createSession()
  const options = { tools: [calculator(multiplied)], temperature: 0, maxTokens: 80 }
  const { text, steps } = await session.send('What is 12 * 7?', options).result
  expect(text).toContain('84')
  expect(steps?.map(({ toolRuns }) => toolRuns.map(({ result }) => result))).toEqual([['84'], []])
  expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  // The next question does not process the earlier prompt again.
  const next = await session.send('What is 9 * 6?', options).result
  expect(next.text).toContain('54')
  expect(next.steps?.[0]?.usage.cachedTokens).toBeGreaterThan(steps?.[1]?.usage.promptTokens ?? 0)
})

test('arguments that the schema forbids do not reach the function', async () => {
  const session = (await opened).createSession()
  let calls = 0
  const tools = [calculator(() => calls++, { type: 'string', pattern: '^[0-9]+ minus [0-9]+$' })]
  const options = { tools, temperature: 0, maxTokens: 80, maxSteps: 2 }
  const { steps, finishReason } = await session.send('What is 12 * 7?', options).result
  const [run] = steps?.[0]?.toolRuns ?? []
  expect(run).toMatchObject({ state: 'failed', error: { code: 'unsupported' } })
  expect(run?.result).toMatch(/^error: expression is "12 ?\* ?7", which its schema does not allow$/)
  expect([calls, finishReason]).toEqual([0, 'stop'])
})
