// Loops. In: answers, some of which repeat their end. Out: where each loop begins.
import { describe, expect, test } from 'vitest'
import { beforeLoop } from './loops.ts'

describe('a loop ends after its first round', () => {
  test.each([
    ['a cell', 'A table:\n', '| x '],
    ['a sentence', 'Once upon a time. ', 'The fox ran over the hill and then it came back to the old barn. '],
    ['a paragraph', 'Hello.\n\n', `${'Then they went home and slept, and in the morning '.repeat(4)}\n`],
    ['a word', 'I think ', 'very '],
    ['bars alone', 'x', '| '],
  ])('%s', (_, start, passage) => {
    const text = start + passage.repeat(500 / passage.length + 900)
    expect(beforeLoop(text)).toBeLessThanOrEqual(start.length + passage.length)
    expect(text.slice(0, beforeLoop(text))).toContain(start.trim())
  })
})

describe('no loop', () => {
  test.each([
    'Ha ha ha ha ha!',
    `| a | b |\n|${'---|'.repeat(50)}\n`,
    `${'='.repeat(200)}\n`,
    '',
    'one',
    'The fox ran. The fox ran. The fox ran.',
    `${'La la la, sang the bird in the tree by the river on a long and sunny day in May.\n'.repeat(2)}And then it slept.`,
    Array.from({ length: 300 }, (_, index) => `${index}. item\n`).join(''),
  ])('%j', (text) => {
    expect(beforeLoop(text)).toBeUndefined()
  })
})

test('a passage counts at its third round', () => {
  const passage = 'The fox ran over the hill and then it came back to the old barn by night. '
  expect(beforeLoop(passage.repeat(2))).toBeUndefined()
  expect(beforeLoop(passage.repeat(3))).toBe(passage.length)
})
