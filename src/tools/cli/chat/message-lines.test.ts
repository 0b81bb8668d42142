// Messages of several lines. In: lines as a terminal sends them. Out: messages.
import { expect, test } from 'vitest'
import { MessageLines } from './message-lines.ts'

/** Lines that begin with `P:` are pasted. Undefined: more lines belong to the message. */
function messagesOf(...typed: readonly string[]): readonly (string | undefined)[] {
  const lines = new MessageLines()
  const messages = typed.map((line) =>
    line.startsWith('P:') ? lines.add(line.slice(2), true) : lines.add(line),
  )
  expect(lines.isOpen).toBe(messages.at(-1) === undefined)
  return messages
}

const MORE = undefined

test.each([
  ['one line', ['hello'], ['hello']],
  ['an empty line', [''], ['']],
  ['a backslash', ['one \\', 'two\\', 'three', 'four'], [MORE, MORE, 'one \ntwo\nthree', 'four']],
  ['a block', ['"""', 'one', '', ' two', '"""'], [MORE, MORE, MORE, MORE, 'one\n\n two']],
  ['a block with text next to its marks', ['"""one', 'two"""', 'x'], [MORE, 'one\ntwo', 'x']],
  ['a block in one line', ['"""one"""'], ['one']],
  ['a pasted text and its end', ['P:one', 'P:', 'P:two\\', 'end'], [MORE, MORE, MORE, 'one\n\ntwo\\\nend']],
  ['pasted marks', ['P:"""', 'P:a', '"""'], [MORE, MORE, '"""\na\n"""']],
  ['an unfinished block', ['"""', 'one'], [MORE, MORE]],
])('%s', (_, typed, messages) => {
  expect(messagesOf(...typed)).toEqual(messages)
})

test('an unfinished message can be dropped', () => {
  const lines = new MessageLines()
  lines.add('"""')
  lines.add('one')
  lines.clear()
  expect(lines.isOpen).toBe(false)
  expect(lines.add('two')).toBe('two')
})
