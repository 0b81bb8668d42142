// `halfbyte serve`: the real command with a random model, used over HTTP and ended by Ctrl-C.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { encode } from 'fast-png'
import { expect, test } from 'vitest'
import { ggufFile } from '../../../../test/conformance/testing/model-files.ts'
import { bertFolder, byPath, randomBert } from '../../../../test/conformance/testing/random-bert.ts'
import { randomLlama } from '../../../../test/conformance/testing/random-llama.ts'
import { randomTower, towerFile } from '../../../../test/conformance/vision/random-tower.ts'
import { ended, halfbyte, model, path, testModels } from '../testing/program.ts'
import { startServer } from '../testing/servers.ts'

testModels()

test('it prints its address, logs requests, and ends with Ctrl-C', async () => {
  const { child, address } = await startServer(model)
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

test('images reach a vision model, from the command and over HTTP', async () => {
  const speaker = randomLlama({ seed: 38, gain: 1.5, speaks: true, contextLength: 1024 })
  const template = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}'
  const metadata = { 'tokenizer.chat_template': ['string', template] } as const
  const shape = { width: speaker.config.hidden_size, merge: 1, grid: 4, patch: 3, projector: 'mlp' } as const
  const blind = path('sees.gguf')
  const tower = path('mmproj.gguf')
  await writeFile(blind, await (await ggufFile(speaker, 'F32', { metadata })).bytes())
  await writeFile(tower, await (await towerFile(randomTower(1, shape))).bytes())
  const pictures = [40, 200].map((red) => {
    const data = Uint8Array.from({ length: 30 * 20 * 3 }, (_, at) => (at * red + (at >> 4)) % 256)
    return encode({ width: 30, height: 20, data, channels: 3 })
  })
  const files = [path('one.png'), path('two.png')]
  for (const [at, file] of files.entries()) await writeFile(file, pictures[at]!)
  const asked = ['--vision', tower, '--threads', '1'] as const
  const options = ['--prompt', 'ab', '--temperature', '0', '--max-tokens', '8'] as const
  const answers = await Promise.all(
    files.map((file) => halfbyte('generate', blind, ...asked, ...options, '--image', file)),
  )
  for (const { code } of answers) expect(code).toBe(0)
  expect(answers[0]!.out).not.toBe(answers[1]!.out)
  expect(await halfbyte('generate', blind, ...asked, ...options, '--image', path('none.png'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/the picture .*none\.png cannot be read: .*\(ENOENT\); check the path/),
  })
  expect(await halfbyte('generate', blind, ...options, '--raw', '--image', files[0]!)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/omit --raw or --image/),
  })
  const { child, address } = await startServer(blind, '--vision', tower, '--quiet')
  const url = `data:image/png;base64,${Buffer.from(pictures[0]!).toString('base64')}`
  const response = await fetch(`${address}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({
      temperature: 0,
      max_tokens: 8,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url } },
            // The command puts an image on a line of its own.
            { type: 'text', text: '\nab' },
          ],
        },
      ],
    }),
  })
  const { choices } = await response.json()
  expect(`${choices[0].message.content}\n`).toBe(answers[0]!.out)
  child.kill('SIGINT')
  expect((await ended(child)).code).toBe(130)
}, 60_000)

test('an encoder alone answers with vectors, and at least one model is required', async () => {
  const encoder = path('encoder')
  await mkdir(join(encoder, '1_Pooling'), { recursive: true })
  for (const [at, file] of byPath(bertFolder(randomBert(1))))
    await writeFile(join(encoder, at), await file.bytes())
  const { child, address } = await startServer('--embedder', encoder, '--quiet')
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
  expect([code, err]).toEqual([2, expect.stringContaining('or give --embedder or --reranker')])
})

test('an invalid port is a usage error', async () => {
  const { code, err } = await halfbyte('serve', model, '--port', '70000')
  expect([code, err]).toEqual([2, expect.stringContaining('from 0 to 65535')])
})
