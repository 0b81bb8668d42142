// Under Vitest, with the document that its environment provides.
import { expect, test, vi } from 'vitest'
import { failuresAreTold, sessionsStream, widgetAnswers } from './chat.check.js'

test('the widget answers with a fake engine', async () => {
  expect(await widgetAnswers(vi.spyOn)).toEqual({ before: 0, textContent: 'you' })
})

test('the widget reports a failed load', async () => {
  expect(await failuresAreTold(vi.spyOn)).toEqual({ isOwn: true, said: true })
})

test('a session streams words', async () => {
  expect(await sessionsStream()).toEqual(['one', ' two', ' three'])
})
