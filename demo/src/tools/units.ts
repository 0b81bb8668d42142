// Units. In: a value and the names of two units. Out: the value in the other unit.

/** Factors to the first unit of each kind, by singular name. */
const KINDS: readonly Readonly<Record<string, number>>[] = [
  {
    metre: 1,
    millimetre: 1e-3,
    centimetre: 1e-2,
    kilometre: 1e3,
    inch: 0.0254,
    foot: 0.3048,
    yard: 0.9144,
    mile: 1609.344,
  },
  { gram: 1, kilogram: 1e3, ton: 1e6, ounce: 28.349523125, pound: 453.59237 },
  { litre: 1, millilitre: 1e-3, gallon: 3.785411784, cup: 0.2365882365, pint: 0.473176473 },
  { second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800 },
]
const OTHER_NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    mm: 'millimetre',
    cm: 'centimetre',
    m: 'metre',
    km: 'kilometre',
    in: 'inch',
    ft: 'foot',
    mi: 'mile',
    g: 'gram',
    kg: 'kilogram',
    t: 'ton',
    tonne: 'ton',
    oz: 'ounce',
    lb: 'pound',
    l: 'litre',
    ml: 'millilitre',
    s: 'second',
    min: 'minute',
    h: 'hour',
    feet: 'foot',
    inches: 'inch',
    yd: 'yard',
    lbs: 'pound',
    c: 'celsius',
    f: 'fahrenheit',
  }),
)

/** Throws a `RangeError` with a sentence if a unit is unknown or the two measure different things. */
export function convertUnits(value: number, from: string, to: string): number {
  const source = unitOf(from)
  const target = unitOf(to)
  if (source === target) return value
  if (source === 'celsius' && target === 'fahrenheit') return (value * 9) / 5 + 32
  if (source === 'fahrenheit' && target === 'celsius') return ((value - 32) * 5) / 9
  const kind = KINDS.find((units) => Object.hasOwn(units, source) && Object.hasOwn(units, target))
  if (kind === undefined) throw new RangeError(`${from} cannot be converted to ${to}.`)
  return (value * kind[source]!) / kind[target]!
}

function unitOf(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/^degrees? /, '')
    .replace(/meter/, 'metre')
    .replace(/liter/, 'litre')
  for (const each of [plain, plain.replace(/s$/, '')]) {
    const known = OTHER_NAMES.get(each) ?? each
    if (known === 'celsius' || known === 'fahrenheit' || KINDS.some((units) => Object.hasOwn(units, known)))
      return known
  }
  throw new RangeError(`"${name}" is not a unit that is known here.`)
}
