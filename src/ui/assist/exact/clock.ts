// Times of the day. In: a question such as "how long until noon?" and the present. Out: a sentence, or none.
import { askedText, clockText, count } from './dates.ts'
import { type Form, firstAnswer } from './frame.ts'

const MINUTE = 60_000
const DAY_MINUTES = 1440

const TIME = String.raw`(\d{1,2}:\d{2} ?(?:[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon|midday|midnight)`
const SPAN = String.raw`(half an hour|(?:\d+(?:\.\d+)?|an?) (?:hours?|hrs?|minutes?|mins?)(?:(?: and)? \d+ (?:minutes?|mins?))?)`

interface Clock {
  /** Minutes since midnight. */
  readonly minutes: number
  /** Whether it may also be twelve hours later: 8:00 without "am". */
  readonly isOpen: boolean
}

function clockOf(text: string): Clock | undefined {
  if (text === 'midnight') return { minutes: 0, isOpen: false }
  if (text === 'noon' || text === 'midday') return { minutes: 720, isOpen: false }
  const [, hours, minutes = '0', half] = /^(\d{1,2})(?::(\d{2}))? ?([ap])?/.exec(text)!
  const [hour, minute] = [Number(hours), Number(minutes)]
  if (minute > 59 || hour > (half === undefined ? 23 : 12) || (half !== undefined && hour === 0))
    return undefined
  if (half === undefined)
    return { minutes: 60 * hour + minute, isOpen: hour > 0 && hour <= 12 && !hours!.startsWith('0') }
  return { minutes: 60 * ((hour % 12) + (half === 'p' ? 12 : 0)) + minute, isOpen: false }
}

/** Minutes of a span such as "an hour and 20 minutes"; undefined if they are not whole. */
function minutesOf(span: string): number | undefined {
  if (span === 'half an hour') return 30
  const [, amount, unit, more = '0'] = /^(\S+) ([hm])\w*(?:(?: and)? (\d+))?/.exec(span)!
  const minutes = (/^an?$/.test(amount!) ? 1 : Number(amount)) * (unit === 'h' ? 60 : 1) + Number(more)
  return Number.isInteger(minutes) && minutes <= 100_000 ? minutes : undefined
}

const asSpan = (minutes: number): string => {
  const [hours, rest] = [Math.floor(minutes / 60), minutes % 60]
  if (hours === 0) return count(rest, 'minute')
  return rest === 0 ? count(hours, 'hour') : `${count(hours, 'hour')} ${count(rest, 'minute')}`
}
const inUnit = (minutes: number, unit: string | undefined): string =>
  unit?.startsWith('m') ? count(minutes, 'minute') : asSpan(minutes)

const asTime = (minutes: number): string => {
  const ofDay = ((minutes % DAY_MINUTES) + DAY_MINUTES) % DAY_MINUTES
  return [Math.floor(ofDay / 60), ofDay % 60].map((part) => String(part).padStart(2, '0')).join(':')
}

const weekdayOf = (at: Date): string => at.toLocaleDateString('en-GB', { weekday: 'long' })

type Reader = Form<[Date]>[1]

const moved =
  (sign: 1 | -1): Reader =>
  ([, span], now) => {
    const minutes = minutesOf(span!)
    if (minutes === undefined) return undefined
    const at = new Date(now.getTime() + sign * minutes * MINUTE)
    const day = weekdayOf(at) === weekdayOf(now) && minutes < DAY_MINUTES ? '' : ` (${weekdayOf(at)})`
    return `It ${sign > 0 ? 'will be' : 'was'} ${clockText(at)}${day}.`
  }

const between: Reader = ([, unit, from, to]) => {
  const [start, end] = [clockOf(from!), clockOf(to!)]
  if (start === undefined || end === undefined) return undefined
  const minutes = end.minutes - start.minutes
  // From 9:00 to 5:00 may end in the afternoon, and from 1:00 to 5:30 pm may begin in it.
  if (minutes <= 0 && (start.isOpen || end.isOpen)) return undefined
  if (start.isOpen && !end.isOpen && minutes > DAY_MINUTES / 2) return undefined
  return `${inUnit(minutes > 0 ? minutes : minutes + DAY_MINUTES, unit)} from ${asTime(start.minutes)} to ${asTime(end.minutes)}.`
}

const until: Reader = ([, unit, to], now) => {
  const end = clockOf(to!)
  if (end === undefined) return undefined
  const minutes = end.minutes - (60 * now.getHours() + now.getMinutes())
  if (minutes <= 0 && end.isOpen) return undefined
  return `${inUnit(minutes > 0 ? minutes : minutes + DAY_MINUTES, unit)} until ${asTime(end.minutes)}.`
}

const UNIT = '(?:how many (hours|minutes)|how long)'
const FORMS: readonly Form<[Date]>[] = [
  [new RegExp(`^what(?: is the)? time (?:will it be |is it |it is |will it be now )?in ${SPAN}$`), moved(1)],
  [new RegExp(`^what(?: is the)? time (?:will it be |is it )?${SPAN} from now$`), moved(1)],
  [new RegExp(`^what(?: is the)? time was it ${SPAN} ago$`), moved(-1)],
  [
    new RegExp(
      `^${UNIT}(?: is it| are there| are| is)? (?:from|between) ${TIME} (?:to|and|until|till) ${TIME}$`,
    ),
    between,
  ],
  [new RegExp(`^${UNIT}(?: is it| are left| are there| left)? (?:until|till|to|before) ${TIME}$`), until],
]

/** A sentence that answers a question about times of the day; undefined for other questions. */
export function askedClock(question: string, now: Date): string | undefined {
  return firstAnswer(FORMS, [askedText(question)], now)
}
