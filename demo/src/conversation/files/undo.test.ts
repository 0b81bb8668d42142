// In: steps in the composer and keys. Out: whether they are taken back in their order among those of the
// browser.
import { expect, test } from 'vitest'
import { Undo, type Written } from './undo.ts'

const file = (name: string) => ({ name, text: name })
const [a, b] = [file('a'), file('b')]
const written = (text: string, ...files: ReturnType<typeof file>[]): Written => ({ text, files })
const key = (letter: string, more: Partial<KeyboardEvent> = {}) =>
  ({
    key: letter,
    code: `Key${letter.toUpperCase()}`,
    ctrlKey: true,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    ...more,
  }) as KeyboardEvent

test('steps that leave the text are taken back and made again by keys, the newest first', () => {
  const undo = new Undo()
  undo.note(written('x'), written('x', a))
  undo.note(written('x', a), written('x', a, b))
  expect(undo.pressed(key('z'), 'x')).toEqual([a])
  expect(undo.pressed(key('z', { ctrlKey: false, metaKey: true }), 'x')).toEqual([])
  expect(undo.pressed(key('z'), 'x')).toBeUndefined()
  expect(undo.pressed(key('y'), 'x')).toEqual([a])
  expect(undo.pressed(key('Z', { shiftKey: true }), 'x')).toEqual([a, b])
  expect(undo.pressed(key('y'), 'x')).toBeUndefined()
})

test('the key’s place counts where letters are not Latin, and other keys mean nothing', () => {
  const undo = new Undo()
  undo.note(written(''), written('', a))
  for (const other of [key('z', { ctrlKey: false }), key('z', { altKey: true }), key('v'), key('y')])
    expect(undo.pressed(other, '')).toBeUndefined()
  expect(undo.pressed(key('ז', { code: 'KeyZ' }), '')).toEqual([])
})

test('newer edits of the text are left to the browser', () => {
  const undo = new Undo()
  undo.note(written('x'), written('x', a))
  expect(undo.edited('insertText', 'xy')).toBeUndefined()
  expect(undo.pressed(key('z'), 'xy')).toBeUndefined()
  expect(undo.edited('historyUndo', 'x')).toBeUndefined()
  expect(undo.pressed(key('z'), 'x')).toEqual([])
  // What is typed after a step was taken back ends it.
  undo.edited('insertText', 'xz')
  expect(undo.pressed(key('y'), 'x')).toBeUndefined()
})

test('a step that changed the text goes with the browser’s own', () => {
  const undo = new Undo()
  undo.note(written('x', a), written('xa'))
  expect(undo.pressed(key('z'), 'xa')).toBeUndefined()
  expect(undo.edited('historyUndo', 'x')).toEqual([a])
  expect(undo.edited('historyRedo', 'xa')).toEqual([])
  undo.forget()
  expect(undo.edited('historyUndo', 'x')).toBeUndefined()
})
