// Facts derived from published templates. In: each template's output for a call, a thought and an answer.
// Out: whether the calls and thoughts can be read back, and the token that ends a turn.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { turnEndIds } from '../../../src/core/text/chat/chat-template.ts'
import { beginningAfter, reasoningSplitter } from '../../../src/core/text/chat/reasoning.ts'
import { toolCallsOf } from '../../../src/engine/reply/reply-tool-calls.ts'
import { folder } from './compare.ts'
import { calledReply, DERIVED, question, TOOLS, tokenizer, written } from './derived.ts'

describe('the calls are read back, letter by letter,', () => {
  const withCalls = Object.entries(DERIVED).filter(([, { calls }]) => calls !== undefined)
  test.each(withCalls)('of the template of %s', (name, derived) => {
    const { calls, text, pieces, mark } = calledReply(name)
    const reader = toolCallsOf({ type: 'messages', messages: [question], tools: TOOLS })!
    const left = pieces.map((piece) => reader.push(piece)).join('') + reader.finish()
    expect(reader.found.map((call) => [call.name, call.arguments])).toEqual(
      calls.map((call) => [call.name, call.arguments]),
    )
    expect(left.trim(), text).toBe('')
    expect(mark).toBe(derived.calls)
  })
})

describe.each(Object.entries(DERIVED))('of the template of %s', (name, derived) => {
  test('a thought has the listed mark, and a reply begins as listed', () => {
    const { prompt, form } = written(name, [{ role: 'assistant', content: 'It rains.' }])
    expect(form.isAssumed ? undefined : form.open).toBe(derived.thought)
    expect(beginningAfter(prompt, form)).toBe(derived.begins ?? 'start')
    const thought = written(name, [{ role: 'assistant', content: 'It rains.', reasoning: 'Wet?' }])
    if (!thought.reply.includes('Wet?')) return
    const splitter = reasoningSplitter(form, thought.begins)
    const parts = [...[...thought.reply].map((letter) => splitter.push(letter)), splitter.finish()]
    expect(parts.map(({ reasoning }) => reasoning).join('')).toBe('Wet?')
    expect(parts.map(({ text }) => text).join('')).toMatch(/^It rains\./)
  })

  test('the listed token ends a turn', () => {
    const { template } = written(name, [{ role: 'assistant', content: 'It rains.' }])
    const ids = turnEndIds(tokenizer, template)
    expect(ids).toContain(tokenizer.idOf(derived.end))
  })
})

test('every published template is in the table', () => {
  const names = readdirSync(join(folder, 'published')).filter((file) => file.endsWith('.jinja'))
  expect(names.map((file) => file.slice(0, -6)).sort()).toEqual(Object.keys(DERIVED).sort())
})
