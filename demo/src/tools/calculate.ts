// Arithmetic. In: an expression as people type it. Out: its value.

/** A number, or a sign. Multiplication and division have two spellings each. */
const WORD = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|([-+*/^()%×÷x]))/y
const LONGEST = 200

/**
 * The value of an expression with + - * / ^ %, brackets and decimals; `%` divides the preceding value by 100.
 * Throws `RangeError` with a sentence if the expression is not complete or not finite.
 */
export function calculate(expression: string): number {
  if (expression.length > LONGEST) throw new RangeError(`The expression has more than ${LONGEST} characters.`)
  const words = wordsOf(expression)
  let at = 0
  const take = (...signs: string[]) => (signs.includes(words[at] as string) ? words[at++] : undefined)
  const sum = (): number => {
    let value = product()
    for (let sign = take('+', '-'); sign !== undefined; sign = take('+', '-'))
      value = sign === '+' ? value + product() : value - product()
    return value
  }
  const product = (): number => {
    let value = signed()
    for (let sign = take('*', '/'); sign !== undefined; sign = take('*', '/'))
      value = sign === '*' ? value * signed() : value / signed()
    return value
  }
  const signed = (): number => {
    const sign = take('-', '+')
    if (sign !== undefined) return sign === '-' ? -signed() : signed()
    const base = percent()
    return take('^') === undefined ? base : base ** signed()
  }
  const percent = (): number => {
    let value = unit()
    while (take('%') !== undefined) value /= 100
    return value
  }
  const unit = (): number => {
    const word = words[at++]
    if (typeof word === 'number') return word
    const value = word === '(' ? sum() : Number.NaN
    if (word !== '(' || take(')') === undefined)
      throw new RangeError(`"${expression}" is not a complete expression.`)
    return value
  }
  const value = sum()
  if (at < words.length) throw new RangeError(`"${expression}" is not a complete expression.`)
  if (!Number.isFinite(value)) throw new RangeError(`"${expression}" has no finite value.`)
  return value
}

const SPELLINGS: ReadonlyMap<string, string> = new Map(Object.entries({ '×': '*', x: '*', '÷': '/' }))

function wordsOf(expression: string): (number | string)[] {
  const words: (number | string)[] = []
  const text = expression.trimEnd()
  WORD.lastIndex = 0
  while (WORD.lastIndex < text.length) {
    const at = WORD.lastIndex
    const found = WORD.exec(text)
    if (found === null) throw new RangeError(`"${text.slice(at)}" is not arithmetic.`)
    words.push(found[1] === undefined ? (SPELLINGS.get(found[2]!) ?? found[2]!) : Number(found[1]))
  }
  return words
}

/** A number with at most ten significant digits, without trailing zeros. */
export const plainNumber = (value: number): string => String(Number(value.toPrecision(10)))
