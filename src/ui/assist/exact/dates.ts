// Dates and times. In: a question about the calendar or the clock, and the current time. Out: a sentence, or
// none.
import { bareQuestion, type Form, firstAnswer } from './frame.ts'
import { inFigures } from './numbers.ts'

const DAY = 86_400_000
const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
)
const MONTH = `(${MONTHS.map((name) => `${name.slice(0, 3)}(?:${name.slice(3)})?`).join('|')})\\.?`
const WEEKDAYS = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ')

/** Holidays with a fixed date, as month (from 1) and day. */
const FEASTS: ReadonlyMap<string, readonly [number, number]> = new Map([
  ['christmas', [12, 25]],
  ['christmas day', [12, 25]],
  ['christmas eve', [12, 24]],
  ["new year's eve", [12, 31]],
  ["new year's day", [1, 1]],
  ["new year's", [1, 1]],
  ['new year', [1, 1]],
  ['halloween', [10, 31]],
  ["valentine's day", [2, 14]],
])

/** A calendar day as its midnight in UTC, where clock changes do not shift it. */
type Day = number

const dayOf = (year: number, month: number, day: number): Day | undefined => {
  const at = new Date(0)
  at.setUTCFullYear(year, month - 1, day)
  const isReal = at.getUTCMonth() === month - 1 && at.getUTCDate() === day
  return isReal && year >= 1 && year <= 9999 ? at.getTime() : undefined
}
const todayOf = (now: Date): Day => dayOf(now.getFullYear(), now.getMonth() + 1, now.getDate())!
const yearOf = (day: Day): number => new Date(day).getUTCFullYear()

const dayText = (day: Day): string =>
  `${new Date(day).toLocaleDateString('en-GB', { weekday: 'long', timeZone: 'UTC' })}, ${new Date(
    day,
  ).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })}`

/** The time of a day, such as `07:20`. */
export const clockText = (now: Date, timeZone?: string): string =>
  now.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23', timeZone })

export const count = (number: number, unit: string): string => `${number} ${unit}${number === 1 ? '' : 's'}`
const monthOf = (name: string): number => MONTHS.findIndex((month) => month.startsWith(name.slice(0, 3))) + 1

const DATE_FORMS: readonly (readonly [
  RegExp,
  (found: RegExpExecArray) => readonly [string | undefined, number, string],
])[] = [
  [
    new RegExp(`^(?:the )?(\\d{1,2})(?:st|nd|rd|th)?(?: of)? ${MONTH},?(?: (\\d{4}))?$`),
    ([, day, month, year]) => [year, monthOf(month!), day!],
  ],
  [
    new RegExp(`^${MONTH} (?:the )?(\\d{1,2})(?:st|nd|rd|th)?,?(?: (\\d{4}))?$`),
    ([, month, day, year]) => [year, monthOf(month!), day!],
  ],
  [/^(\d{4})-(\d{2})-(\d{2})$/, ([, year, month, day]) => [year, Number(month), day!]],
]

interface Named {
  readonly day: Day
  /** Whether the text names the year; otherwise it is the current one. */
  readonly hasYear: boolean
}

/**
 * The day a text names. Purely numeric dates such as 3/4/2024 are not read: they mean different days in
 * different countries.
 */
function namedDay(text: string, today: Day): Named | undefined {
  const said = text.trim()
  const relative = new Map([
    ['today', 0],
    ['now', 0],
    ['tomorrow', 1],
    ['yesterday', -1],
    ['the day after tomorrow', 2],
    ['the day before yesterday', -2],
  ]).get(said)
  if (relative !== undefined) return { day: today + relative * DAY, hasYear: true }
  const feast = FEASTS.get(said.replace(/^the /, ''))
  if (feast !== undefined) {
    const day = dayOf(yearOf(today), ...feast)
    return day === undefined ? undefined : { day, hasYear: false }
  }
  for (const [form, read] of DATE_FORMS) {
    const found = form.exec(said)
    if (found === null) continue
    const [year, month, date] = read(found)
    const day = dayOf(Number(year ?? yearOf(today)), month, Number(date))
    if (day !== undefined) return { day, hasYear: year !== undefined }
  }
  const weekday = WEEKDAYS.indexOf(said.replace(/^next |^this /, ''))
  // To some people "next Friday" is the coming one, to others the one after it.
  if (weekday < 0 || said.startsWith('next ')) return undefined
  const ahead = (weekday - new Date(today).getUTCDay() + 7) % 7 || 7
  return { day: today + ahead * DAY, hasYear: true }
}

