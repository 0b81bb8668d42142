// In: an answer that streams faster than frames can show it. Out: whether each frame adds what it has time
// for, and nothing is lost.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Conversation } from '../store/conversations.ts'
import { Reveal } from './reveal.ts'

const answered = (content: string, id = 'a'): Conversation => ({
  id,
  title: 'A title',
  updated: 0,
  messages: [
    { role: 'user', content: 'A question' },
    { role: 'assistant', content },
  ],
})
const text = (conversation: Conversation): string => conversation.messages.at(-1)?.content ?? ''

/** How much of an answer each frame of `ms` shows if the answer completes soon after its start. */
function frames(reveal: Reveal, content: string, ms: (frame: number) => number): string[] {
  const shown = [text(reveal.cut(answered('')))]
  do {
    reveal.advance()
    shown.push(text(reveal.cut(answered(content))))
    reveal.took(ms(shown.length))
  } while (reveal.isBehind)
  return shown
}

const steps = (shown: readonly string[]) =>
  shown.slice(1).map((each, index) => each.length - (shown[index]?.length ?? 0))

test('another, longer version of a revealed answer is shown whole at once', () => {
  const reveal = new Reveal()
  frames(reveal, 'Short.', () => 1)
  const longer = 'x'.repeat(5000)
  reveal.leave()
  expect(text(reveal.cut(answered(longer)))).toBe(longer)
  expect(reveal.isBehind).toBe(false)
})

describe('an answer is revealed', () => {
  test('to its last character, however long frames take, and never splits a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 2000 }),
        fc.double({ min: 0, max: 500 }),
        (content, ms) => {
          const shown = frames(new Reveal(), content, () => ms)
          expect(shown.at(-1)).toBe(content)
          for (const each of shown) {
            expect(content.startsWith(each)).toBe(true)
            expect(each.isWellFormed() || !content.isWellFormed()).toBe(true)
          }
        },
      ),
    )
  })

  test('in smaller steps while frames are slow, in larger ones while they are fast', () => {
    const fast = steps(frames(new Reveal(), 'a'.repeat(4000), () => 5)).slice(0, -1)
    expect(fast).toEqual(fast.toSorted((a, b) => a - b))
    expect(fast.at(-1)).toBeGreaterThan(4 * (fast[0] as number))
    const then = steps(frames(new Reveal(), 'a'.repeat(4000), (frame) => (frame < 12 ? 5 : 50))).slice(0, -1)
    expect(then.slice(0, 11)).toEqual(fast.slice(0, 11))
    expect(then[12]).toBeLessThan(then[11] as number)
    expect(Math.min(...then), 'it goes on').toBeGreaterThanOrEqual(fast[0] as number)
  })

  test('in large steps after a stop, and in small ones again in the next answer', () => {
    const reveal = new Reveal()
    reveal.cut(answered(''))
    reveal.finish()
    const shown: number[] = []
    do {
      reveal.advance()
      shown.push(text(reveal.cut(answered('a'.repeat(1000)))).length)
      reveal.took(500)
    } while (reveal.isBehind)
    expect(shown).toEqual([192, 384, 576, 768, 960, 1000])
    expect(steps(frames(reveal, 'a'.repeat(1000), () => 500))[0]).toBe(48)
  })

  test('whole when its growth was never shown', () => {
    const reveal = new Reveal()
    expect(reveal.cut(answered('stored long ago'))).toEqual(answered('stored long ago'))
    reveal.cut(answered(''))
    expect(text(reveal.cut(answered('new')))).toBe('')
    expect(reveal.isBehind).toBe(true)
    expect(text(reveal.cut(answered('another conversation', 'b')))).toBe('another conversation')
    expect(reveal.isBehind).toBe(false)
  })

  test('from its beginning when it is generated again', () => {
    const reveal = new Reveal()
    expect(frames(reveal, 'first', () => 5).at(-1)).toBe('first')
    expect(frames(reveal, 'second', () => 5)).toEqual(['', 'second'])
  })
})

describe('an answer that is ahead of the display', () => {
  test('waits, and continues when the display has caught up', async () => {
    const reveal = new Reveal()
    const content = 'a'.repeat(1000)
    reveal.cut(answered(''))
    expect(reveal.room(1000), 'before anything was seen growing').toBeUndefined()
    reveal.cut(answered(content))
    expect(reveal.room(90)).toBeUndefined()
    let isWaiting = true
    void reveal.room(1000)?.then(() => {
      isWaiting = false
    })
    let shown = 0
    while (isWaiting) {
      expect(reveal.isBehind, 'it waited for what was shown long ago').toBe(true)
      reveal.advance()
      shown = text(reveal.cut(answered(content))).length
      reveal.took(500)
      await Promise.resolve()
    }
    expect(1000 - shown, 'letters that were left when it went on').toBeGreaterThan(100)
    expect(1000 - shown).toBeLessThan(300)
  })

  test.each<[string, (reveal: Reveal) => unknown]>([
    ['it is stopped', (reveal) => reveal.finish()],
    ['another conversation is shown', (reveal) => reveal.cut(answered('other', 'b'))],
    ['nobody looks', (reveal) => reveal.goOn()],
  ])('waits no longer when %s', async (_, happens) => {
    const reveal = new Reveal()
    reveal.cut(answered(''))
    reveal.cut(answered('a'.repeat(1000)))
    const room = reveal.room(1000)
    expect(room).toBeDefined()
    happens(reveal)
    await room
  })
})
