// Tests of SHA-256. In: published vectors and random bytes. Out: the same hash from both implementations.
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { digest, sha256 } from './sha256.ts'

test('the FIPS 180-4 vectors hash correctly', async () => {
  const text = (value: string) => new TextEncoder().encode(value)
  expect(await sha256(text(''))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  expect(await sha256(text('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
})

test('the fallback agrees with the platform for every length near a block boundary', () => {
  for (let length = 0; length < 200; length++) {
    const bytes = new Uint8Array(length).map((_, at) => at * 7 + length)
    expect(Buffer.from(digest(bytes)).toString('hex')).toBe(createHash('sha256').update(bytes).digest('hex'))
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
      expect(Buffer.from(digest(bytes)).toString('hex')).toBe(
        createHash('sha256').update(bytes).digest('hex'),
      )
    }),
  )
})