/** Next year's day if no year is named and this year's has passed. */
function comingDay(text: string, today: Day): Day | undefined {
  const named = namedDay(text, today)
  if (named === undefined) return undefined
  if (named.hasYear || named.day >= today) return named.day
  const at = new Date(named.day)
  return dayOf(at.getUTCFullYear() + 1, at.getUTCMonth() + 1, at.getUTCDate())
}

const inUnit = (days: number, unit: string): string => {
  if (unit.startsWith('day')) return count(days, 'day')
  const weeks = Math.floor(days / 7)
  return days % 7 === 0 ? count(weeks, 'week') : `${count(weeks, 'week')} and ${count(days % 7, 'day')}`
}

type Reader = Form<[today: Day, now: Date]>[1]

const untilDay: Reader = ([, unit, text], today) => {
  const day = comingDay(text!, today)
  if (day === undefined || day < today) return undefined
  return `${inUnit((day - today) / DAY, unit!)} until ${dayText(day)}.`
}

const sinceDay: Reader = ([, unit, text], today) => {
  const named = namedDay(text!, today)
  if (named === undefined || named.day > today) return undefined
  return `${inUnit((today - named.day) / DAY, unit!)} since ${dayText(named.day)}.`
}

const between: Reader = ([, unit, one, other], today) => span(one!, other!, today, unit!)

function span(one: string, other: string, today: Day, unit: string): string | undefined {
  const [first, second] = [namedDay(one, today), namedDay(other, today)]
  if (first === undefined || second === undefined) return undefined
  const days = Math.abs(second.day - first.day) / DAY
  return `${inUnit(days, unit)} from ${dayText(Math.min(first.day, second.day))}, to ${dayText(Math.max(first.day, second.day))}.`
}

/**
 * The days between two dates such as `2026-12-24`, `3 March 1987` or `today`, as a sentence; undefined if one
 * of them isn't a date.
 */
export const daysBetween = (one: string, other: string, now: Date): string | undefined =>
  span(one.toLowerCase(), other.toLowerCase(), todayOf(now), 'days')

/** The date and the time, as a sentence. */
export const presentText = (now: Date): string => `${todayText(todayOf(now))} ${timeText(now)}`
const todayText = (today: Day): string => `It is ${dayText(today)}.`
const timeText = (now: Date): string => `It is ${clockText(now)}.`

/**
 * The day that is `amount` days, weeks, months or years after another. If its month is too short, the last
 * day of that month.
 */
function moved(from: Day, amount: number, unit: string): Day | undefined {
  if (amount > 100_000) return undefined
  if (unit.startsWith('day')) return from + amount * DAY
  if (unit.startsWith('week')) return from + amount * 7 * DAY
  const at = new Date(from)
  const months =
    12 * at.getUTCFullYear() + at.getUTCMonth() + (unit.startsWith('month') ? amount : 12 * amount)
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1]
  for (let day = at.getUTCDate(); day > 27; day--) {
    const found = dayOf(year, month, day)
    if (found !== undefined) return found
  }
  return dayOf(year, month, at.getUTCDate())
}

const later: Reader = ([, amount, unit, direction, from], today) => {
  const start = from === undefined ? today : namedDay(from, today)?.day
  const sign = /^(?:ago|before)/.test(direction ?? '') ? -1 : 1
  const day =
    start === undefined ? undefined : moved(start, sign * (/^an?$/.test(amount!) ? 1 : Number(amount)), unit!)
  return day === undefined ? undefined : `It ${day < today ? 'was' : 'is'} ${dayText(day)}.`
}

