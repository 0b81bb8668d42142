// In: errors as the library throws them. Out: whether people get sentences without names of options.
import { expect, test } from 'vitest'
import { HalfbyteError } from '../../../src/index.ts'
import { explain } from './explain.ts'

test('the next step is one for people, and the whole message is in the details', () => {
  const message = 'prompt needs 5120 tokens but the context holds 4096; raise contextLength or shorten it'
  const { text, details } = explain(new HalfbyteError('context-overflow', message))
  expect(text).toBe(
    'Prompt needs 5120 tokens but the context holds 4096. Shorten the message, or set a longer context in the settings.',
  )
  expect(details).toBe(message)
})

test('a file name keeps its case, and servers’ headers are not mentioned', () => {
  const message =
    "a.gguf could not be fetched; check the address, the connection and the server's CORS headers"
  expect(explain(new HalfbyteError('network', message)).text).toBe(
    'a.gguf could not be fetched. Check the address and the connection.',
  )
})

test('an error of another kind is shown as it is', () => {
  expect(explain(new TypeError('it broke'))).toEqual({ text: 'It broke.', details: undefined })
})
