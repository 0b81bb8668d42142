// `halfbyte serve`: the real command on a random model, asked over HTTP and ended by Ctrl-C.
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bertFolder, byPath, randomBert } from '../../../test/conformance/testing/random-bert.ts'
import { ended, halfbyte, model, path, start, testModels } from '../testing/program.ts'

testModels()

test('it says where it answers, logs requests, and ends with Ctrl-C', async () => {
  const child = start('serve', model, '--port', '0', '--threads', '1')
  const [line] = await once(child.stdout!, 'data')
  const [, address] = /^.* answers at (http:\/\/127\.0\.0\.1:\d+\/v1)\n$/.exec(String(line)) ?? []
  const answer = await fetch(`${address}/completions`, {
    method: 'POST',
    body: JSON.stringify({ prompt: 'ab', max_tokens: 4, temperature: 0 }),
  })
  expect(answer.status).toBe(200)
  expect((await answer.json()).choices[0].text).not.toBe('')
  child.kill('SIGINT')
  const { code, err } = await ended(child)
  expect(code).toBe(130)
  expect(err).toMatch(/^POST \/v1\/completions 200 \d+\.\d\d s$/m)
})

test('an encoder alone answers with vectors, and a model must be named', async () => {
  const encoder = path('encoder')
  await mkdir(join(encoder, '1_Pooling'), { recursive: true })
  for (const [at, file] of byPath(bertFolder(randomBert(1))))
    await writeFile(join(encoder, at), await file.bytes())
  const child = start('serve', '--embedder', encoder, '--port', '0', '--threads', '1', '--quiet')
  const [line] = await once(child.stdout!, 'data')
  const [, address] = /^.* answers at (http:\/\/127\.0\.0\.1:\d+\/v1)\n$/.exec(String(line)) ?? []
  const answer = await fetch(`${address}/embeddings`, {
    method: 'POST',
    body: JSON.stringify({ input: ['the cat', 'a'], dimensions: 3 }),
  })
  const { data } = await answer.json()
  expect(data).toMatchObject([{ index: 0 }, { index: 1 }])
  for (const { embedding } of data) expect(Math.hypot(...embedding)).toBeCloseTo(1, 5)
  child.kill('SIGINT')
  expect((await ended(child)).code).toBe(130)
  const { code, err } = await halfbyte('serve')
  expect([code, err]).toEqual([2, expect.stringContaining('give --embedder or --reranker')])
})

test('a port that is no port is wrong usage', async () => {
  const { code, err } = await halfbyte('serve', model, '--port', '70000')
  expect([code, err]).toEqual([2, expect.stringContaining('from 0 to 65535')])
})
