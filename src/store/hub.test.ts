// Hub addresses. In: what people write, a server that is a hub. Out: URLs, private files with a token, no token elsewhere.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { HalfbyteError } from '../base/errors.ts'
import { hubHeaders, hubUrl, parseHubAddress } from './hub.ts'
import { openAddress } from './open.ts'
import { type FileServer, serveFiles } from './test/file-server.ts'

describe('addresses', () => {
  test.each([
    ['hf:owner/name', { repo: 'owner/name' }],
    ['hf:owner/na.me-2_x:sub/file.gguf', { repo: 'owner/na.me-2_x', file: 'sub/file.gguf' }],
    ['hf:owner/name@v1', { repo: 'owner/name', revision: 'v1' }],
    ['hf:owner/name:a.gguf@refs/pr/1', { repo: 'owner/name', file: 'a.gguf', revision: 'refs/pr/1' }],
  ])('%s', (text, parts) => {
    expect(parseHubAddress(text)).toEqual({ file: undefined, revision: undefined, ...parts })
  })

  test.each(['owner/name', 'https://a.example/owner/name', 'models/tiny.gguf', 'HF:owner/name'])(
    '%s is none',
    (text) => expect(parseHubAddress(text)).toBeUndefined(),
  )

  test.each([
    'hf:',
    'hf:owner',
    'hf:owner/name/more',
    'hf:owner/name:',
    'hf:../x',
    'hf:../../x',
    'hf:owner/name@',
  ])('%s is refused', (text) =>
    expect(() => parseHubAddress(text)).toThrow(/is not a hub address; write hf:/),
  )

  test('become URLs in which names cannot leave their place', () => {
    const base = { baseUrl: 'https://hub.example/mirror' }
    expect(hubUrl({ repo: 'o/n' })).toBe('https://huggingface.co/o/n/resolve/main/')
    expect(hubUrl({ repo: 'o/n', file: 'a b/c?.gguf', revision: 'refs/pr/1' }, base)).toBe(
      'https://hub.example/mirror/o/n/resolve/refs%2Fpr%2F1/a%20b/c%3F.gguf',
    )
  })

  test('a token goes to the hub alone', () => {
    const hub = { baseUrl: 'https://hub.example', token: 'secret' }
    expect(hubHeaders('https://hub.example/o/n/resolve/main/a', hub)).toEqual({
      Authorization: 'Bearer secret',
    })
    for (const url of [
      'https://hub.example.evil.example/a',
      'http://hub.example/a',
      'https://other.example/',
    ]) {
      expect(hubHeaders(url, hub)).toEqual({})
    }
  })
})

describe('a hub', () => {
  const BYTES = new Uint8Array(100).fill(7)
  const listed = (...paths: string[]) =>
    new TextEncoder().encode(JSON.stringify(paths.map((path) => ({ type: 'file', path }))))
  let server: FileServer
  beforeEach(async () => {
    server = await serveFiles({
      'o/n/resolve/main/only.gguf': BYTES,
      'api/models/o/n/tree/main': listed('README.md', 'only.gguf'),
      'api/models/o/many/tree/main': listed('a.gguf', 'b.gguf'),
      'api/models/o/none/tree/main': listed('README.md'),
    })
  })
  afterEach(() => server.close())
  const open = (repo: string, token?: string) => {
    const hub = { baseUrl: server.address, token }
    return openAddress(hubUrl(parseHubAddress(`hf:${repo}`)!, hub), { hub, cache: 'none', firstWaitMs: 1 })
  }

  test('gives the only GGUF of a repository that has no safetensors', async () => {
    const [source] = await open('o/n')
    expect(source).toMatchObject({ name: 'only.gguf', size: 100 })
  })

  test.each([
    ['o/many', /has 2 GGUF files; name one of them: a\.gguf, b\.gguf/],
    ['o/none', /has neither config\.json nor a GGUF file/],
    ['o/gone', /config\.json does not exist/],
  ])('says what %s lacks', async (repo, says) => {
    await expect(open(repo)).rejects.toThrow(says)
  })

  test('opens what is private with a token, and never tells it', async () => {
    server.behaviour.token = 'secret'
    expect(await open('o/n:only.gguf', 'secret')).toMatchObject([{ size: 100 }])
    for (const token of [undefined, 'wrong-token']) {
      const error: HalfbyteError = await open('o/n:only.gguf', token).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'network', detail: { status: 401 } })
      expect(JSON.stringify(error.toWire()) + String(error.cause)).not.toContain('wrong-token')
    }
  })
})
