// Times of the day. In: a question such as "how long until noon?" and the present. Out: a sentence, or none.
import { askedText, clockText, count } from './dates.ts'
import { type Form, firstAnswer } from './frame.ts'

const MINUTE = 60_000
const DAY_MINUTES = 1440

const TIME = String.raw`(\d{1,2}:\d{2} ?(?:[ap]\.?m\.?)?|\d{1,2} ?[ap]\.?m\.?|noon|midday|midnight)`
const SPAN = String.raw`(half an hour|(?:\d+(?:\.\d+)?|an?) ?(?:hours?|hrs?|h|minutes?|mins?)(?:(?: and|,)? ?\d+ ?(?:minutes?|mins?))?)`

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
  const [, amount, unit, more = '0'] = /^(\d+(?:\.\d+)?|an?) ?([hm])\w*(?:(?: and|,)? ?(\d+))?/.exec(span)!
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

function fromTo(from: string, to: string, unit: string | undefined): string | undefined {
  const [start, end] = [clockOf(from), clockOf(to)]
  if (start === undefined || end === undefined) return undefined
  const minutes = end.minutes - start.minutes
  // From 9:00 to 5:00 may end in the afternoon, and from 1:00 to 5:30 pm may begin in it.
  if (minutes <= 0 && (start.isOpen || end.isOpen)) return undefined
  if (start.isOpen && !end.isOpen && minutes > DAY_MINUTES / 2) return undefined
  return `${inUnit(minutes > 0 ? minutes : minutes + DAY_MINUTES, unit)} from ${asTime(start.minutes)} to ${asTime(end.minutes)}.`
}

const between: Reader = ([, unit, from, to]) => fromTo(from!, to!, unit)

const until: Reader = ([, unit, to], now) => {
  const end = clockOf(to!)
  if (end === undefined) return undefined
  const minutes = end.minutes - (60 * now.getHours() + now.getMinutes())
  if (minutes <= 0 && end.isOpen) return undefined
  return `${inUnit(minutes > 0 ? minutes : minutes + DAY_MINUTES, unit)} until ${asTime(end.minutes)}.`
}

/** A time and a span: "9:30 plus 45 minutes". */
const shifted = (time: string, span: string, sign: 1 | -1): string | undefined => {
  const [start, minutes] = [clockOf(time), minutesOf(span)]
  if (start === undefined || minutes === undefined) return undefined
  const whole = start.minutes + sign * minutes
  const day = whole < 0 ? ' on the day before' : whole >= DAY_MINUTES ? ' on the next day' : ''
  return whole < -DAY_MINUTES || whole >= 2 * DAY_MINUTES ? undefined : `It is ${asTime(whole)}${day}.`
}

const signOf = (word: string) => (/^(?:plus|\+|after|from|later)$/.test(word) ? 1 : -1)

const lasted: Reader = ([, from, to]) => fromTo(from!, to!, undefined)

const total: Reader = ([, one, sign, other]) => {
  const [first, second] = [minutesOf(one!), minutesOf(other!)]
  if (first === undefined || second === undefined) return undefined
  const minutes = /^(?:minus|-)$/.test(sign!) ? first - second : first + second
  return minutes < 0 ? undefined : `${asSpan(minutes)}.`
}

const SUBJECT = '(?:if )?(?:an? |the |my |our )?(?:i|we|he|she|it|[a-z]+)'
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
  [
    new RegExp(`^(?:what is |what time is )?${TIME} (plus|\\+|minus|-) ${SPAN}$`),
    ([, time, sign, span]) => shifted(time!, span!, signOf(sign!)),
  ],
  [
    new RegExp(`^(?:what(?: is the)? time is (?:it )?|what is )?${SPAN} (after|before|from) ${TIME}$`),
    ([, span, sign, time]) => shifted(time!, span!, signOf(sign!)),
  ],
  [
    new RegExp(
      `^${SUBJECT} (?:departs?|leaves?|starts?|begins?|takes off)(?: at)? ${TIME},? (?:and|which) (?:takes?|lasts?|runs?|is)(?: for)? ${SPAN}(?: long)?[.,;]? (?:when|what time)(?: does| is| will)? (?:it|the [a-z]+) (?:land|arrive|end|over|finish|be over)(?: over)?$`,
    ),
    ([, time, span]) => shifted(time!, span!, 1),
  ],
  [
    new RegExp(
      `^(?:a |an |the |my )?(?:[a-z]+ of )?${SPAN}(?: [a-z]+)? (?:starts?|begins?)(?: at)? ${TIME}[.,;]? (?:when|what time)(?: does| is| will)? (?:it|the [a-z]+) (?:end|over|finish|be over)$`,
    ),
    ([, span, time]) => shifted(time!, span!, 1),
  ],
  [
    new RegExp(
      `^${SUBJECT} (?:start|starts|begin|sleep|went to bed|go to bed|arrive|work|leave|fell asleep)(?: work)?(?: at| from)? ${TIME} (?:and|to|until) (?:(?:i |we )?(?:finish|wake up|woke up|wake|stop|end|leave|get up|return|come back)(?: work)?(?: at)? )?${TIME}[.,;]? (?:how (?:long|many hours)) (?:do|did|does|will|was|am|have) (?:i|we|it|he|she) [a-z]+$`,
    ),
    lasted,
  ],
  [new RegExp(`^(?:add )?${SPAN} (and|plus|\\+|minus|-) ${SPAN}$`), total],
  [
    /^(?:how long is |convert |what is )?(\d{1,6}) (?:minutes|mins?) in (?:hours and minutes|hours & minutes|h and min)$/,
    ([, minutes]) => `${minutes} minutes = ${asSpan(Number(minutes))}`,
  ],
]

/** A sentence that answers a question about times of the day; undefined for other questions. */
export function askedClock(question: string, now: Date): string | undefined {
  return firstAnswer(FORMS, [askedText(question)], now)
}
