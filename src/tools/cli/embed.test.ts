// The encoder commands. In: random encoders in sentence-transformers folders. Out: one JSON object per line.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { bertFolder, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { ended, halfbyte, path, start, testFolder } from './testing/program.ts'

testFolder()

const encoder = path('encoder')
const reranker = path('reranker')

async function writeFolder(folder: string, files: readonly File[]): Promise<void> {
  await mkdir(join(folder, '1_Pooling'), { recursive: true })
  for (const [at, file] of byPath(files)) await writeFile(join(folder, at), await file.bytes())
}

beforeAll(async () => {
  await writeFolder(encoder, bertFolder(randomBert(1)))
  await writeFolder(reranker, bertFolder(randomBert(1, { isReranker: true }), { prefix: 'bert.' }))
})

const parsed = (out: string) =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test('embed prints a vector for each text, from arguments and from a file', async () => {
  const file = path('lines.txt')
  await writeFile(file, 'a cat\n\nthe cat runs\n')
  const { out, err, code } = await halfbyte(
    ...['embed', encoder, '--text', 'the cat', '--file', file, '--threads', '1', '--dimensions', '3'],
  )
  expect([err, code]).toEqual(['', 0])
  const lines = parsed(out)
  expect(lines).toMatchObject([{ index: 0 }, { index: 1 }, { index: 2 }])
  for (const { vector } of lines) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
})

test('rerank prints the best documents first, even from stdin', async () => {
  const documents = ['the cat', 'a dog', 'runs']
  const flags = ['rerank', reranker, '--query', 'what runs', '--threads', '1']
  const { out, err, code } = await halfbyte(...flags, '--document', ...documents)
  expect([err, code]).toEqual(['', 0])
  const lines = parsed(out)
  const scores = lines.map(({ score }) => score)
  expect(scores).toEqual(scores.toSorted((a, b) => b - a))
  expect(lines.map(({ document }) => document)).toEqual(lines.map(({ index }) => documents[index]))
  const piped = await ended(start(...flags, '--top', '1'), `${documents.join('\n')}\n`)
  expect(parsed(piped.out)).toEqual(lines.slice(0, 1))
})

test('each rejects the other’s model and names the right command', async () => {
  const { code, err } = await halfbyte('embed', reranker, '--text', 'cat', '--threads', '1')
  expect(code).not.toBe(0)
  expect(err).toContain('rerank')
  const other = await halfbyte('rerank', encoder, '--query', 'a', '--document', 'b', '--threads', '1')
  expect(other.code).not.toBe(0)
  expect(other.err).toContain('embed')
  const chat = await halfbyte('embed', 'embedded', '--text', 'cat')
  expect(chat).toMatchObject({
    code: 1,
    err: expect.stringMatching(/a \.hbm pack is not an encoder .*halfbyte chat/),
  })
})
