// In: answers with and without thoughts. Out: whether the two are separated at every length.
import { expect, test } from 'vitest'
import { partsOf, withoutThoughts } from './thoughts.ts'

const TEXT = '<think>\nA fox.\n</think>\n\nThe *fox*.'

test('thoughts at the start are separated from the answer', () => {
  expect(withoutThoughts(TEXT)).toEqual({ thoughts: 'A fox.', isThinking: false, answer: 'The *fox*.' })
})

test('while the thoughts stream there is no answer', () => {
  for (let length = '<think>'.length; length < TEXT.indexOf('</think>') + 8; length++) {
    expect(withoutThoughts(TEXT.slice(0, length))).toMatchObject({ isThinking: true, answer: '' })
  }
})

test('an answer that quotes the tag has no thoughts', () => {
  const text = 'Write `<think>a</think>`.'
  expect(withoutThoughts(text)).toEqual({ thoughts: undefined, isThinking: false, answer: text })
})

test('empty thoughts count as thoughts', () => {
  expect(withoutThoughts('<think>\n\n</think>\n\nHi')).toMatchObject({ thoughts: '', answer: 'Hi' })
})

test('thoughts that arrived separately stay separate, and the answer may quote the tag', () => {
  const message = { content: '', thoughts: 'A fox.' }
  expect(partsOf(message, true)).toEqual({ thoughts: 'A fox.', isThinking: true, answer: '' })
  expect(partsOf(message)).toMatchObject({ isThinking: false })
  const content = '<think>a</think>'
  expect(partsOf({ ...message, content }, true)).toEqual({
    thoughts: 'A fox.',
    isThinking: false,
    answer: content,
  })
  expect(partsOf({ content: TEXT })).toMatchObject({ thoughts: 'A fox.', answer: 'The *fox*.' })
})
