// Sources. In: a caller's model argument, on a page. Out: its address, or what is wrong with it.
import { expect, test } from 'vitest'
import { givenPlace } from '../../../core/formats/names/named-files.ts'
import { fileName, filesOf } from '../../../core/store/address.ts'
import { loadRequest, resolveSource } from './load-request.ts'

const PAGE = 'https://example.org/app/'

test.each([
  ['model.gguf', 'https://example.org/app/model.gguf'],
  ['/models/model.gguf', 'https://example.org/models/model.gguf'],
  ['http://localhost/model.gguf', 'http://localhost/model.gguf'],
  ['blob:https://example.org/1', 'blob:https://example.org/1'],
  [new URL('https://example.net/m.gguf'), 'https://example.net/m.gguf'],
])('%s is an address', (source, address) => {
  expect(resolveSource(source, PAGE)).toBe(address)
})

test.each(['ftp://example.org/m.gguf', 'file:///home/m.gguf', 'wss://example.org/m'])(
  '%s is rejected at once',
  (source) => {
    const kind = source.slice(0, source.indexOf(':') + 1)
    const message = `"${source}" begins with ${kind}, which pages cannot fetch; give an address with https: or a File`
    const refusal = expect.objectContaining({ code: 'unsupported', message })
    expect(() => resolveSource(source, PAGE)).toThrow(refusal)
    expect(() => resolveSource(new URL(source), PAGE)).toThrow(refusal)
  },
)

test('a bundler’s URL object, whose href is only a path, is resolved like a string', () => {
  const bundled = Object.defineProperty(new URL('http://n/'), 'href', { value: '/_next/static/m.hbm' })
  expect(resolveSource(bundled, PAGE)).toBe('https://example.org/_next/static/m.hbm')
})

test('a page that was opened from disk may fetch from disk', () => {
  expect(resolveSource('m.gguf', 'file:///home/app.html')).toBe('file:///home/m.gguf')
})

test('a Blob without a name gets one for errors', async () => {
  const [file] = resolveSource(new Blob(['GGUF']), PAGE) as readonly File[]
  expect(file?.name).toBe('model')
  expect(await file?.text()).toBe('GGUF')
  const named = new File(['GGUF'], 'tiny.gguf')
  expect(resolveSource([named], PAGE)).toEqual([named])
})

test.each([
  ['an ArrayBuffer', new TextEncoder().encode('GGUF').buffer],
  ['a Uint8Array', new TextEncoder().encode('GGUF')],
  ['a part of an ArrayBuffer', new TextEncoder().encode('..GGUF..').subarray(2, 6)],
])('%s is a file', async (_, bytes) => {
  const [file] = resolveSource(bytes, PAGE) as readonly File[]
  expect([file?.name, await file?.text()]).toEqual(['model', 'GGUF'])
})

test.each([
  ['a Response', new Response('GGUF'), 'await response.blob()'],
  ['a ReadableStream', new Blob(['GGUF']).stream(), 'await new Response(stream).blob()'],
  ['{}', {}, 'one of these'],
  ['[]', [], 'one of these'],
])('%s is rejected with what to pass instead', (what, source, next) => {
  const message = `the model is ${what} but must be an address, a File, Files, bytes or { repo }; pass ${next}`
  const refusal = expect.objectContaining({ code: 'unsupported', message })
  expect(() => resolveSource(source as never, PAGE)).toThrow(refusal)
})

test('data whose base64 ends with a slash is not taken for a folder', async () => {
  const address = resolveSource('data:;base64,////', PAGE) as string
  expect(filesOf(givenPlace(address))).toHaveLength(1)
  expect(await (await fetch(address)).bytes()).toEqual(new Uint8Array([255, 255, 255]))
  expect(fileName(address)).toBe('model')
})

test('data at an address valid only for this visit is not stored', () => {
  const cacheOf = (source: string) => loadRequest(source, {}).cache
  expect(cacheOf('blob:https://example.org/1')).toBe('none')
  expect(cacheOf('data:application/octet-stream;base64,R0dVRg==')).toBe('none')
  expect(cacheOf('https://example.org/m.gguf')).toBe('opfs')
})
