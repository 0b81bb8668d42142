// In: keys, as browsers report them. Out: whether they send.
import { expect, test, vi } from 'vitest'
import { sends } from './keys.ts'

const enter = (more: Partial<KeyboardEvent> = {}) =>
  sends({ key: 'Enter', keyCode: 13, isComposing: false, ...more } as KeyboardEvent)

test('Enter sends on a desktop, and Control with Enter everywhere', () => {
  const matches = vi.fn(() => ({ matches: false }))
  vi.stubGlobal('window', { matchMedia: matches })
  expect([enter(), enter({ shiftKey: true }), enter({ key: 'a' })]).toEqual([true, false, false])
  matches.mockReturnValue({ matches: true })
  expect([enter(), enter({ ctrlKey: true }), enter({ metaKey: true })]).toEqual([false, true, true])
  vi.unstubAllGlobals()
})

test('the Enter that ends a composition does not send, not even in Safari', () => {
  expect(enter({ ctrlKey: true, isComposing: true })).toBe(false)
  expect(enter({ ctrlKey: true, keyCode: 229 })).toBe(false)
})
