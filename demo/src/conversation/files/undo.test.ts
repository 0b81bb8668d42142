// In: steps in the composer and keys. Out: whether they are undone in order with the browser's own steps.
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

test('steps that do not change the text are undone and redone by keys, newest first', () => {
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

test('the physical key counts on non-Latin layouts, and other keys are ignored', () => {
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
  // Typing after an undo discards the redo.
  undo.edited('insertText', 'xz')
  expect(undo.pressed(key('y'), 'x')).toBeUndefined()
})

test('a step that changed the text is undone together with the browser’s own', () => {
  const undo = new Undo()
  undo.note(written('x', a), written('xa'))
  expect(undo.pressed(key('z'), 'xa')).toBeUndefined()
  expect(undo.edited('historyUndo', 'x')).toEqual([a])
  expect(undo.edited('historyRedo', 'xa')).toEqual([])
  undo.forget()
  expect(undo.edited('historyUndo', 'x')).toBeUndefined()
})
