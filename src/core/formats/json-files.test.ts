// JSON and text files of a model. In: files that say how long they are. Out: their text, or a refusal before
// a byte is read.
import { expect, test } from 'vitest'
import { bufferSource } from '../base/bytes.ts'
import { readJson, readText } from './json-files.ts'

const MOST = 128 * 2 ** 20

test('a file is read up to 128 MiB, and a longer one is refused before it is read', async () => {
  const read: number[] = []
  const sized = (size: number) => ({
    name: 'tokenizer.json',
    size,
    read: async (_: number, length: number) => {
      read.push(length)
      return new TextEncoder().encode('{}')
    },
  })
  expect(await readText(sized(MOST))).toBe('{}')
  const refusal = { code: 'format', message: expect.stringContaining(`at most ${MOST}`) }
  await expect(readText(sized(MOST + 1))).rejects.toMatchObject(refusal)
  await expect(readJson(sized(2 ** 50))).rejects.toMatchObject(refusal)
  expect(read).toEqual([MOST])
})

test.each(['[]', '1', '{', '', '\0'])('%j is not the object of a JSON file', async (text) => {
  const source = bufferSource('config.json', new TextEncoder().encode(text))
  await expect(readJson(source)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^config\.json: /),
  })
})
