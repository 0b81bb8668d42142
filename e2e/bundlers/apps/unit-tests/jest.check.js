// Under Jest, with its jsdom.
import { expect, jest, test } from '@jest/globals'
import { failuresAreTold, sessionsStream, widgetAnswers } from './chat.check.js'

test('the widget answers with a fake engine', async () => {
  expect(await widgetAnswers(jest.spyOn.bind(jest))).toEqual({ before: 0, textContent: 'you' })
})

test('the widget reports a failed load', async () => {
  expect(await failuresAreTold(jest.spyOn.bind(jest))).toEqual({ isOwn: true, said: true })
})

test('a session streams words', async () => {
  expect(await sessionsStream()).toEqual(['one', ' two', ' three'])
})
