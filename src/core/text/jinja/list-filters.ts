// Jinja's filters for lists.
import { binary } from './operators.ts'
import {
  areEqual,
  compare,
  Generator,
  indexOf,
  isTrue,
  iterate,
  type Keywords,
  PART_UNITS,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  textOf,
  typeError,
  typeName,
  type Value,
} from './values.ts'

/** The parts of a template run that filters need. */
export interface Tools {
  readonly spend: Spend
  /** `value.name`. */
  readonly attribute: (value: Value, name: string) => Value
  /** `value[key]`. */
  readonly item: (value: Value, key: Value) => Value
  readonly filter: (name: string, value: Value, args: readonly Value[], keywords: Keywords) => Value
  readonly isFilter: (name: string) => boolean
  readonly test: (name: string, value: Value, args: readonly Value[]) => boolean
}

export type Filter = (value: Value, args: readonly Value[], tools: Tools, keywords: Keywords) => Value

/** Reads `a.b.0` of a value, or returns the value itself if no attribute is named. */
function attributeReader(attribute: Value, { item }: Tools, fallback?: Value): (value: Value) => Value {
  if (attribute === undefined || attribute === null) return (value) => value
  const path =
    typeof attribute === 'number'
      ? [attribute]
      : (stringOf(attribute) ?? '').split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part))
  return (value) =>
    path.reduce<Value>((at, part) => {
      const next = item(at, part)
      return next === undefined ? fallback : next
    }, value)
}

/** Jinja sorts and compares strings case-insensitively unless told otherwise. */
const folded = (value: Value, isCased: Value, spend: Spend) => {
  const text = stringOf(value)
  if (text === undefined || isTrue(isCased)) return value
  spend(text.length)
  return text.toLowerCase()
}

function sorted<T>(items: readonly T[], key: (item: T) => Value, isReversed: boolean, spend: Spend): T[] {
  const keyed = items.map((item) => ({ item, key: key(item) }))
  spend(items.length * PART_UNITS)
  keyed.sort((a, b) => (isReversed ? compare(b.key, a.key, spend) : compare(a.key, b.key, spend)))
  return keyed.map(({ item }) => item)
}

/** The values of several attributes, `a,b`, in this order. */
function sortKey(attribute: Value, isCased: Value, tools: Tools): (value: Value) => Value {
  const names = stringOf(attribute)?.split(',')
  if (names === undefined || names.length === 1) {
    const read = attributeReader(attribute, tools)
    return (value) => folded(read(value), isCased, tools.spend)
  }
  const readers = names.map((name) => attributeReader(name, tools))
  return (value) => readers.map((read) => folded(read(value), isCased, tools.spend))
}

/** `map` and `select` treat every falsy value, including None, as an empty list. */
const chosenFrom = (value: Value, { spend }: Tools) => (isTrue(value) ? iterate(value, spend) : [])

const mapped: Filter = (value, args, tools, keywords) => {
  const items = chosenFrom(value, tools)
  tools.spend(items.length * PART_UNITS)
  if (args.length === 0 && keywords.has('attribute')) {
    const read = attributeReader(keywords.get('attribute'), tools, keywords.get('default'))
    return new Generator(items.map(read))
  }
  const [name, ...rest] = args
  if (typeof name !== 'string')
    throw new TemplateError('FilterArgumentError', 'map requires a filter argument')
  return new Generator(items.map((item) => tools.filter(name, item, rest, keywords)))
}

/** `select`, `reject`, `selectattr` and `rejectattr`. */
function selecting(keeps: boolean, byAttribute: boolean): Filter {
  return (value, args, tools, keywords: Keywords) => {
    if (keywords.size > 0)
      throw typeError(`tests do not take the keyword argument '${[...keywords.keys()][0]}'`)
    const [attribute, ...others] = args
    if (byAttribute && attribute === undefined) {
      throw new TemplateError('FilterArgumentError', 'Missing parameter for attribute name')
    }
    const read = attributeReader(byAttribute ? attribute : undefined, tools)
    const [name, ...rest] = byAttribute ? others : args
    const items = chosenFrom(value, tools)
    const fits = (item: Value) =>
      name === undefined ? isTrue(read(item)) : tools.test(textOf(name, tools.spend), read(item), rest)
    tools.spend(items.length * PART_UNITS)
    return new Generator(items.filter((item) => fits(item) === keeps))
  }
}

function extreme(sign: 1 | -1): Filter {
  return (value, [isCased, attribute], tools) => {
    const key = sortKey(attribute, isCased, tools)
    const items = iterate(value, tools.spend)
    if (items.length === 0) return undefined
    return items.reduce((best, item) => (compare(key(item), key(best), tools.spend) * sign < 0 ? item : best))
  }
}

