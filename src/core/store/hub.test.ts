// Tests hub addresses. In: names as users write them, a server that acts as a hub. Out: URLs, private files
// opened with a token, and no token sent elsewhere.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FileServer, serveFiles } from '../../../test/helpers/file-server.ts'
import type { HalfbyteError } from '../base/errors.ts'
import { givenPlace } from '../formats/names/named-files.ts'
import { hubHeaders, hubUrl, parseHubAddress } from './hub.ts'
import { openAddress } from './open-address.ts'

describe('addresses', () => {
  test.each([
    ['hf:owner/name', { repo: 'owner/name' }],
    ['hf:owner/na.me-2_x:sub/file.gguf', { repo: 'owner/na.me-2_x', file: 'sub/file.gguf' }],
    ['hf:owner/name@v1', { repo: 'owner/name', revision: 'v1' }],
    ['hf:owner/name:a.gguf@refs/pr/1', { repo: 'owner/name', file: 'a.gguf', revision: 'refs/pr/1' }],
    ['hf:owner/name.gguf', { repo: 'owner/name.gguf' }],
    ['Owner/Name-1.5B', { repo: 'Owner/Name-1.5B' }],
    ['owner/name:sub/file.gguf', { repo: 'owner/name', file: 'sub/file.gguf' }],
    ['owner/name:pack-00001-of-00002.hbm', { repo: 'owner/name', file: 'pack-00001-of-00002.hbm' }],
    ['owner/name@v1.0', { repo: 'owner/name', revision: 'v1.0' }],
    ['owner/name:a.gguf@refs/pr/1', { repo: 'owner/name', file: 'a.gguf', revision: 'refs/pr/1' }],
  ])('%s', (text, parts) => {
    expect(parseHubAddress(text)).toEqual({ file: undefined, revision: undefined, ...parts })
  })

  test.each([
    ['https://huggingface.co/owner/name', ''],
    ['https://huggingface.co/owner/name/', ''],
    ['https://huggingface.co/owner/name?library=transformers', ''],
    ['https://huggingface.co/owner/name#files', ''],
    ['http://www.huggingface.co/owner/name', ''],
    ['huggingface.co/owner/name', ''],
    ['hf.co/owner/name', ''],
    ['https://huggingface.co/owner/name/tree/main', ''],
    ['https://huggingface.co/owner/name/blob/main/x.gguf', 'x.gguf'],
    ['https://huggingface.co/owner/name/resolve/main/x.gguf', 'x.gguf'],
    ['https://huggingface.co/owner/name/resolve/main/x.gguf?download=true', 'x.gguf'],
    ['https://huggingface.co/owner/name/raw/main/sub/x%20y.gguf', 'sub/x%20y.gguf'],
    ['https://huggingface.co/owner/name/resolve/main/', ''],
  ])('%s is an address that people copy', (text, file) => {
    const address = parseHubAddress(text)
    expect(address && hubUrl(address)).toBe(`https://huggingface.co/owner/name/resolve/main/${file}`)
  })

  test('the address of a page for another revision keeps the revision', () => {
    const address = parseHubAddress('https://huggingface.co/owner/name/blob/refs%2Fpr%2F1/x.gguf')
    expect(address).toEqual({ repo: 'owner/name', file: 'x.gguf', revision: 'refs/pr/1' })
  })

  test.each([
    'https://huggingface.co/owner/name/resolve/main/../../../../other/name/resolve/main/x.gguf',
    'https://huggingface.co/owner/name/blob/main/%2e%2e/x.gguf',
    'https://huggingface.co/owner/name/blob/main/a//x.gguf',
    'https://huggingface.co/owner/name/blob/%E0%A4%A/x.gguf',
  ])('%s leads out of its repository or is invalid', (text) => {
    expect(() => {
      const address = parseHubAddress(text)
      return address && hubUrl(address)
    }).toThrow(/is not a hub address/)
  })

  test.each([
    'https://huggingface.co/owner',
    'https://huggingface.co/datasets/owner/name',
    'https://huggingface.co/owner/name/tree/main/onnx',
    'https://huggingface.co/owner/name/resolve/main/onnx/',
    'https://huggingface.co/api/models/name',
    'https://huggingface.co.example/owner/name',
    'https://a.example/huggingface.co/owner/name',
  ])('%s is not a page of a model', (text) => expect(parseHubAddress(text)).toBeUndefined())

  test.each([
    'https://a.example/owner/name',
    'models/tiny.gguf',
    'models/TINY.GGUF',
    'models/tiny@2.hbm',
    'models/model.safetensors',
    './owner/name',
    '../owner/name',
    '/owner/name',
    'owner/name/',
    'owner/name/more',
    'owner/name?query',
    'owner',
    'owner:8080/name',
    '.owner/name',
    'owner/.name',
    'owner//name',
    'blob:null/0',
    'data:,owner/name',
    '',
  ])('%s is not a hub address', (text) => expect(parseHubAddress(text)).toBeUndefined())

  test.each([
    'hf:',
    'hf:owner',
    'hf:owner/name/more',
    'hf:owner/name:',
    'hf:../x',
    'hf:../../x',
    'hf:owner/name@',
  ])('%s is rejected', (text) =>
    expect(() => parseHubAddress(text)).toThrow(/is not a hub address; write owner\/name,/),
  )

  test.each([
    'owner/name:../../../other/file.gguf',
    'owner/name:sub/../file.gguf',
    'owner/name:./file.gguf',
    'owner/name:/file.gguf',
    'owner/name:sub//file.gguf',
    'owner/name:sub/',
    'owner/name:%2e%2E/file.gguf',
    'owner/name:sub%2F..%2Ffile.gguf',
    'owner/name:..\\file.gguf',
    'owner/name:file.gguf@..',
    'owner/name@.',
    'owner/name@%2e%2e',
    'hf:owner/name@refs/../x',
  ])('%s would lead out of its repository, and is rejected', (text) =>
    expect(() => hubUrl(parseHubAddress(text)!)).toThrow(/is not a hub address/),
  )

  test.each([
    { repo: '../..' },
    { repo: 'a/..' },
    { repo: 'o/n', file: '../f' },
    { repo: 'o/n', revision: '..' },
  ])('an address in parts is rejected too: %j', (address) =>
    expect(() => hubUrl(address)).toThrow(/is not a hub address/),
  )

  test('become URLs that names cannot use to leave their repository', () => {
    const base = { baseUrl: 'https://hub.example/mirror' }
    expect(hubUrl({ repo: 'o/n' })).toBe('https://huggingface.co/o/n/resolve/main/')
    expect(hubUrl({ repo: 'o/n', file: 'a b/c?.gguf', revision: 'refs/pr/1' }, base)).toBe(
      'https://hub.example/mirror/o/n/resolve/refs%2Fpr%2F1/a%20b/c%3F.gguf',
    )
  })

  test('a token goes only to the hub', () => {
    const hub = { baseUrl: 'https://hub.example', token: 'secret' }
    expect(hubHeaders('https://hub.example/o/n/resolve/main/a', hub)).toEqual({
      Authorization: 'Bearer secret',
    })
    const mirror = { baseUrl: 'https://hub.example/mirror', token: 'secret' }
    for (const url of ['https://hub.example/mirror/../a', 'https://hub.example/mirror/%2e%2e/a']) {
      expect(hubHeaders(url, mirror)).toEqual({})
    }
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
      'api/models/o/n/tree/main': listed('README.md', 'mmproj-only-f16.gguf', 'only.gguf'),
      'api/models/o/many/tree/main': listed('a.gguf', 'b.gguf', 'mmproj.gguf'),
      'api/models/o/none/tree/main': listed('README.md'),
    })
  })
  afterEach(() => server.close())
  const open = (repo: string, token?: string) => {
    const hub = { baseUrl: server.address, token }
    return openAddress(givenPlace(hubUrl(parseHubAddress(repo)!, hub)), {
      hub,
      cache: 'none',
      firstWaitMs: 1,
    })
  }

  test('opens the only GGUF of a repository without safetensors, with its tower', async () => {
    const [source] = await open('o/n')
    expect(source).toMatchObject({ name: 'only.gguf', size: 100 })
  })

  test('is asked again if its listing is temporarily unavailable', async () => {
    server.behaviour = { only: 'api/models/o/n/tree/main', status: 503, refusals: 2 }
    expect(await open('o/n')).toMatchObject([{ size: 100 }])
  })

  test.each([
    ['o/many', /has 2 GGUF files; name one of them: a\.gguf, b\.gguf/],
    ['o/none', /has neither a config\.json nor a GGUF file/],
    ['o/gone', /config\.json does not exist/],
  ])('says what %s lacks', async (repo, says) => {
    await expect(open(repo)).rejects.toThrow(says)
  })

  test('explains how the name was interpreted and how to write a path, if there is no such repository', async () => {
    const says = (repo: string) =>
      new RegExp(`${repo} was interpreted as a repository on ${server.address}; write \\./${repo} for`)
    for (const repo of ['o/many', 'o/none', 'o/gone']) await expect(open(repo)).rejects.toThrow(says(repo))
    await expect(open('o/n:gone.gguf')).rejects.toThrow(says('o/n'))
    server.behaviour.status = 401
    await expect(open('o/n')).rejects.toThrow(says('o/n'))
    await expect(
      openAddress(givenPlace(`${server.address}elsewhere.gguf`), { cache: 'none' }),
    ).rejects.not.toThrow(/repository/)
  })

  test('opens private repositories with a token, and never reveals it', async () => {
    server.behaviour.token = 'secret'
    expect(await open('o/n:only.gguf', 'secret')).toMatchObject([{ size: 100 }])
    for (const token of [undefined, 'wrong-token']) {
      const error: HalfbyteError = await open('o/n:only.gguf', token).catch((thrown) => thrown)
      expect(error).toMatchObject({ code: 'network', detail: { status: 401 } })
      expect(JSON.stringify(error.toWire()) + String(error.cause)).not.toContain('wrong-token')
    }
  })
})
