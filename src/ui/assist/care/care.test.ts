// Answers to people in need. In: messages and regions. Out: the numbers and the language of the answers.
import { describe, expect, test } from 'vitest'
import { answerTo, CARE_LANGUAGES } from './answers.ts'
import { careAnswer } from './care.ts'
import { numbersOf, regionOf } from './numbers.ts'

test.each([
  ['US', '911', '988'],
  ['GB', '999', '116 123'],
  ['AU', '000', '13 11 14'],
  ['DE', '112', undefined],
  ['BR', 'your local emergency number', undefined],
])('in %s, the numbers are %s and %s', (region, emergency, crisis) => {
  const { text } = careAnswer('I want to kill myself', region)!
  expect(text).toContain(emergency)
  expect(text).toContain('https://findahelpline.com')
  if (crisis !== undefined) expect(text).toContain(crisis)
})

test('in Japan, 119 is given only for an ambulance', () => {
  expect(numbersOf('JP', true).emergency).toBe('119')
  expect(numbersOf('JP', false).emergency).toBeUndefined()
})

describe('a region', () => {
  test.each([
    ['en-US', 'America/New_York', 'US'],
    ['en-US', 'Europe/Berlin', 'EU'],
    ['de-AT', 'Europe/Vienna', 'AT'],
    ['en-GB', 'Europe/London', 'GB'],
    ['en-US', 'Asia/Kolkata', undefined],
    ['en', 'Australia/Sydney', 'AU'],
    ['fr', 'America/Toronto', undefined],
    ['not a tag', 'UTC', undefined],
  ])('of %s in %s is %s', (tag, zone, region) => {
    expect(regionOf(tag, zone)).toBe(region)
  })
})

test('each language has all answers, with no placeholder left', () => {
  expect(CARE_LANGUAGES.length).toBeGreaterThanOrEqual(12)
  for (const language of CARE_LANGUAGES)
    for (const need of ['self-harm', 'medical', 'violence'] as const) {
      const known = answerTo(need, language, { emergency: '112', crisis: '988' })
      expect(known).toContain('112')
      expect(known).not.toMatch(/[{}]/)
      expect(answerTo(need, language, {})).not.toMatch(/[{}]|112/)
    }
})

test('an ordinary message gets no such answer', () => {
  expect(careAnswer('Tell me a story about a dragon.')).toBeUndefined()
})
