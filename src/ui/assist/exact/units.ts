// Units. In: a question about lengths, masses, times or temperatures. Out: the value in the other unit.
import Big from 'big.js'
import { convert, getMeasureKind, type Unit } from 'convert'
import { bareQuestion } from './frame.ts'
import { inFigures } from './numbers.ts'

/** Names that people use, by the library's names. */
const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    c: 'celsius',
    '°c': 'celsius',
    centigrade: 'celsius',
    f: 'fahrenheit',
    '°f': 'fahrenheit',
    k: 'kelvin',
    hr: 'hour',
    hrs: 'hours',
    mins: 'minutes',
    sec: 'second',
    secs: 'seconds',
    '"': 'inch',
    "'": 'foot',
    lbs: 'pounds',
    kb: 'kB',
    mb: 'MB',
    gb: 'GB',
    tb: 'TB',
    kilo: 'kilogram',
    kilos: 'kilograms',
    kgs: 'kilograms',
    grammes: 'grams',
    tonne: 'tonne',
    'metric ton': 'tonne',
    'metric tons': 'tonnes',
    'fluid ounce': 'fl oz',
    'fluid ounces': 'fl oz',
    tbsp: 'tablespoon',
    tbsps: 'tablespoons',
    tsp: 'teaspoon',
    tsps: 'teaspoons',
    ml: 'millilitre',
    l: 'litre',
    cl: 'centilitre',
    dl: 'decilitre',
    'm²': 'm2',
    sqm: 'm2',
    sqft: 'sq ft',
    'square foot': 'sq ft',
  }),
)
/** Units whose length depends on the month or the year: questions about them have no single answer. */
const UNCERTAIN = /^(?:months?|years?|decades?|centur(?:y|ies))$/

/** Speeds in metres per second; the library cannot convert them. */
const SPEEDS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'km/h': '1/3.6',
    kmh: '1/3.6',
    kph: '1/3.6',
    'kilometres per hour': '1/3.6',
    'kilometers per hour': '1/3.6',
    mph: '0.44704',
    'miles per hour': '0.44704',
    'm/s': '1',
    'metres per second': '1',
    'meters per second': '1',
    knots: '1852/3600',
    knot: '1852/3600',
  }),
)

/** Measures of volume that differ between the United States and Britain; here the American ones are meant. */
const AMERICAN = /^(?:cups?|pints?|quarts?|gallons?|fl oz|fluid ounces?)$/

/** A unit's name as it is shown. */
const unitLabel = (name: string): string =>
  name
    .replace(/^°?([cf])$/i, (_, letter: string) => `°${letter.toUpperCase()}`)
    .replace(AMERICAN, (measure) => `${measure} (US)`)
    .replace(/^[kmgt]b$/, (size) => (size === 'kb' ? 'kB' : size.toUpperCase()))

interface Measure {
  readonly name: string
  /** What it measures; only units of the same kind can be converted. */
  readonly kind: string
}

function measureOf(given: string): Measure | undefined {
  const name = given
    .trim()
    .replace(/^degrees? ?/, '')
    .replace(/^us (?=\w)/, '')
    .replace(/\.$/, '')
  if (SPEEDS.has(name)) return { name, kind: 'speed' }
  if (UNCERTAIN.test(name)) return undefined
  const known = NAMES.get(name) ?? name
  for (const each of [known, known.replace(/(?<=.{3})s$/, '')]) {
    const kind = getMeasureKind(each as Unit)
    if (kind !== undefined) return { name: each, kind: String(kind) }
  }
  return undefined
}

const speedOf = (name: string): Big => {
  const [top, bottom = '1'] = SPEEDS.get(name)!.split('/')
  return new Big(top!).div(bottom!)
}

