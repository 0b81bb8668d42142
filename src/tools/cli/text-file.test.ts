// Text files. In: bytes, UTF-8 or not. Out: the same text whether read in pieces or at once, or an error with
// its size.
import { writeFile } from 'node:fs/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readPieces, readText } from './files.ts'
import { path, testFolder } from './testing/program.ts'

testFolder()

test('the pieces join into the text, whatever the bytes and wherever they are split', async () => {
  const file = path('bytes.txt')
  const unit = fc.constantFrom(
    [0x61],
    [0xe2, 0x82, 0xac],
    [0xf0, 0x9f, 0x91, 0xa9],
    [0xe2, 0x82],
    [0xff],
    [0xef, 0xbb, 0xbf],
  )
  await fc.assert(
    fc.asyncProperty(fc.array(unit, { maxLength: 40 }), fc.nat(40), async (units, filler) => {
      // A file stream reads 64 KiB at a time, so these span its first boundary.
      const bytes = Buffer.concat([Buffer.alloc(65_536 - filler, 0x62), Buffer.from(units.flat())])
      await writeFile(file, bytes)
      let text = ''
      for await (const piece of readPieces(file)) text += piece
      expect(text === bytes.toString('utf8')).toBe(true)
      expect((await readText(file)) === text).toBe(true)
    }),
    { numRuns: 50 },
  )
})

test('a file that has to fit in memory is rejected if it is too long', async () => {
  const file = path('long.txt')
  await writeFile(file, 'x'.repeat(2001))
  await expect(readText(file, 2000)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/long\.txt has more than 2000 bytes and must fit/),
  })
  await expect(readText(path('nowhere'))).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/nowhere cannot be read: .*; check the path/),
  })
})
