// In: answers with and without thoughts. Out: whether the two are parted at every length.
import { expect, test } from 'vitest'
import { withoutThoughts } from './thoughts.ts'

const TEXT = '<think>\nA fox.\n</think>\n\nThe *fox*.'

test('thoughts at the start are parted from the answer', () => {
  expect(withoutThoughts(TEXT)).toEqual({ thoughts: 'A fox.', isThinking: false, answer: 'The *fox*.' })
})

test('while the thoughts grow there is no answer', () => {
  for (let length = '<think>'.length; length < TEXT.indexOf('</think>') + 8; length++) {
    expect(withoutThoughts(TEXT.slice(0, length))).toMatchObject({ isThinking: true, answer: '' })
  }
})

test('an answer that quotes the tag has no thoughts', () => {
  const text = 'Write `<think>a</think>`.'
  expect(withoutThoughts(text)).toEqual({ thoughts: undefined, isThinking: false, answer: text })
})

test('empty thoughts are thoughts', () => {
  expect(withoutThoughts('<think>\n\n</think>\n\nHi')).toMatchObject({ thoughts: '', answer: 'Hi' })
})