const weekdayOf: Reader = ([, text], today) => {
  const named = namedDay(text!, today)
  if (named === undefined) return undefined
  return `${dayText(named.day)}.`
}

const age: Reader = ([, text], today) => ageAt(text!, today, today)

function ageAt(text: string, at: Day, today: Day): string | undefined {
  if (/^\d{4}$/.test(text)) {
    const most = yearOf(at) - Number(text)
    if (most < 1 || most > 130) return undefined
    return `${most} if the birthday was already this year, otherwise ${most - 1}.`
  }
  const born = namedDay(text, today)
  if (born === undefined || !born.hasYear || born.day > at) return undefined
  const [then, day] = [new Date(born.day), new Date(at)]
  const isBefore =
    day.getUTCMonth() < then.getUTCMonth() ||
    (day.getUTCMonth() === then.getUTCMonth() && day.getUTCDate() < then.getUTCDate())
  return `${yearOf(at) - yearOf(born.day) - (isBefore ? 1 : 0)} years.`
}

const isLeap = (year: number): boolean => dayOf(year, 2, 29) !== undefined

const yearLength: Reader = ([, unit]) =>
  ({
    days: '365 days, or 366 in a leap year.',
    weeks: '52 weeks and 1 day, or 2 days in a leap year.',
    months: '12 months.',
  })[unit!]

const daysIn: Reader = ([, name, year], today) => {
  const month = monthOf(name!)
  const of = Number(year ?? yearOf(today))
  const days = [31, 30, 29, 28].find((each) => dayOf(of, month, each) !== undefined)!
  const isOpen = month === 2 && year === undefined
  return isOpen ? '28 days, or 29 in a leap year.' : count(days, 'day').concat('.')
}

/** The time zone of a city, such as `new york`, or of a country with only one zone; or a zone by its name. */
function zoneOf(place: string): string | undefined {
  const named = Intl.supportedValuesOf('timeZone').find((zone) => zone.toLowerCase() === place)
  if (named !== undefined) return named
  const plain = place.normalize('NFD').replaceAll(/[\u0300-\u036f]/g, '')
  const name = plain.replace(/^the /, '').replaceAll(' ', '_')
  const country = ZONES.get(plain.replace(/^the /, ''))
  if (country !== undefined) return country
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone.toLowerCase().endsWith(`/${name}`))
  return zones.length === 1 ? zones[0] : undefined
}
const ZONES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    utc: 'UTC',
    gmt: 'UTC',
    japan: 'Asia/Tokyo',
    'south korea': 'Asia/Seoul',
    china: 'Asia/Shanghai',
    beijing: 'Asia/Shanghai',
    india: 'Asia/Kolkata',
    delhi: 'Asia/Kolkata',
    'new delhi': 'Asia/Kolkata',
    mumbai: 'Asia/Kolkata',
    israel: 'Asia/Jerusalem',
    'tel aviv': 'Asia/Jerusalem',
    turkey: 'Europe/Istanbul',
    germany: 'Europe/Berlin',
    munich: 'Europe/Berlin',
    hamburg: 'Europe/Berlin',
    france: 'Europe/Paris',
    italy: 'Europe/Rome',
    milan: 'Europe/Rome',
    poland: 'Europe/Warsaw',
    greece: 'Europe/Athens',
    ireland: 'Europe/Dublin',
    uk: 'Europe/London',
    england: 'Europe/London',
    barcelona: 'Europe/Madrid',
    geneva: 'Europe/Zurich',
    california: 'America/Los_Angeles',
    'san francisco': 'America/Los_Angeles',
    seattle: 'America/Los_Angeles',
    'new york city': 'America/New_York',
    boston: 'America/New_York',
    'washington dc': 'America/New_York',
    miami: 'America/New_York',
    texas: 'America/Chicago',
    houston: 'America/Chicago',
    argentina: 'America/Argentina/Buenos_Aires',
    egypt: 'Africa/Cairo',
    nigeria: 'Africa/Lagos',
  }),
)

