// Tests of template arguments. In: a caller's values. Out: nothing, or a typed error.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkTemplateArguments } from '../reply/reply.ts'

test('any JSON object is accepted', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (given) => {
      fc.pre(
        !['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token'].some(
          (name) => name in given,
        ),
      )
      expect(() => checkTemplateArguments(given)).not.toThrow()
    }),
  )
})

const circle: Record<string, unknown> = {}
circle['self'] = circle

test.each([
  ['a list', [], /templateArguments/],
  ['a text', 'enable_thinking', /templateArguments/],
  ['nothing', null, /templateArguments/],
  ['a name that the engine sets', { messages: [] }, /"messages", which the engine sets itself/],
  ['a function', { now: () => 1 }, /templateArguments\.now/],
  ['no number', { budget: Number.NaN }, /templateArguments\.budget/],
  ['a circle', circle, /64 levels/],
  ['too much', { list: Array.from({ length: 100_001 }, () => 1) }, /100000 values/],
])('%s is rejected', (_name, given, message) => {
  expect(() => checkTemplateArguments(given)).toThrow(
    expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(message) }),
  )
})
