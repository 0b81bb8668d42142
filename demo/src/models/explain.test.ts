// In: errors thrown by the library. Out: whether users get sentences without option names.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { HalfbyteError } from '../../../src/index.ts'
import { speak } from '../words/words.ts'
import { explain } from './explain.ts'

test('the next step is written for users, and the details have the full message', () => {
  const message =
    'prompt needs 5120 tokens but the context has room for 4096; raise contextLength or shorten it'
  const { text, details } = explain(new HalfbyteError('context-overflow', message))
  expect(text).toBe(
    'Prompt needs 5120 tokens but the context has room for 4096. Shorten the message, or set a longer context in the settings.',
  )
  expect(details).toBe(message)
})

test.each([
  [true, 'This model can read about 1400 characters'],
  [false, 'set a longer context'],
])(
  'the error for a message that is too long counts characters (the model’s own limit: %s)',
  (isOwnLimit, part) => {
    const error = new HalfbyteError('context-overflow', 'too long', { letters: 6899, most: 1437, isOwnLimit })
    const { text, wantsLarger } = explain(error)
    expect(text).toContain(part)
    expect(text).toContain('6899')
    expect(text.includes('set a longer context')).toBe(!isOwnLimit)
    expect(wantsLarger).toBe(true)
  },
)

test('a file name keeps its case, and servers’ headers are not mentioned', () => {
  const message =
    "a.gguf could not be fetched; check the address, the connection and the server's CORS headers"
  expect(explain(new HalfbyteError('network', message)).text).toBe(
    'a.gguf could not be fetched. Check the address and the connection.',
  )
})

test('text in brackets at the end is shown only in the details', () => {
  const message =
    'photo.gguf: its format is unknown to Halfbyte (37 bytes, starting with 4a 50 45 47); give a model'
  const { text, details } = explain(new HalfbyteError('format', message))
  expect(text).toMatch(/^photo\.gguf: its format is unknown to Halfbyte\. /)
  expect(details).toBe(message)
})

test('other kinds of errors are shown unchanged', () => {
  expect(explain(new TypeError('it broke'))).toEqual({ text: 'It broke.', details: undefined })
})

describe('in Hebrew', () => {
  beforeEach(async () => {
    vi.stubGlobal('document', { documentElement: { lang: 'he' } })
    await speak('he')
  })
  test('a storage-full message has readable sizes, in English too', async () => {
    await speak('en')
    const text = (detail: Record<string, number>) =>
      explain(new HalfbyteError('storage-full', 'the model needs 5e8 bytes of storage', detail)).text
    expect(text({ size: 5e8, free: 2e6 })).toMatch(
      /^500 MB of storage is needed, but only 2\.0 MB is free\. /,
    )
    expect(text({ size: 5e8, free: 0 })).toContain('only 0.0 MB is free')
    expect(text({ size: 5e8 })).toContain('500 MB of storage is needed, but the browser does not grant it.')
    expect(text({ size: 0 })).toMatch(/^The storage of this device is full\. /)
  })

  afterEach(async () => {
    await speak('en')
    vi.unstubAllGlobals()
  })

  test('Hebrew sentences have the error’s numbers, and the message is in the details', () => {
    const message = 'the prompt needs 600 tokens but the context has room for 512; shorten it'
    const error = new HalfbyteError('context-overflow', message, { needed: 600, contextLength: 512 })
    expect(explain(error)).toEqual({
      text: 'ההודעה צריכה 600 אסימונים, אבל ההקשר מכיל 512. קצרו את ההודעה, או הגדילו את ההקשר בהגדרות.',
      details: message,
    })
  })

  test('sizes are readable, and an unknown size is omitted', () => {
    const text = (detail: Record<string, number>) =>
      explain(new HalfbyteError('storage-full', 'it is full', detail)).text
    expect(text({ size: 5e8, free: 2e6 })).toContain('500 MB')
    expect(text({ size: 0, free: 2e6 })).toMatch(/^האחסון של המכשיר מלא\. /)
  })

  test('an error without a code is explained as the engine’s, with its message in the details', () => {
    expect(explain(new TypeError('it broke'))).toEqual({ text: 'משהו השתבש במנוע.', details: 'it broke' })
  })
})