const unique: Filter = (value, [isCased, attribute], tools) => {
  const key = sortKey(attribute, isCased, tools)
  const kept: { item: Value; key: Value }[] = []
  for (const item of iterate(value, tools.spend)) {
    const own = key(item)
    if (!kept.some((each) => areEqual(each.key, own, tools.spend))) kept.push({ item, key: own })
  }
  return new Generator(kept.map(({ item }) => item))
}

const grouped: Filter = (value, [attribute, fallback, isCased], tools) => {
  const read = attributeReader(attribute, tools, fallback)
  const key = (item: Value) => folded(read(item), isCased, tools.spend)
  const groups: { key: Value; shown: Value; items: Value[] }[] = []
  for (const item of sorted(iterate(value, tools.spend), key, false, tools.spend)) {
    const last = groups.at(-1)
    if (last !== undefined && areEqual(last.key, key(item), tools.spend)) last.items.push(item)
    else groups.push({ key: key(item), shown: read(item), items: [item] })
  }
  return groups.map(({ shown, items }) => new Tuple([shown, items], ['grouper', 'list']))
}

const dictsort: Filter = (value, [isCased, by = 'key', isReversed], tools) => {
  if (!(value instanceof Map)) throw typeError(`'${typeName(value)}' object has no attribute 'items'`)
  if (by !== 'key' && by !== 'value')
    throw new TemplateError('FilterArgumentError', 'by must be key or value')
  const pairs = Array.from(value, (pair) => new Tuple(pair))
  return sorted(
    pairs,
    (pair) => folded(pair.items[by === 'key' ? 0 : 1], isCased, tools.spend),
    isTrue(isReversed),
    tools.spend,
  )
}

function batched(items: readonly Value[], size: number, fill: Value, { spend }: Tools): Value[][] {
  if (size < 1) throw new TemplateError('ValueError', 'a batch needs at least 1 item')
  const batches: Value[][] = []
  for (let at = 0; at < items.length; at += size) batches.push(items.slice(at, at + size))
  const last = batches.at(-1)
  if (last !== undefined && fill !== undefined && fill !== null) {
    spend((size - last.length) * PART_UNITS)
    while (last.length < size) last.push(fill)
  }
  return batches
}

const sliced: Filter = (value, [slices, fill], { spend }) => {
  const items = iterate(value, spend)
  const count = indexOf(slices)
  if (count < 1) throw new TemplateError('ZeroDivisionError', 'a list needs at least 1 slice')
  spend(count * PART_UNITS)
  const each = Math.floor(items.length / count)
  const more = items.length % count
  let at = 0
  return new Generator(
    Array.from({ length: count }, (_, index) => {
      const part = items.slice(at, at + each + (index < more ? 1 : 0))
      at += part.length
      return fill !== undefined && fill !== null && index >= more ? [...part, fill] : part
    }),
  )
}

const items: Filter = (value, _args, { spend }) => {
  if (value === undefined) return new Generator([])
  if (!(value instanceof Map)) throw typeError('Can only get item pairs from a mapping.')
  spend(value.size * PART_UNITS)
  return new Generator(Array.from(value, (pair) => new Tuple(pair)))
}

export const listFilters: Readonly<Record<string, readonly [parameters: string | undefined, run: Filter]>> = {
  map: [undefined, mapped],
  select: [undefined, selecting(true, false)],
  reject: [undefined, selecting(false, false)],
  selectattr: [undefined, selecting(true, true)],
  rejectattr: [undefined, selecting(false, true)],
  sort: [
    'reverse? case_sensitive? attribute?',
    (value, [isReversed, isCased, attribute], tools) =>
      sorted(
        iterate(value, tools.spend),
        sortKey(attribute, isCased, tools),
        isTrue(isReversed),
        tools.spend,
      ),
  ],
  dictsort: ['case_sensitive? by? reverse?', dictsort],
  unique: ['case_sensitive? attribute?', unique],
  min: ['case_sensitive? attribute?', extreme(1)],
  max: ['case_sensitive? attribute?', extreme(-1)],
  sum: [
    'attribute? start?',
    (value, [attribute, start = 0], tools) => {
      const read = attributeReader(attribute, tools)
      return iterate(value, tools.spend).reduce<Value>((sum, item) => {
        if (stringOf(sum) !== undefined) throw typeError("sum() can't sum strings [use ''.join(seq) instead]")
        return binary('+', sum, read(item), tools.spend)
      }, start)
    },
  ],
  groupby: ['attribute default? case_sensitive?', grouped],
  items: ['', items],
  batch: [
    'linecount fill_with?',
    (value, [size, fill], tools) =>
      new Generator(batched(iterate(value, tools.spend), indexOf(size), fill, tools)),
  ],
  slice: ['slices fill_with?', sliced],
}
