// Lines. In: texts in pieces. Out: the same lines as splitting the whole text, or an error for a line that is
// too long.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linesOf } from './bytes.ts'

async function read(pieces: string | Iterable<string>, longest?: number, name?: string): Promise<string[]> {
  const lines: string[] = []
  for await (const line of linesOf(pieces, longest, name)) lines.push(line)
  return lines
}

test('pieces of any length yield the lines of the whole text', async () => {
  const piece = fc.string({ unit: fc.constantFrom('a', '\n', '\r', ' ', '👩'), maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(fc.array(piece), async (pieces) => {
      const expected = pieces.join('').split('\n')
      if (expected.at(-1) === '') expected.pop()
      expect(await read(pieces)).toEqual(expected)
      expect(await read([pieces.join('')])).toEqual(expected)
    }),
  )
})

test('a line that is too long within a piece is rejected with the name of the text', async () => {
  for (const text of ['a\nlonger\nb', 'a\nlonger', 'a\nlonger\n']) {
    await expect(read(text, 5, 'd.jsonl')).rejects.toMatchObject({
      code: 'format',
      message: expect.stringMatching(/^line 2 of d\.jsonl has more than 5 characters/),
    })
  }
})

test('an endless line is rejected with its number', async () => {
  const endless = function* () {
    yield 'a\nb\n'
    for (;;) yield 'x'.repeat(10)
  }
  await expect(read(endless(), 100)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^line 3 of the text has more than 100 characters/),
  })
})
