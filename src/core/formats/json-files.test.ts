// Tests the JSON and text files of a model. In: files that declare their size. Out: their text, or an error
// before a byte is read.
import { expect, test } from 'vitest'
import { bufferSource } from '../base/bytes.ts'
import { readJson, readText } from './json-files.ts'

const MAX = 128 * 2 ** 20

test('a file of up to 128 MiB is read, and a longer one is rejected before it is read', async () => {
  const read: number[] = []
  const sized = (size: number) => ({
    name: 'tokenizer.json',
    size,
    read: async (_: number, length: number) => {
      read.push(length)
      return new TextEncoder().encode('{}')
    },
  })
  expect(await readText(sized(MAX))).toBe('{}')
  const refusal = { code: 'format', message: expect.stringContaining(`at most ${MAX}`) }
  await expect(readText(sized(MAX + 1))).rejects.toMatchObject(refusal)
  await expect(readJson(sized(2 ** 50))).rejects.toMatchObject(refusal)
  expect(read).toEqual([MAX])
})

test.each(['[]', '1', '{', '', '\0'])('%j is rejected because it is not a JSON object', async (text) => {
  const source = bufferSource('config.json', new TextEncoder().encode(text))
  await expect(readJson(source)).rejects.toMatchObject({
    code: 'format',
    message: expect.stringMatching(/^config\.json: /),
  })
})
