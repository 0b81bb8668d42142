// Sources. In: what a caller says a model is, on a page. Out: its address, or what is wrong with it.
import { expect, test } from 'vitest'
import { resolveSource } from './source.ts'

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
  '%s is refused at once',
  (source) => {
    const kind = source.slice(0, source.indexOf(':') + 1)
    const message = `"${source}" begins with ${kind}, which pages cannot fetch; give an address with https: or a File`
    const refusal = expect.objectContaining({ code: 'unsupported', message })
    expect(() => resolveSource(source, PAGE)).toThrow(refusal)
    expect(() => resolveSource(new URL(source), PAGE)).toThrow(refusal)
  },
)

test('a page that was opened from the disk may fetch from there', () => {
  expect(resolveSource('m.gguf', 'file:///home/app.html')).toBe('file:///home/m.gguf')
})
