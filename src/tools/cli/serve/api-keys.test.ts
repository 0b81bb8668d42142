// Keys. In: files of keys and headers. Out: which requests are answered, and warnings and errors that name
// the file and the line but never a key.
import { execFile } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { path, testFolder } from '../testing/program.ts'
import { ApiKeys, readApiKeys } from './api-keys.ts'

testFolder()

let files = 0
async function keyFile(text: string, mode = 0o600): Promise<string> {
  const file = path(`keys-${files++}.txt`)
  await writeFile(file, text, { mode })
  await chmod(file, mode)
  return file
}

test('each key is accepted, but only if complete and with the scheme Bearer', () => {
  const keys = new ApiKeys(['first', 'second'])
  const allowed = ['Bearer first', 'bearer second', 'Bearer  first ']
  const refused = [undefined, '', 'first', 'Bearer', 'Bearer ', 'Bearer firs', 'Bearer firstt', 'Basic first']
  expect(allowed.map((header) => keys.allow(header))).toEqual(allowed.map(() => true))
  expect(refused.map((header) => keys.allow(header))).toEqual(refused.map(() => false))
  keys.replace(['third'])
  expect([keys.allow('Bearer first'), keys.allow('Bearer third')]).toEqual([false, true])
})

test('without keys, everyone is allowed', () => {
  expect(new ApiKeys([]).allow(undefined)).toBe(true)
})

test('a file has one key per line, and comments', async () => {
  const warnings: string[] = []
  const file = await keyFile('# of the team\r\nsk-one\r\n\n  sk-two  \n')
  expect(await readApiKeys(file, (sentence) => warnings.push(sentence))).toEqual(['sk-one', 'sk-two'])
  expect(warnings).toEqual([])
})

test.skipIf(process.platform === 'win32')('a file that others may read causes a warning', async () => {
  const warnings: string[] = []
  await readApiKeys(await keyFile('sk-one', 0o640), (sentence) => warnings.push(sentence))
  expect(warnings).toEqual([expect.stringMatching(/other users may read .* \(its mode is 640\); chmod 600/)])
})

test.each([
  ['no key', '# nothing\n', /has no key; write one per line/],
  ['a line with a space', 'sk-one\nsk two\n', /line 2 of .* is not a key/],
  ['a character not allowed in headers', 'schl\u00fcssel\n', /line 1 of .* is not a key/],
  ['too many bytes', 'x'.repeat((1 << 20) + 1), /has more than 1048576 bytes/],
])('a file with %s is rejected', async (_, text, message) => {
  const error = await readApiKeys(await keyFile(text), () => undefined).catch((error: unknown) => error)
  expect(error).toMatchObject({ code: 'unsupported', message: expect.stringMatching(message) })
  expect(String(error)).not.toMatch(/sk two|schl/)
})

test.skipIf(process.platform === 'win32')('a pipe is read up to the limit', async () => {
  const pipe = path('pipe')
  await promisify(execFile)('mkfifo', ['-m', '600', pipe])
  const read = async (text: string) =>
    (await Promise.allSettled([readApiKeys(pipe, () => undefined), writeFile(pipe, text)]))[0]
  expect(await read('sk-one\n')).toMatchObject({ value: ['sk-one'] })
  expect(await read('x'.repeat(1 << 22))).toMatchObject({ reason: { code: 'unsupported' } })
})

test('the error for a missing file names it', async () => {
  await expect(readApiKeys(path('none'), () => undefined)).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringMatching(/none cannot be read: .*ENOENT.*--api-key-file/),
  })
})
