// In: texts with and without visible characters. Out: the text that is sent.
import { expect, test } from 'vitest'
import { visibleText } from './visible.ts'

test.each(['', ' \n\t', '\u200b', '\u200b \u2060\ufeff', '\u00ad', '\u2800', '\u3164', '\u0000'])(
  '%j is not sent',
  (text) => {
    expect(visibleText(text)).toBe('')
  },
)

test.each([' a ', '👨‍👩‍👧', '.', 'ﷺ', '\u200fשלום'])('%j is', (text) => {
  expect(visibleText(text)).toBe(text.trim())
})
