// Calls. In: answers with tool calls as text, complete, cut off, and letter by letter. Out: no markup.
import { expect, test } from 'vitest'
import { CALL_MARKS, formOf, MARKERS } from '../../../../src/core/base/calls/marks.ts'
import { withoutCalls } from './calls.ts'

const CALL = '<tool_call>\n{"name": "calculate", "arguments": {"expression": "1 + 1"}}\n</tool_call>'

test.each([
  [CALL, ''],
  [`Let me see. ${CALL}`, 'Let me see. '],
  [`One. ${CALL} Two. ${CALL} Three.`, 'One.  Two.  Three.'],
  ['Let me see. <tool_call>\n{"name": "calc', 'Let me see.'],
  ['<tool_call>', ''],
  ['Let me see. <tool_ca', 'Let me see. '],
  ['{"name": "calculate", "arguments": {"expression": "20 peri', ''],
  ['[{"name": "f", "parameters": {}}]', ''],
  ['[TOOL_CALLS]f{"a": 1}', ''],
  [
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>Done',
    'Done',
  ],
])('%j becomes %j', (text, shown) => {
  expect(withoutCalls(text, false)).toBe(shown)
})

test.each([
  'A tool is called with `<tool_call>` and its end.',
  `So:\n\n\`\`\`\n${CALL}\n\`\`\`\n\nThat is all.`,
  `So:\n\n\`\`\`xml\n${CALL}`,
  '{"name": "Ada", "age": 36}',
  'a < b, and b <t',
  '[TODO]',
  'x[0] < functools',
  '',
])('%j stays unchanged', (text) => {
  expect(withoutCalls(text, false)).toBe(text)
})

test('no letter of a call is shown while it streams', () => {
  for (const text of [CALL, `Let me see. ${CALL}`, CALL.replaceAll(/\n?<\/?tool_call>\n?/g, '')])
    for (let length = 0; length <= text.length; length++)
      expect(withoutCalls(text.slice(0, length), true), text.slice(0, length)).toMatch(/^[A-Za-z .]*$/)
})

const startOf = (mark: string) => CALL_MARKS[formOf(mark)].starts?.[0] ?? '{'

test('every mark that the library recognises is known', () => {
  for (const mark of MARKERS) expect(withoutCalls(`${mark}${startOf(mark)}"name": "f"`, false), mark).toBe('')
})

test('a long answer of brackets takes few steps per letter', () => {
  const text = '<'.repeat(200_000)
  expect(withoutCalls(text, false)).toBe(text)
})
