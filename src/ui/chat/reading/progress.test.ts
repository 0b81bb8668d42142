// In: reports of reading at given times. Out: the reports of long reading.
import { expect, test } from 'vitest'
import { whenLong } from './progress.ts'

test('progress is shown once reading has taken longer than a second', () => {
  let ms = 500
  const shown: number[] = []
  const onPrefill = whenLong(
    ({ tokens }) => shown.push(tokens),
    () => ms,
  )
  for (const at of [600, 1500, 1501, 4000]) {
    ms = at
    onPrefill({ tokens: at, total: 5000 })
  }
  expect(shown).toEqual([1501, 4000])
})
