// halfbyte trim of encoders. In: the real program on random sentence-transformers folders. Out: smaller
// folders with the same vectors, and the messages for mistakes.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  bertFolder,
  bertGguf,
  byPath,
  randomBert,
  VOCABULARY,
} from '../../../../test/conformance/testing/random-bert.ts'
import { halfbyte, path, testFolder } from '../testing/program.ts'

testFolder()

const encoder = path('encoder')
const gguf = path('encoder.gguf')
const text = path('lines.txt')
const TEXT = 'the cat runs. a cat, 1\n'

beforeAll(async () => {
  const random = randomBert(3)
  await mkdir(join(encoder, '1_Pooling'), { recursive: true })
  for (const [at, file] of byPath(bertFolder(random))) await writeFile(join(encoder, at), await file.bytes())
  await writeFile(gguf, await (await bertGguf(random)).bytes())
  await writeFile(text, TEXT.repeat(1500))
})

const vectorOf = async (folder: string, sentence: string): Promise<readonly number[]> =>
  JSON.parse((await halfbyte('embed', folder, '--text', sentence, '--threads', '1')).out).vector

describe('an encoder', () => {
  test('keeps the vectors of a text that uses only kept tokens, in a folder of the same format', async () => {
    const output = path('small')
    const flags = ['--keep-text', text, '--threads', '1'] as const
    const { code, out, err } = await halfbyte('trim', encoder, output, ...flags, '--json')
    expect([code, err]).toEqual([0, ''])
    const { tokens, table, texts, likeness } = JSON.parse(out)
    expect(tokens.before).toBe(VOCABULARY.length)
    expect(tokens.after).toBeLessThan(tokens.before)
    expect(table.after / table.before).toBeCloseTo(tokens.after / tokens.before, 6)
    expect(texts.foreign).toBe(0)
    expect(texts.samePieces).toBeGreaterThan(10)
    expect(likeness.texts).toBeGreaterThan(0)
    expect(likeness.least).toBeGreaterThan(1 - 1e-6)
    expect(await vectorOf(output, TEXT)).toEqual(await vectorOf(encoder, TEXT))
    const config = JSON.parse(await readFile(join(output, 'config.json'), 'utf8'))
    expect(config).toMatchObject({ vocab_size: tokens.after, pad_token_id: 0 })
    // The output can be trimmed again, and is replaced only with --force.
    const again = await halfbyte('trim', output, path('smaller'), '--languages', 'en')
    expect(again.out).toMatch(/more of the scripts Latn.*\n(.*\n)*not compared with the original/)
    const refused = await halfbyte('trim', encoder, output, ...flags)
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('--force to replace it') })
  }, 120_000)

  test.each([
    [['--table', 'w4'], 'out', /--table is for packs, and an encoder is written as a folder/],
    [[], 'out.hbm', /out\.hbm is a file name, but an encoder is written as a folder/],
    [['--languages', 'xx'], 'out', /"xx" is not a language whose script Unicode knows/],
  ])('with %j is rejected, naming the option', async (flags, output, message) => {
    const ended = await halfbyte('trim', encoder, path(output), '--keep-text', text, ...flags)
    expect(ended).toMatchObject({ code: 1, err: expect.stringMatching(message) })
  })

  test('as GGUF is rejected, and so is text with conversations', async () => {
    const ended = await halfbyte('trim', gguf, path('out'), '--keep-text', text)
    expect(ended).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is a gguf file; only safetensors folders/),
    })
    const chat = path('chat.jsonl')
    await writeFile(chat, '{"messages": [{"role": "user", "content": "a"}]}\n')
    const told = await halfbyte('trim', encoder, path('out'), '--keep-text', chat)
    expect(told).toMatchObject({ code: 1, err: expect.stringMatching(/line 1 has messages, and an encoder/) })
  })
})

test('without a text or languages no token would be kept, which is an error', async () => {
  const ended = await halfbyte('trim', 'embedded', path('none.hbm'))
  expect(ended).toMatchObject({ code: 1, err: expect.stringMatching(/give --keep-text FILE, --languages/) })
})