const timeIn: Reader = ([, place], _, now) => timeInPlace(place!, now)

/**
 * The time in a city, in a country with one time zone, or in a zone such as `Asia/Tokyo`; undefined
 * elsewhere.
 */
export function timeInPlace(given: string, now: Date): string | undefined {
  const place = given.trim().toLowerCase()
  const zone = zoneOf(place)
  if (zone === undefined) return undefined
  const weekday = now.toLocaleDateString('en-GB', { weekday: 'long', timeZone: zone })
  return `It is ${clockText(now, zone)} in ${place.replace(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())} (${weekday}).`
}

const D = '(days?|weeks?)'
const SPAN = '(\\d+|an?) (days?|weeks?|months?|years?)'
const OF_DAY = '(?:the )?(?:day|date)(?: of the week)? (?:is it |will it be |was it |was |is |will be )?'
const FORMS: readonly Form<[today: Day, now: Date]>[] = [
  [/^(?:(?:the )?time(?: is it)?(?: right)?|time is it(?: right)?)$|^clock$/, (_, __, now) => timeText(now)],
  [
    /^(?:(?:the )?(?:current |local )?time(?: is it)?|time is it)(?: right)?(?: now)? in ([\p{L} ]+)$/u,
    timeIn,
  ],
  [
    /^(?:(?:the |today'?s )?(?:current )?date(?: is it)?(?: today)?|day is (?:it|today)(?: today)?|today'?s date|today)$/,
    (_, today) => todayText(today),
  ],
  [/^(?:the )?year(?: is it| is this)?$/, (_, today) => `It is ${yearOf(today)}.`],
  [
    /^(?:the )?month(?: is it| is this)?$/,
    (_, today) =>
      `It is ${MONTHS[new Date(today).getUTCMonth()]!.replace(/^./, (letter) => letter.toUpperCase())}.`,
  ],
  [
    /^(?:day|date|weekday)(?: of the week)? (?:is (?:it )?|was (?:it )?|will (?:it )?be |falls on |does |will )?(?:on )?(.+?)(?: (?:be|fall on))?(?: this year)?$/,
    weekdayOf,
  ],
  [/^(?:when is |the date |the day )(.+?)(?: this year)?$/, weekdayOf],
  [new RegExp(`^${OF_DAY}in ${SPAN}$`), later],
  [new RegExp(`^${OF_DAY}${SPAN} (ago|from today|later)$`), later],
]
const COUNTS: readonly Form<[today: Day, now: Date]>[] = [
  [
    new RegExp(
      `^how many ${D} (?:are (?:there |left )?|is it |left )?(?:until|till|to|before) (?:(?:my|our|his|her|their|the) [a-z' ]+ on )?(.+)$`,
    ),
    untilDay,
  ],
  [new RegExp(`^${D} (?:until|till) (.+)$`), untilDay],
  [new RegExp(`^how many ${D} (?:have passed |has it been |is it |ago is )?since (.+)$`), sinceDay],
  [
    new RegExp(`^(?:how many )?${D} (?:are (?:there )?|lie )?(?:between|from) (.+?) (?:and|to|until) (.+)$`),
    between,
  ],
  [
    new RegExp(
      `^how many days (?:are (?:there )?|does |has )?(?:in )?${MONTH}(?: have)?(?: (\\d{4}))?(?: have)?$`,
    ),
    daysIn,
  ],
  [/^how many (days|weeks|months) (?:are (?:there )?)?(?:in )?(?:a|1|one) (?:year|leap year)$/, yearLength],
  [
    /^(?:is|was|will) (?:the year )?(\d{4}) (?:be )?a leap year$/,
    ([, year]) =>
      `${isLeap(Number(year)) ? 'Yes' : 'No'}: ${year} has ${isLeap(Number(year)) ? 366 : 365} days.`,
  ],
  [
    /^(?:when|what|what year) is the next leap year$/,
    (_, today) => {
      const [year] = [1, 2, 3, 4, 5, 6, 7, 8].map((ahead) => yearOf(today) + ahead).filter(isLeap)
      return `The next leap year is ${year}.`
    },
  ],
  [
    /^how many days (?:are (?:there )?|does |has |will )?(?:in )?(?:the year )?(\d{4})(?: have)?$/,
    ([, year]) => `${isLeap(Number(year)) ? 366 : 365} days.`,
  ],
  [
    /^(?:in )?(?:what|which) year (?:will|does|do|did) (?:i|you|we|he|she|they|someone|somebody|a person)(?: who (?:was|is))? born in (\d{4}) turn (\d{1,3})$/,
    ([, born, years]) => `In ${Number(born) + Number(years)}.`,
  ],
  [
    /^how old (?:will|would) (?:i|you|he|she|someone|a person) be in (\d{4}) if (?:i|you|he|she|they) (?:was|were|am|is) born in (\d{4})$/,
    ([, year, born]) => {
      const years = Number(year) - Number(born)
      return years < 1 || years > 130
        ? undefined
        : `${years} once the birthday of ${year} has passed, ${years - 1} before it.`
    },
  ],
  [
    new RegExp(
      `^(?:what (?:is the )?(?:day|date)(?: of the week)?(?: is it| will it be| was it| is)?|when is|when was) (?:in )?${SPAN} (from now|ago|from today|from|after|before)(?: (.+))?$`,
    ),
    later,
  ],
  [
    new RegExp(
      `^(?:what (?:is the )?(?:day|date)(?: of the week)?(?: is it| will it be)?|when is) in ${SPAN}$`,
    ),
    later,
  ],
  [
    /^(?:if )?(?:i|he|she|(?:my )?[a-z]+) (?:was|am|is) born (?:in|on) (.+?)[.,;]? (?:so )?how old (?:am|is) (?:i|he|she|(?:my )?[a-z]+)$/,
    age,
  ],
  [/^(?:i was )?born (?:in |on )?(.+?)[.,;]? (?:what is my age|how old am i)$/, age],
  [
    /^how old (?:is|was|will) (?:someone|somebody|a person|a man|a woman)(?: be)? (?:who was )?born (?:in|on) (.+) on (.+)$/,
    ([, born, on], today) => {
      const at = namedDay(on!, today)
      return at?.hasYear === true && /[a-z-]/.test(born!) ? ageAt(born!, at.day, today) : undefined
    },
  ],
  [/^how old am i if i (?:was|am) born (?:in|on) (.+)$/, age],
  [/^how old (?:is|would) (?:someone|somebody|a person)(?: be)? (?:who was )?born (?:in|on) (.+)$/, age],
]

/** A question with its numbers in figures, without polite words, and with "what is" for "what's". */
export const askedText = (question: string): string =>
  inFigures(question.trim())
    .replace(/\s+/g, ' ')
    .replace(/^(?:(?:hi|hello|hey|please|ok|and|so)[ ,]+)+/, '')
    .replace(/(?: please)?[?.!\s]+$/, '')
    .replace(/^what'?s\b/, 'what is')
    .replace(/^which (?=(?:day|date|weekday|month|year)\b)/, 'what ')

/** A sentence that answers a question about the calendar or the clock; undefined for other questions. */
export function askedDate(question: string, now: Date): string | undefined {
  const whole = askedText(question)
  const plain = whole
    .replace(/\bfrom now$/, 'from today')
    .replace(/ (?:right now|now|currently|there)$/, '')
    .replace(/(?<=\d|\w), (?=\d{4}$)/, ' ')
  const today = todayOf(now)
  return (
    firstAnswer(COUNTS, [plain], today, now) ?? firstAnswer(FORMS, [bareQuestion(plain).bare], today, now)
  )
}
