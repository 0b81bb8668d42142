// Displayed texts. In: errors, sizes, attributes. Out: the text shown for them.
import { expect, test } from 'vitest'
import { type ErrorCode, HalfbyteError } from '../../core/base/errors.ts'
import { ENGLISH } from '../words/english.ts'
import { checkProperty, listOf } from './chat-properties.ts'
import { explain, isFatal, loadingText } from './view/notice.ts'

const CODES = Object.keys(ENGLISH)
  .filter((name) => name.startsWith('error-'))
  .map((name) => name.slice('error-'.length) as ErrorCode)

test.each(CODES)('an error %s has a sentence that says what to do, and its message as details', (code) => {
  const { text, details } = explain(new HalfbyteError(code, 'it broke; mend it'), ENGLISH)
  expect(text).toBe(ENGLISH[`error-${code}`])
  expect(text).toMatch(/[tT]ell the site|[tT]ry again|Use |Shorten |Reload /)
  expect(details).toBe('it broke; mend it')
})

test('an error from outside the library counts as one of the model', () => {
  expect(explain(new TypeError('x'), ENGLISH)).toEqual({ text: ENGLISH['error-internal'], details: 'x' })
  expect([isFatal(new TypeError('x')), isFatal(new HalfbyteError('context-overflow', 'x'))]).toEqual([
    true,
    false,
  ])
})

test('a load shows what it is doing', () => {
  const text = (progress: Parameters<typeof loadingText>[0]) =>
    loadingText(progress, { words: ENGLISH, language: 'en' })
  const download = { phase: 'download', loaded: 5e5, total: 1e6, cached: false } as const
  expect([
    text(undefined),
    text(download),
    text({ ...download, total: 0 }),
    text({ ...download, secondsLeft: 3 }),
    text({ ...download, retry: { attempt: 2, attempts: 6, waitMs: 2100, reason: 'it broke off' } }),
    text({ ...download, cached: true }),
    text({ phase: 'warmup' }),
  ]).toEqual([
    ENGLISH.waiting,
    'Downloading: 0.5 MB of 1.0 MB',
    'Downloading: 0.5 MB',
    'Downloading: 0.5 MB of 1.0 MB, 3 sec left',
    'The connection was lost. Retrying in 2 sec (2 of 6)',
    ENGLISH.reading,
    ENGLISH.preparing,
  ])
})

test.each([
  [null, []],
  ['', []],
  ['Hello| How are you? |', ['Hello', 'How are you?']],
  ['["a | b", "c"]', ['a | b', 'c']],
  ['{"a": 1}', ['{"a": 1}']],
])('the suggestions of %j', (value, list) => {
  expect(listOf(value)).toEqual(list)
})

test('an invalid property is rejected with the expected value, and valid ones pass', () => {
  const wrong: readonly (readonly [string, unknown, RegExp])[] = [
    ['downloadBytes', -5, /^downloadBytes is -5 but must be a whole number of bytes;/],
    ['downloadBytes', Number.NaN, /^downloadBytes is NaN/],
    ['keep', '__proto__', /must be none or tab or device;/],
    ['suggestions', 'a', /must be a list of up to 100 texts/],
    ['tools', [{ name: 'f' }], /a name and a function execute;/],
    ['messages', { send: 5 }, /an object of texts/],
    ['heading', 'x'.repeat(10_001), /up to 10000 characters;/],
  ]
  for (const [name, value, sentence] of wrong)
    expect(() => checkProperty(name, value)).toThrow(
      expect.objectContaining({ code: 'unsupported', message: expect.stringMatching(sentence) }),
    )
  checkProperty('downloadBytes', 5)
  checkProperty('messages', { send: 'Los', another: 5 })
  checkProperty('documents', ['a', { text: 'b', title: undefined }])
  checkProperty('__proto__', 5)
})
