// HalfbyteError. In: errors of this copy of the library and of another. Out: both are recognised.
import { expect, test, vi } from 'vitest'
import { HalfbyteError, isHalfbyteError } from './core/base/errors.ts'

/** The class of a second copy, as `dist/cdn` and each bundle have their own. */
async function anotherCopy(): Promise<typeof HalfbyteError> {
  vi.resetModules()
  const { HalfbyteError: Copy } = await import('./core/base/errors.ts')
  expect(Copy).not.toBe(HalfbyteError)
  return Copy
}

test('an error of another copy is an instance of HalfbyteError', async () => {
  const Copy = await anotherCopy()
  for (const error of [new Copy('format', 'x'), new HalfbyteError('format', 'x')]) {
    expect(error instanceof HalfbyteError && error instanceof Copy && isHalfbyteError(error)).toBe(true)
    expect(error).toBeInstanceOf(Error)
  }
  for (const other of [new Error('x'), { name: 'HalfbyteError', code: 'format' }, 'format', undefined, null])
    expect(other instanceof HalfbyteError).toBe(false)
})

test("a subclass recognises its own errors, and not every HalfbyteError's", () => {
  class Special extends HalfbyteError {}
  expect(new Special('format', 'x') instanceof Special).toBe(true)
  expect(new Special('format', 'x') instanceof HalfbyteError).toBe(true)
  expect(new HalfbyteError('format', 'x') instanceof Special).toBe(false)
})
