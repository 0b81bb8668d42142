// In: conversations from several days. Out: whether they are under the right date.
import { expect, test } from 'vitest'
import { newConversation } from '../store/conversations.ts'
import { byDate } from './groups.ts'

const NOW = new Date(2026, 10, 23, 0, 30).getTime()
const on = (title: string, ...date: [number, number, number, number]) => ({
  ...newConversation(),
  title,
  updated: new Date(...date).getTime(),
})

test('today and yesterday are separated by midnight, not by 24 hours', () => {
  const groups = byDate([on('a', 2026, 10, 23, 0), on('b', 2026, 10, 22, 23), on('c', 2026, 10, 22, 0)], NOW)
  expect(groups.map(({ name, conversations }) => [name, conversations.length])).toEqual([
    ['Today', 1],
    ['Yesterday', 2],
  ])
})

test('older conversations are grouped under 7 days, 30 days, and then a month with its year', () => {
  const days = [
    on('a', 2026, 10, 16, 1),
    on('b', 2026, 10, 15, 1),
    on('c', 2026, 9, 1, 1),
    on('d', 2025, 9, 1, 1),
  ]
  expect(byDate(days, NOW).map(({ name }) => name)).toEqual([
    'Previous 7 days',
    'Previous 30 days',
    'October 2026',
    'October 2025',
  ])
})

test('a clock that was set back leaves a conversation under today', () => {
  expect(byDate([on('a', 2026, 10, 25, 1)], NOW)[0]?.name).toBe('Today')
})

test('pinned conversations come first, under their own heading', () => {
  const old = { ...on('old', 2025, 9, 1, 1), isPinned: true as const }
  const groups = byDate([on('a', 2026, 10, 23, 0), on('b', 2026, 10, 22, 23), old], NOW)
  expect(groups.map(({ name, conversations }) => [name, conversations.map(({ title }) => title)])).toEqual([
    ['Pinned', ['old']],
    ['Today', ['a']],
    ['Yesterday', ['b']],
  ])
})
