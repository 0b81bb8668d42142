// `halfbyte serve` in operation: the real command with several models, keys from a file, and signals.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, writeFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { ended, halfbyte, model, path, testModels } from '../testing/program.ts'
import { type Started, startServer } from '../testing/servers.ts'

testModels()

const running: ChildProcess[] = []

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

async function served(...args: readonly string[]): Promise<Started> {
  const started = await startServer(...args)
  running.push(started.child)
  return started
}

const complete = (address: string, body: object = {}, headers: Record<string, string> = {}) =>
  fetch(`${address}/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ prompt: 'ab', max_tokens: 4, temperature: 0, ...body }),
  })

/** A stream of this many tokens, of which the first has arrived. */
async function begun(address: string, tokens: number) {
  const answer = await complete(address, { max_tokens: tokens, stream: true })
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  await reader.read()
  return async () => {
    let text = ''
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value
    return text
  }
}

test.skipIf(process.platform === 'win32')('SIGTERM lets a reply finish, and the exit code is 0', async () => {
  const { child, address } = await served(model)
  const rest = await begun(address, 200)
  const end = ended(child)
  child.kill('SIGTERM')
  expect(await rest()).toMatch(/\[DONE\]\n\n$/)
  const { code, err } = await end
  expect(code).toBe(0)
  expect(err).toMatch(/^stopping: 1 request may take 8 s more; a second signal ends all at once$/m)
  expect(err).not.toMatch(/^ended/m)
})

test.skipIf(process.platform === 'win32')('replies that take too long are aborted', async () => {
  const { child, address } = await served(model, '--stop-timeout', '0')
  const rest = (await begun(address, 15_000))().catch((error: unknown) => error)
  const end = ended(child)
  child.kill('SIGINT')
  const { code, err } = await end
  expect([code, err]).toEqual([130, expect.stringMatching(/^ended 1 request after 0 s$/m)])
  expect(await rest).toBeInstanceOf(TypeError)
})

test.skipIf(process.platform === 'win32')('a second signal ends the process at once', async () => {
  const { child, address } = await served(model, '--stop-timeout', '3600')
  const rest = (await begun(address, 15_000))().catch((error: unknown) => error)
  const exit = once(child, 'exit')
  let told = ''
  child.stderr!.setEncoding('utf8').on('data', (text) => {
    told += text
    if (/^stopping/m.test(told)) child.kill('SIGTERM')
  })
  child.kill('SIGINT')
  expect(await exit).toEqual([143, null])
  expect(await rest).toBeInstanceOf(TypeError)
})

test('requests select one of several models by name, and the memory of each is reported', async () => {
  const other = path('other.gguf')
  await copyFile(model, other)
  const { child, address } = await served(other, '--model', `second=${model}`, '--quiet')
  const { data } = await (await fetch(`${address}/models`)).json()
  expect(data.map(({ id }: { id: string }) => id)).toEqual([expect.any(String), 'second'])
  const answer = await complete(address, { model: 'second' })
  expect([answer.status, (await answer.json()).model]).toEqual([200, 'second'])
  const unknown = await complete(address, { model: 'third' })
  expect([unknown.status, (await unknown.json()).error.code]).toEqual([404, 'model_not_found'])
  child.kill('SIGINT')
  const { err } = await ended(child)
  expect(err).toMatch(/^second: [\d.]+ [kMG]B in memory, [\d.]+ [kMG]B of weights$/m)
})

test('two models with the same name are rejected, and so are options for one model if there are two', async () => {
  expect(await halfbyte('serve', model, '--model', `random=${model}`, '--port', '0')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/two models are called random; name one with --model name=FILE/),
  })
  expect(await halfbyte('serve', model, model, '--chat-template', model)).toMatchObject({
    code: 1,
    err: expect.stringMatching(/--chat-template applies to one model but 2 are given/),
  })
  expect(await halfbyte('serve', '--model', model)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/give it as name=FILE/),
  })
})

test.skipIf(process.platform === 'win32')('keys are read from a file, and reread at SIGHUP', async () => {
  const file = path('keys.txt')
  await writeFile(file, 'sk-one\nsk-two\n', { mode: 0o644 })
  const { child, address } = await served(model, '--api-key-file', file)
  const told: string[] = []
  child.stderr!.setEncoding('utf8').on('data', (text) => told.push(text))
  const status = async (key: string) =>
    (await complete(address, {}, { authorization: `Bearer ${key}` })).status
  expect([await status('sk-one'), await status('sk-two'), await status('sk-three')]).toEqual([200, 200, 401])
  await writeFile(file, 'sk-three\n')
  child.kill('SIGHUP')
  await expect.poll(() => told.join('')).toMatch(/the keys were reloaded: 1/)
  expect([await status('sk-one'), await status('sk-three')]).toEqual([401, 200])
  await writeFile(file, '')
  child.kill('SIGHUP')
  await expect.poll(() => told.join('')).toMatch(/the keys were not reloaded: .* has no key/)
  expect(await status('sk-three')).toBe(200)
})
