// Python's string formatting: `'%d of %s' % values`, `'{:>5}'.format(value)`, `format(value, spec)`.
import {
  charactersOf,
  type Dict,
  float,
  isFloat,
  type Keywords,
  numberOf,
  reprOf,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  textOf,
  typeError,
  typeName,
  type Value,
} from './values.ts'

const PERCENT = /%(?:\(([^)]*)\))?([-+ #0]*)(\d+|\*)?(?:\.(\d+))?[hlL]?([\s\S])?/g

/** `text % values`. */
export function formatPercent(text: string, values: Value, spend: Spend): string {
  const list = values instanceof Tuple ? values.items : [values]
  let next = 0
  let isNamed = false
  const result = text.replace(
    PERCENT,
    (_whole, name?: string, flags = '', width?: string, digits?: string, kind?: string) => {
      if (kind === '%') return '%'
      if (kind === undefined || width === '*') throw new TemplateError('ValueError', 'incomplete format')
      let value: Value
      if (name !== undefined) {
        if (!(values instanceof Map)) throw typeError('format requires a mapping')
        isNamed = true
        value = (values as Dict).get(name)
        if (!values.has(name)) throw new TemplateError('KeyError', `'${name}'`)
      } else {
        if (next >= list.length) throw typeError('not enough arguments for format string')
        value = list[next++]
      }
      const sign = flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '-'
      const isText = 'sra'.includes(kind)
      const align = flags.includes('-') ? '<' : flags.includes('0') && !isText ? '=' : '>'
      const kinds = kind === 'i' || kind === 'u' ? 'd' : kind
      const shown = isText
        ? cut(kind === 's' ? textOf(value, spend) : reprOf(value, spend), digits)
        : number(value, kinds, digits, sign, spend)
      return padded(shown, Number(width ?? 0), align, align === '=' ? '0' : ' ', spend)
    },
  )
  if (!isNamed && next < list.length && !(values instanceof Map) && !Array.isArray(values)) {
    throw typeError('not all arguments converted during string formatting')
  }
  spend(result.length)
  return result
}

const FIELD = /\{\{|\}\}|\{([^{}:!]*)(?:!([rsa]))?(?::((?:[^{}]|\{[^{}]*\})*))?\}|[{}]/g

/** `text.format(...)`; `attribute` reads the parts of a field such as `{0.name}`. */
export function formatBraces(
  text: string,
  args: readonly Value[],
  keywords: Keywords,
  attribute: (value: Value, name: string, isItem: boolean) => Value,
  spend: Spend,
): string {
  let next = 0
  const read = (field: string): Value => {
    const [first = ''] = /^[^.[]*/.exec(field) ?? []
    const at = first === '' ? next++ : /^\d+$/.test(first) ? Number(first) : first
    if (typeof at === 'number' ? at >= args.length : !keywords.has(at)) {
      throw typeof at === 'number'
        ? new TemplateError('IndexError', `Replacement index ${at} out of range for positional args tuple`)
        : new TemplateError('KeyError', `'${at}'`)
    }
    let value = typeof at === 'number' ? args[at] : keywords.get(at)
    for (const [, name, item] of field.slice(first.length).matchAll(/\.([^.[]+)|\[([^\]]+)\]/g)) {
      value = attribute(value, name ?? (item as string), name === undefined)
    }
    return value
  }
  const result = text.replace(FIELD, (whole, field?: string, conversion?: string, spec = '') => {
    if (whole === '{{' || whole === '}}') return whole.slice(1)
    if (field === undefined)
      throw new TemplateError('ValueError', `Single '${whole}' encountered in format string`)
    const value = read(field)
    const shown =
      conversion === undefined ? value : conversion === 's' ? textOf(value, spend) : reprOf(value, spend)
    return formatted(
      shown,
      spec.replace(/\{([^{}]*)\}/g, (_: string, inner: string) => textOf(read(inner), spend)),
      spend,
    )
  })
  spend(result.length)
  return result
}

const SPEC = /^(?:([\s\S])?([<>=^]))?([-+ ]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/u

/** Python's `format(value, spec)`. */
function formatted(value: Value, spec: string, spend: Spend): string {
  if (spec === '') return textOf(value, spend)
  const found = SPEC.exec(spec)
  if (found === null) throw new TemplateError('ValueError', `Invalid format specifier '${spec}'`)
  const [, fill, align, sign = '', , zero, width, separator = '', digits, kind = ''] = found
  const isNumber = numberOf(value) !== undefined && !(typeof value === 'boolean' && kind === '')
  if (!isNumber && (stringOf(value) === undefined || !['', 's'].includes(kind))) {
    throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`)
  }
  const type = kind === '' ? (isFloat(value) ? (digits === undefined ? '' : 'g') : 'd') : kind
  let shown = isNumber ? number(value, type, digits, sign, spend) : cut(textOf(value, spend), digits)
  if (separator !== '') shown = shown.replace(/\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, separator))
  const side = align ?? (zero && isNumber ? '=' : isNumber ? '>' : '<')
  return padded(shown, Number(width || 0), side, fill ?? (zero ? '0' : ' '), spend)
}

const cut = (text: string, digits: string | undefined) =>
  digits === undefined ? text : charactersOf(text).slice(0, Number(digits)).join('')

function padded(text: string, width: number, align: string, fill: string, spend: Spend): string {
  const missing = width - charactersOf(text).length
  if (missing <= 0) return text
  spend(missing)
  if (align === '<') return text + fill.repeat(missing)
  if (align === '^') return fill.repeat(Math.floor(missing / 2)) + text + fill.repeat(Math.ceil(missing / 2))
  const sign = align === '=' ? (/^[-+ ]/.exec(text)?.[0] ?? '') : ''
  return sign + fill.repeat(missing) + text.slice(sign.length)
}

/**
 * A number without padding. `kind`: the type letter of a format specification; empty for a float's default
 * text.
 */
function number(value: Value, kind: string, digits: string | undefined, sign: string, spend: Spend): string {
  const given = numberOf(value)
  if (given === undefined)
    throw typeError(`%${kind} format: a real number is required, not ${typeName(value)}`)
  const size = Math.abs(given)
  const places = Math.min(Number(digits ?? 6), 100)
  const whole = { d: 10, x: 16, X: 16, o: 8, b: 2 }[kind]
  let text: string
  if (whole !== undefined) text = Math.trunc(size).toString(whole)
  else if (kind === '') text = textOf(float(size), spend)
  else if (kind === 'f' || kind === 'F') text = roundedText(size, places)
  else if (kind === '%') text = `${roundedText(size * 100, places)}%`
  else if (kind === 'e' || kind === 'E') text = exponential(size.toExponential(places))
  else if (kind === 'g' || kind === 'G') text = general(size, places === 0 ? 1 : places)
  else throw new TemplateError('ValueError', `Unknown format code '${kind}'`)
  if (kind === kind.toUpperCase() && kind !== '' && kind !== '%') text = text.toUpperCase()
  return (given < 0 ? '-' : sign === '-' ? '' : sign) + text
}

const exponential = (text: string) => text.replace(/e([-+])(\d)$/, 'e$10$2')

function general(size: number, digits: number): string {
  const power = size === 0 ? 0 : Number(size.toExponential(digits - 1).split('e')[1])
  const bare = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
  if (power >= -4 && power < digits) return bare(size.toFixed(Math.max(0, digits - 1 - power)))
  const [mantissa = '', exponent = ''] = size.toExponential(digits - 1).split('e')
  return exponential(`${bare(mantissa)}e${exponent}`)
}

/** The number with this many decimals. Ties go to the even digit, as in Python. */
export function roundedText(size: number, places: number): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? 'nan' : 'inf'
  const text = size.toFixed(places)
  const isTie = /^50*$/.test(size.toFixed(100).split('.')[1]?.slice(places) ?? '')
  if (!isTie || size >= 1e21) return text
  // toFixed rounds ties up, so an odd last digit becomes the even one below it.
  const last = Number(text.at(-1))
  return last % 2 === 0 ? text : text.slice(0, -1) + (last - 1)
}
