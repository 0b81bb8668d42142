// States. In: states and outputs by name, and the meaning of each output. Out: which state is not returned
// correctly.
import { expect, test } from 'vitest'
import type { Meaning } from '../meaning.ts'
import { wronglyLeft } from './states.ts'

const present = (of: string): Meaning => ({ is: 'present', of })

/** `made` maps each output to the state from which it is computed. */
function judged(states: readonly string[], made: readonly (readonly [string, string])[]): string | undefined {
  const outputs = new Map(made)
  const inputs = states.map((name) => ({ name, type: undefined }))
  return wronglyLeft(inputs, ['logits', ...outputs.keys()], {
    meaningOf: (name) => (outputs.has(name) ? present(outputs.get(name)!) : undefined),
    appended: new Map(states.map((name) => [name, present(name)])),
    left: new Map(),
  })
}

test('numbers and types in names pair outputs with states, in any order', () => {
  const states = ['past_key_values.0.key', 'past_key_values.0.value', 'past_key_values.1.key']
  const made = [
    ['present.1.key', states[2]!],
    ['present.0.value', states[1]!],
    ['present.0.key', states[0]!],
  ] as const
  expect(judged(states, made)).toBe(undefined)
  const swapped = [['present.1.key', states[0]!], made[1], ['present.0.key', states[2]!]] as const
  expect(judged(states, swapped)).toBe(
    "the output present.0.key is not the step's new value of the state past_key_values.0.key",
  )
})

test('short names work the same way', () => {
  const states = ['past_k.0', 'past_v.0']
  expect(
    judged(states, [
      ['v.0', 'past_v.0'],
      ['k.0', 'past_k.0'],
    ]),
  ).toBe(undefined)
  expect(
    judged(states, [
      ['v.0', 'past_k.0'],
      ['k.0', 'past_v.0'],
    ]),
  ).toMatch(/the output k\.0 is not/)
})

test('without such names, states are paired by order', () => {
  expect(
    judged(
      ['a', 'b'],
      [
        ['x', 'a'],
        ['y', 'b'],
      ],
    ),
  ).toBe(undefined)
  expect(
    judged(
      ['a', 'b'],
      [
        ['x', 'b'],
        ['y', 'a'],
      ],
    ),
  ).toMatch(/the output x is not .* the state a/)
})

test('the error names a state that is not returned', () => {
  expect(judged(['a', 'b'], [['x', 'a']])).toBe("the output 2 is not the step's new value of the state b")
})
