// In: stored conversations and frame times. Out: whether each frame adds little, from the end backwards,
// until everything is shown.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Opening } from './opening.ts'
import type { StoredMessage } from './store/conversations.ts'

const message = (role: StoredMessage['role'], letters: number): StoredMessage => ({
  role,
  content: 'a'.repeat(letters),
})

/** Characters shown of each message. */
const shown = (opening: Opening, messages: readonly StoredMessage[]): number[] =>
  messages.map(({ content }, index) =>
    index < opening.first ? 0 : Math.min(content.length, opening.tail(index)),
  )
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)

/** The content shown after each frame of `ms`. Parsing a message takes three frames. */
function frames(messages: readonly StoredMessage[], ms: number): number[][] {
  const opening = new Opening(messages)
  const all = [shown(opening, messages)]
  let reads = 0
  while (!opening.isWhole) {
    opening.advance(() => ++reads % 3 === 0)
    opening.took(ms)
    all.push(shown(opening, messages))
    if (all.length > 1000) throw new Error('it does not end')
  }
  return all
}

describe('a conversation is opened', () => {
  const conversation = fc.array(fc.nat({ max: 9000 }), { minLength: 1, maxLength: 12 }).map((lengths) =>
    // Questions are short.
    lengths.map((letters, index) =>
      message(index % 2 === 0 ? 'user' : 'assistant', index % 2 === 0 ? letters % 200 : letters),
    ),
  )

  test('from its end to its beginning, a few letters per frame', () => {
    fc.assert(
      fc.property(conversation, (messages) => {
        const all = frames(messages, 60)
        expect(all.at(-1)).toEqual(messages.map(({ content }) => content.length))
        for (const [index, now] of all.entries()) {
          const before = all[index - 1] ?? messages.map(() => 0)
          expect(sum(now) - sum(before)).toBeLessThanOrEqual(240 + 200)
          for (const [place, letters] of now.entries())
            expect(letters).toBeGreaterThanOrEqual(before[place] ?? 0)
          const first = now.findIndex((letters) => letters > 0)
          const whole = messages.slice(first + 1).map(({ content }) => content.length)
          if (first >= 0) expect(now.slice(first + 1)).toEqual(whole)
        }
      }),
    )
  })

  test('in fewer frames when frames are fast', () => {
    const messages = [message('user', 20), message('assistant', 8000)]
    expect(frames(messages, 5).length).toBeLessThan(0.7 * frames(messages, 60).length)
  })

  test('at once when it is short', () => {
    const messages = [message('user', 20), message('assistant', 200)]
    expect(frames(messages, 60)).toEqual([
      [0, 200],
      [20, 200],
    ])
    expect(new Opening([]).isWhole).toBe(true)
  })

  test('and shows all of an answer that changes while it opens', () => {
    const messages = [message('user', 20), message('assistant', 8000)]
    const opening = new Opening(messages)
    opening.follow(messages)
    expect(opening.tail(1)).toBe(0)
    opening.follow([messages[0] as StoredMessage, message('assistant', 1)])
    expect(opening.tail(1)).toBe(Number.POSITIVE_INFINITY)
  })
})
