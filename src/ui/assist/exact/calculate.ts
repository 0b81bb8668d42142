// Arithmetic. In: an expression as people type it. Out: its value.
import Big from 'big.js'

/** A number, a function, or a sign. Multiplication and division have two spellings each. */
const WORD = /\s*(?:(\d+(?:\.\d+)?|\.\d+)|(sqrt|cbrt|mod|[-+*/^()%×÷x!]))/y
const LONGEST = 200
/** The number of decimals of a quotient or a root. */
const DECIMALS = 40
const HIGHEST_POWER = 1000
const HIGHEST_FACTORIAL = 100
/** The number of significant digits shown for a value with more than ten decimals. */
const DIGITS = 10

/** A separate Big constructor with this number of decimals: the shared constructor's settings are global. */
const Exact = Big()
Exact.DP = DECIMALS

const incomplete = (expression: string) => new RangeError(`"${expression}" is not a complete expression.`)
const infinite = (expression: string) => new RangeError(`"${expression}" has no finite value.`)

/**
 * The value of an expression with + - * / ^ % mod !, sqrt, cbrt, brackets and decimals; `%` divides the
 * preceding value by 100. Sums and products are exact; quotients and roots have 40 decimals. Throws a
 * `RangeError` with a sentence if the expression is incomplete, or its value is infinite or not real.
 */
export function calculate(expression: string): Big {
  if (expression.length > LONGEST) throw new RangeError(`The expression has more than ${LONGEST} characters.`)
  return new Reader(expression).whole()
}

/** Recursive descent, with a method for each precedence. */
class Reader {
  readonly #expression: string
  readonly #words: readonly (Big | string)[]
  #at = 0

  constructor(expression: string) {
    this.#expression = expression
    this.#words = wordsOf(expression)
  }

  whole(): Big {
    const value = this.#sum()
    if (this.#at < this.#words.length) throw incomplete(this.#expression)
    return value
  }

  #take(...signs: readonly string[]): string | undefined {
    const word = this.#words[this.#at]
    if (typeof word !== 'string' || !signs.includes(word)) return undefined
    this.#at++
    return word
  }

  #sum(): Big {
    let value = this.#product()
    for (let sign = this.#take('+', '-'); sign !== undefined; sign = this.#take('+', '-'))
      value = sign === '+' ? value.plus(this.#product()) : value.minus(this.#product())
    return value
  }

  #product(): Big {
    let value = this.#signed()
    for (let sign = this.#take('*', '/', 'mod'); sign !== undefined; sign = this.#take('*', '/', 'mod')) {
      const other = this.#signed()
      if (sign !== '*' && other.eq(0)) throw infinite(this.#expression)
      value = sign === '*' ? value.times(other) : sign === '/' ? value.div(other) : value.mod(other)
    }
    return value
  }

  #signed(): Big {
    const sign = this.#take('-', '+')
    if (sign !== undefined) return sign === '-' ? this.#signed().neg() : this.#signed()
    const base = this.#suffixed()
    return this.#take('^') === undefined ? base : this.#power(base, this.#signed())
  }

  #power(base: Big, exponent: Big): Big {
    if (exponent.eq(0.5)) return this.#root(base)
    const isWhole = exponent.round(0, Exact.roundDown).eq(exponent)
    if (!isWhole || exponent.abs().gt(HIGHEST_POWER))
      throw new RangeError(
        `"${this.#expression}" has a power that is not a whole number up to ${HIGHEST_POWER}.`,
      )
    if (base.eq(0) && exponent.lt(0)) throw infinite(this.#expression)
    return base.pow(exponent.toNumber())
  }

  #root(value: Big): Big {
    if (value.lt(0)) throw new RangeError(`"${this.#expression}" has the square root of a negative number.`)
    return value.sqrt()
  }

  #suffixed(): Big {
    let value = this.#unit()
    for (let sign = this.#take('%', '!'); sign !== undefined; sign = this.#take('%', '!'))
      value = sign === '%' ? value.div(100) : this.#factorial(value)
    return value
  }

  #factorial(value: Big): Big {
    const count = value.toNumber()
    if (!Number.isInteger(count) || count < 0 || count > HIGHEST_FACTORIAL)
      throw new RangeError(
        `The factorial of ${value} is not known here: it needs a whole number up to ${HIGHEST_FACTORIAL}.`,
      )
    let product = new Exact(1)
    for (let factor = 2; factor <= count; factor++) product = product.times(factor)
    return product
  }

  #unit(): Big {
    const name = this.#take('sqrt', 'cbrt')
    if (name !== undefined) {
      const value = this.#unit()
      return name === 'sqrt' ? this.#root(value) : cubeRoot(value)
    }
    const word = this.#words[this.#at++]
    if (word instanceof Exact) return word
    if (word !== '(') throw incomplete(this.#expression)
    const value = this.#sum()
    if (this.#take(')') === undefined) throw incomplete(this.#expression)
    return value
  }
}

/** Exact for the cube of an integer, otherwise as precise as a double. */
function cubeRoot(value: Big): Big {
  const near = Math.cbrt(value.toNumber())
  const whole = new Exact(Math.round(near))
  return whole.pow(3).eq(value) ? whole : new Exact(near)
}

const SPELLINGS: ReadonlyMap<string, string> = new Map(Object.entries({ '×': '*', x: '*', '÷': '/' }))

function wordsOf(expression: string): (Big | string)[] {
  const words: (Big | string)[] = []
  const text = expression.trimEnd()
  WORD.lastIndex = 0
  while (WORD.lastIndex < text.length) {
    const at = WORD.lastIndex
    const found = WORD.exec(text)
    if (found === null) throw new RangeError(`"${text.slice(at)}" is not arithmetic.`)
    words.push(found[1] === undefined ? (SPELLINGS.get(found[2]!) ?? found[2]!) : new Exact(found[1]))
  }
  return words
}

/**
 * Whether `plainNumber` shows all digits of a value. A quotient's last decimals are rounded, so 1 / 3 * 99 is
 * 33.
 */
const isShownExactly = (value: Big): boolean => value.round(DIGITS).eq(value.round(DECIMALS - DIGITS))

/**
 * All digits of a value with at most ten decimals, otherwise ten significant digits, without trailing zeros.
 */
export function plainNumber(value: Big): string {
  if (isShownExactly(value)) return value.round(DIGITS).toFixed()
  const rounded = value.prec(DIGITS)
  return (rounded.abs().gte(10 ** DIGITS) ? value.round(2) : rounded).toFixed()
}

/** `expression = value`, with ≈ if the value is rounded. */
export const equation = (expression: string, value: Big): string =>
  `${expression} ${isShownExactly(value) ? '=' : '≈'} ${plainNumber(value)}`
