// `halfbyte serve`: the real command on a random model, asked over HTTP and ended by Ctrl-C.
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { ended, halfbyte, model, start } from '../testing/program.ts'

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

test('a port that is no port is wrong usage', async () => {
  const { code, err } = await halfbyte('serve', model, '--port', '70000')
  expect([code, err]).toEqual([2, expect.stringContaining('from 0 to 65535')])
})
