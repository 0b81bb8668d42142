// Training examples. In: lines in each form, and wrong ones. Out: examples, the numbers of wrong lines, and
// the examples that are held out.
import { expect, test } from 'vitest'
import { holdOut, readExamples } from './examples.ts'

const chat = (...roles: readonly string[]) =>
  JSON.stringify({ messages: roles.map((role) => ({ role, content: `${role} says` })) })
const read = (...lines: readonly string[]) => readExamples('a.jsonl', lines.join('\n'))

test('each form is read, and empty lines count for the numbers of lines', async () => {
  const examples = await read(
    chat('system', 'user', 'assistant'),
    '',
    '{"prompt": "2 + 2 =", "completion": " 4"}',
    '{"text": "all of it"}',
  )
  expect(examples.map(({ form, line }) => [form, line])).toEqual([
    ['chat', 1],
    ['completion', 3],
    ['text', 4],
  ])
  expect(examples[1]).toMatchObject({ prompt: '2 + 2 =', completion: ' 4', source: { text: '2 + 2 = 4' } })
})

test.each([
  ['not JSON', '{"text": ', /line 2: /],
  ['not an object', '[1]', /line 2: it is not an object; give lines like/],
  ['unknown fields', '{"words": "a"}', /line 2: it has neither messages, nor a prompt/],
  ['an empty completion', '{"prompt": "a", "completion": ""}', /line 2: its completion is empty/],
  ['an empty text', '{"text": ""}', /line 2: its text is empty/],
  ['nothing to learn', chat('user'), /line 2: it has no assistant message to learn from/],
  [
    'a question at the end',
    chat('user', 'assistant', 'user'),
    /line 2: its last message is not the assistant/,
  ],
  ['an unknown role', chat('user', 'robot'), /line 2: .*robot/],
  ['messages that are no list', '{"messages": "hi"}', /line 2: .*messages/],
  [
    'an image',
    '{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}, {"role": "assistant", "content": "a"}]}',
    /line 2: it has images, which training does not read/,
  ],
])('a line with %s is rejected with its number', async (_, line, message) => {
  const error = await read('{"text": "fine"}', line, '{"text": "fine"}').catch((reason) => reason)
  expect(error).toMatchObject({
    code: 'format',
    message: expect.stringMatching(message),
    detail: { line: 2 },
  })
  expect(error.message).toMatch(/^a\.jsonl: /)
})

test('one example is too few', async () => {
  await expect(read('{"text": "a"}')).rejects.toThrow(
    /a\.jsonl has 1 examples, and training needs at least 2/,
  )
})

test('the seed draws the examples that are held out, and both parts keep their order', async () => {
  const examples = await read(...Array.from({ length: 40 }, (_, at) => `{"text": "${at}"}`))
  const lines = (list: readonly { line: number }[]) => list.map(({ line }) => line)
  const first = holdOut(examples, { share: 0.1, seed: 1 })
  expect(first.held).toHaveLength(4)
  expect([...lines(first.train), ...lines(first.held)].sort((a, b) => a - b)).toEqual(lines(examples))
  for (const part of [first.train, first.held])
    expect(lines(part)).toEqual(lines(part).toSorted((a, b) => a - b))
  expect(lines(holdOut(examples, { share: 0.1, seed: 1 }).held)).toEqual(lines(first.held))
  expect(lines(holdOut(examples, { share: 0.1, seed: 2 }).held)).not.toEqual(lines(first.held))
  const two = holdOut(examples.slice(0, 2), { share: 0.9, seed: 1 })
  expect([two.train.length, two.held.length]).toEqual([1, 1])
  expect(holdOut(examples.slice(0, 3), { share: 0.01, seed: 1 }).held).toHaveLength(1)
})
