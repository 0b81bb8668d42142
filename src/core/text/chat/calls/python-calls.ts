// Reads tool calls in Python's syntax, `[f(a=1), g(b='x')]`, as models write them.
import {
  type CallableTool,
  type CallableTools,
  callOf,
  NAME_CHARACTER,
  objectJson,
  type ParsedCall,
} from './call.ts'
import type { GrowingText, Reading } from './growing-text.ts'
import { itemsUpTo, pythonMembers, pythonValue } from './python-values.ts'

/** Maximum characters of a comment. */
const MAX_COMMENT = 4096

/**
 * Adds calls up to `end`, with or without brackets around them, separated by commas, semicolons or line ends.
 * Arguments are literals; those without a name take the names of the tool's properties in order.
 */
export function* pythonCalls(
  source: GrowingText,
  tools: CallableTools,
  found: ParsedCall[],
  end: string,
): Reading<void> {
  yield* source.blanks()
  const isList = yield* source.takes('[')
  const calls: ParsedCall[] = []
  for (;;) {
    const next = yield* source.blanks()
    if (isList ? yield* source.takes(']') : next === '' || (end !== '' && (yield* source.sees(end)))) break
    calls.push(yield* call(source, tools))
    do yield* source.blanks()
    while (yield* source.takes(',', ';'))
  }
  if (calls.length === 0) source.fail()
  found.push(...calls)
}

/**
 * Adds the calls in statements: calls, printed calls, and values that are assigned to a name and printed
 * later.
 */
export function* pythonStatements(
  source: GrowingText,
  tools: CallableTools,
  found: ParsedCall[],
  end: string,
): Reading<void> {
  const calls: ParsedCall[] = []
  const named = new Set<string>()
  while ((yield* source.blanks()) !== '' && !(yield* source.sees(end))) {
    if ((yield* source.peek()) === '#') yield* source.word(/[^\n]/, MAX_COMMENT)
    else if ((yield* source.peek()) === '[') yield* pythonCalls(source, tools, calls, end)
    else yield* statement(source, tools, calls, named)
    do yield* source.blanks()
    while (yield* source.takes(',', ';'))
  }
  if (calls.length === 0) source.fail()
  found.push(...calls)
}

function* statement(
  source: GrowingText,
  tools: CallableTools,
  calls: ParsedCall[],
  named: Set<string>,
): Reading<void> {
  const start = source.at
  const word = yield* source.word(NAME_CHARACTER)
  const next = yield* source.blanks()
  if (next === '=') {
    source.at += 1
    named.add(word)
    yield* source.blanks()
    calls.push(yield* call(source, tools))
  } else if (word === 'print' && !tools.has(word) && next === '(') {
    source.at += 1
    yield* source.blanks()
    const inside = source.at
    const name = yield* source.word(/\w/)
    if (!named.has(name)) {
      source.at = inside
      calls.push(yield* call(source, tools))
    }
    yield* source.blanks()
    yield* source.expect(')')
  } else {
    source.at = start
    calls.push(yield* call(source, tools))
  }
}

const MODULE = /^(?:default_api|functions|tools)\./

function* call(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  const word = yield* source.word(NAME_CHARACTER)
  // Llama 3.1 calls the tool's method `call`; Google's models put a module in front.
  const name = tools.has(word) ? word : word.replace(/\.call$/, '').replace(MODULE, '')
  const tool = tools.get(name) ?? source.fail()
  yield* source.blanks()
  yield* source.expect('(')
  return callOf(name, objectJson(yield* given(source, tool)), tools)
}

/** The arguments up to the closing bracket. */
function* given(source: GrowingText, { parameters }: CallableTool): Reading<[string, string][]> {
  const { properties } = (parameters ?? {}) as { properties?: object | null }
  const names = Object.keys(properties ?? {})
  let count = 0
  const items = yield* itemsUpTo(source, ')', function* (): Reading<[string, string][]> {
    if (yield* source.takes('**')) return yield* pythonMembers(source)
    const start = source.at
    const word = yield* source.word(/\w/)
    const isNamed = /^[A-Za-z_]/.test(word) && (yield* source.blanks()) === '='
    if (isNamed) source.at += 1
    else source.at = start
    const name = isNamed ? word : names[count]
    count += 1
    return [[name ?? source.fail(), yield* pythonValue(source)]]
  })
  return items.flat()
}
