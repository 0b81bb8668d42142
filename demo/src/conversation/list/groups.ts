// Groups. In: conversations, newest first. Out: the pinned ones, then groups by date.

import { language, t } from '../../words/words.ts'
import type { Conversation } from '../store/conversations.ts'

export interface Group {
  readonly name: string
  readonly conversations: readonly Conversation[]
}

const DAY_MS = 864e5

/** Pinned conversations, then the others by date, in order. */
export function byDate(conversations: readonly Conversation[], now: number): readonly Group[] {
  const groups = new Map<string, Conversation[]>()
  const pinnedFirst = conversations.toSorted((a, b) => Number(!!b.isPinned) - Number(!!a.isPinned))
  for (const conversation of pinnedFirst) {
    const name = conversation.isPinned ? t('pinned') : dateName(conversation.updated, now)
    groups.set(name, [...(groups.get(name) ?? []), conversation])
  }
  return [...groups].map(([name, members]) => ({ name, conversations: members }))
}

function dateName(time: number, now: number): string {
  const days = daysBetween(time, now)
  if (days <= 0) return t('today')
  if (days === 1) return t('yesterday')
  if (days <= 7) return t('week')
  if (days <= 30) return t('month')
  return new Intl.DateTimeFormat(language(), { month: 'long', year: 'numeric' }).format(time)
}

/** Number of midnights between two times. Rounded, because a day may have 23 or 25 hours. */
function daysBetween(time: number, now: number): number {
  return Math.round((new Date(now).setHours(0, 0, 0, 0) - new Date(time).setHours(0, 0, 0, 0)) / DAY_MS)
}