/** Throws a `RangeError` with a sentence if a unit is unknown or the two measure different things. */
export function convertUnits(value: number, from: string, to: string): number {
  const source = measureOf(from.toLowerCase())
  const target = measureOf(to.toLowerCase())
  if (source === undefined || target === undefined)
    throw new RangeError(`"${source === undefined ? from : to}" is not a known unit.`)
  if (source.kind !== target.kind) throw new RangeError(`${from} cannot be converted to ${to}.`)
  if (source.kind === 'speed')
    return new Big(value).times(speedOf(source.name)).div(speedOf(target.name)).toNumber()
  return Number(convert(value, source.name as Unit).to(target.name as Unit))
}

export const isUnit = (name: string): boolean => measureOf(name.toLowerCase()) !== undefined

/** Whether both are units of the same kind. */
export const canConvert = (from: string, to: string): boolean =>
  isUnit(from) && measureOf(from.toLowerCase())?.kind === measureOf(to.toLowerCase())?.kind

/** Whether two units of one kind are the same, such as `km` and `kilometres`. */
export const areSameUnit = (one: string, other: string): boolean =>
  Math.abs(convertUnits(1, one, other) - 1) < 1e-9 && Math.abs(convertUnits(2, one, other) - 2) < 1e-9

/** Two decimals from 1 up, otherwise three significant digits. */
export function roundedValue(value: number): number {
  if (!Number.isFinite(value)) throw new RangeError('The value is not a number.')
  return Math.abs(value) >= 1 ? Math.round(value * 100) / 100 : Number(value.toPrecision(3))
}

/** The value in the other unit as it is shown, such as `37.78 °C`. Throws like `convertUnits`. */
export const convertedText = (value: number, from: string, to: string): string =>
  `${roundedValue(convertUnits(value, from, to))} ${unitLabel(to)}`

/** A conversion that a question asks for. */
export interface Conversion {
  readonly value: number
  readonly from: string
  readonly to: string
  /** The quantity as asked, such as `5 feet 10 inches`. */
  readonly given: string
}

const AMOUNT = String.raw`(-?\d+(?:\.\d+)?|half an?|an?)`
const UNIT = `([a-zµ°²"'][a-zµ°²"'/ ]*?)`
const FORMS: readonly RegExp[] = [
  new RegExp(`^(?:convert )?${AMOUNT} ?${UNIT} (?:to|in|into|as|is how many) ${UNIT}$`),
  new RegExp(
    `^(?<to>[a-z²/ ]+?) (?:(?:are |is )?(?:there )?(?:in|make|per)|are|is|equals?) ${AMOUNT} ?${UNIT}$`,
  ),
]
/** Feet and inches, or pounds and ounces, as people state heights and weights. */
const HEIGHT =
  /^(?:convert )?(\d+) ?(?:feet|foot|ft|') ?(?:and )?(\d+(?:\.\d+)?) ?(?:inch(?:es)?|in|"|'')? (?:to|in|into|as) ([a-z]+)$/

/** The conversion, if a question asks only for that; undefined for other questions. */
export function askedConversion(question: string): Conversion | undefined {
  const text = inFigures(question.trim())
    .replace(/°/g, ' °')
    .replace(/° (?=[cf]\b)/g, '°')
    .replace(/\s+/g, ' ')
  const { bare } = bareQuestion(text)
  const height = HEIGHT.exec(bare)
  if (height !== null) {
    const [, feet, inches, to] = height
    const given = `${feet} feet ${inches} inches`
    return checked({ value: 12 * Number(feet) + Number(inches), from: 'inches', to: to!, given })
  }
  for (const form of FORMS) {
    const found = form.exec(bare)
    if (found === null) continue
    const isReversed = found.groups?.['to'] !== undefined
    const [amount, from, to] = isReversed ? [found[2], found[3], found[1]] : [found[1], found[2], found[3]]
    const value = amount!.startsWith('half') ? 0.5 : /^an?$/.test(amount!) ? 1 : Number(amount)
    const given = `${value} ${unitLabel(from!.trim())}`
    const conversion = checked({ value, from: from!.trim(), to: to!.trim(), given })
    if (conversion !== undefined) return conversion
  }
  return undefined
}

function checked(asked: Conversion): Conversion | undefined {
  try {
    convertUnits(asked.value, asked.from, asked.to)
    return asked
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}
