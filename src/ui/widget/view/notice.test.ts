// Notices. In: errors thrown by the library. Out: the displayed sentence.
import { expect, test } from 'vitest'
import { HalfbyteError } from '../../../core/base/errors.ts'
import { chooseBuild, detectFeatures } from '../../../core/runtime/features.ts'
import { ENGLISH } from '../../words/english.ts'
import { planOf } from '../chat-properties.ts'
import { explain } from './notice.ts'

const thrown = (act: () => unknown): unknown => {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

test('a browser without SIMD, a widget without a model and a server without the model have separate sentences', () => {
  const old = thrown(() => chooseBuild(detectFeatures({})))
  expect(explain(old, ENGLISH).text).toBe(ENGLISH.oldBrowser)
  const none = thrown(() => planOf({ model: undefined, loadOptions: {}, downloadBytes: undefined }))
  expect(explain(none, ENGLISH).text).toBe(ENGLISH.noModel)
  const missing = new HalfbyteError('network', 'no file', { status: 404 })
  expect(explain(missing, ENGLISH).text).toBe(ENGLISH.notFound)
})

test('other errors keep the sentence of their code', () => {
  for (const error of [
    new HalfbyteError('unsupported', 'an option'),
    new HalfbyteError('network', 'a fault', { status: 503 }),
  ])
    expect(explain(error, ENGLISH).text).toBe(ENGLISH[`error-${error.code}`])
})
