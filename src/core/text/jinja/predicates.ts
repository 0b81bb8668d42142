// Jinja's tests of values, as in `x is defined`.

import type { Tools } from './list-filters.ts'
import { compareBy, contains } from './operators.ts'
import {
  Callable,
  Generator,
  isFloat,
  Loop,
  Markup,
  numberOf,
  type Spend,
  stringOf,
  TemplateError,
  Tuple,
  textOf,
  typeError,
  typeName,
  type Value,
  View,
} from './values.ts'

type Test = (value: Value, args: readonly Value[], tools: Tools) => boolean

const numeric = (value: Value): number => {
  const number = numberOf(value)
  if (number === undefined)
    throw typeError(`not all arguments converted: '${typeName(value)}' is not a number`)
  return number
}

const compared =
  (sign: string): Test =>
  (value, [other], { spend }) =>
    compareBy(sign, value, other, spend)

const [equal, different, less, lessOrEqual, more, moreOrEqual] = ['==', '!=', '<', '<=', '>', '>='].map(
  compared,
) as [Test, Test, Test, Test, Test, Test]

const modulo = (value: Value, by: Value) => {
  const m = numeric(value)
  const n = numeric(by)
  if (n === 0) throw new TemplateError('ZeroDivisionError', 'integer modulo by zero')
  return m % n
}

const isSequence: Test = (value) =>
  value === undefined ||
  stringOf(value) !== undefined ||
  value instanceof Map ||
  value instanceof Tuple ||
  Array.isArray(value)

const isIterable: Test = (value, args, tools) =>
  isSequence(value, args, tools) ||
  value instanceof View ||
  value instanceof Generator ||
  value instanceof Loop

const cased = (value: Value, spend: Spend, to: (text: string) => string) => {
  const text = textOf(value, spend)
  return to(text) === text && text.toLowerCase() !== text.toUpperCase()
}

const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>(
  Object.entries({
    defined: (value) => value !== undefined,
    undefined: (value) => value === undefined,
    none: (value) => value === null,
    boolean: (value) => typeof value === 'boolean',
    true: (value) => value === true,
    false: (value) => value === false,
    integer: (value) => typeof value === 'number' && !isFloat(value),
    float: isFloat,
    number: (value) => numberOf(value) !== undefined,
    string: (value) => stringOf(value) !== undefined,
    mapping: (value) => value instanceof Map,
    sequence: isSequence,
    iterable: isIterable,
    callable: (value) => value instanceof Callable || value instanceof Loop || value === undefined,
    escaped: (value) => value instanceof Markup,
    sameas: (value, [other]) => value === other && typeName(value) === typeName(other),
    divisibleby: (value, [by]) => modulo(value, by) === 0,
    even: (value) => modulo(value, 2) === 0,
    odd: (value) => Math.abs(modulo(value, 2)) === 1,
    lower: (value, _args, { spend }) => cased(value, spend, (text) => text.toLowerCase()),
    upper: (value, _args, { spend }) => cased(value, spend, (text) => text.toUpperCase()),
    in: (value, [whole], { spend }) => contains(whole, value, spend),
    filter: (value, _args, tools) => tools.isFilter(textOf(value, tools.spend)),
    test: (value, _args, { spend }) => TESTS.has(textOf(value, spend)),
    '==': equal,
    eq: equal,
    equalto: equal,
    '!=': different,
    ne: different,
    '<': less,
    lt: less,
    lessthan: less,
    '<=': lessOrEqual,
    le: lessOrEqual,
    '>': more,
    gt: more,
    greaterthan: more,
    '>=': moreOrEqual,
    ge: moreOrEqual,
  }),
)

const BINARY: readonly string[] = [
  'sameas',
  'divisibleby',
  'in',
  '==',
  'eq',
  'equalto',
  '!=',
  'ne',
  '<',
  'lt',
  'lessthan',
  '<=',
  'le',
  '>',
  'gt',
  'greaterthan',
  '>=',
  'ge',
]

/** Throws TemplateError for a test that Jinja does not know. */
export function satisfies(name: string, value: Value, args: readonly Value[], tools: Tools): boolean {
  const test = TESTS.get(name)
  if (test === undefined) throw new TemplateError('TemplateRuntimeError', `No test named '${name}' found.`)
  const wanted = BINARY.includes(name) ? 1 : 0
  if (args.length !== wanted)
    throw typeError(`the test '${name}' takes ${wanted} arguments, not ${args.length}`)
  return test(value, args, tools)
}
