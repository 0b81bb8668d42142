// A reader for the calls of each form, after the mark that opens them. `base/calls/marks.ts` shows the forms.
//
// A whole reply may also be a call without a mark: JSON, a list of f(a=1), or either in a fence.
import {
  CALL_MARKS,
  CALL_TAGS,
  type CallForm,
  DEEPSEEK,
  formOf,
  GEMMA_QUOTES,
  HUNYUAN_SEPARATOR,
  KIMI,
  LLAMA4_END,
  LONGCAT_PAIRS,
  MISTRAL,
} from '../../../base/calls/marks.ts'
import { type CallableTools, callOf, NAME_CHARACTER, type ParsedCall } from './call.ts'
import { CUT, type GrowingText, MISMATCH, type Reading } from './growing-text.ts'
import { invokedCall } from './invoke-calls.ts'
import { fencedJson, inFence, jsonCalls, jsonRun, jsonText, keyedCalls } from './json-calls.ts'
import { pythonCalls, pythonStatements } from './python-calls.ts'
import { functionCall, gemmaCall, knownTool, pairedCall, pairsOf } from './tagged-calls.ts'

/**
 * Reads a block of calls and adds each to `found` once it is complete, or all at once if the form is a list.
 * Throws `MISMATCH` or `CUT`.
 */
export type ReadCalls = (source: GrowingText, tools: CallableTools, found: ParsedCall[]) => Reading<void>

const HERMES = CALL_MARKS.hermes.open[0]!
const HERMES_END = CALL_MARKS.hermes.close!
const FUNCTION = CALL_MARKS.function.open[0]!

/** The reader of the text that follows one of `MARKERS`. */
export function readerAfter(marker: string): ReadCalls {
  return READERS[formOf(marker)](marker)
}

/**
 * Reads the text that closes a block. If the reply ends here, that text may be incomplete or missing. If
 * `isOptional`, other text may follow instead.
 */
function* closing(source: GrowingText, marks: readonly string[], isOptional = false): Reading<void> {
  const start = source.at
  yield* source.blanks()
  if (yield* source.takes(...marks)) return
  const rest = source.text.slice(source.at)
  if (source.isOver && marks.some((mark) => mark.startsWith(rest))) source.at = source.text.length
  else if (isOptional) source.at = start
  else throw MISMATCH
}

function* ended(source: GrowingText): Reading<void> {
  if ((yield* source.blanks()) !== '') throw MISMATCH
}

/** A block between the marks of `form`. `isOptional`: the closing text may be missing. */
const enclosed = (form: CallForm, read: ReadCalls, isOptional = false): ReadCalls =>
  function* (source, tools, found) {
    yield* source.blanks()
    yield* read(source, tools, found)
    yield* closing(source, [CALL_MARKS[form].close!], isOptional)
  }

/** JSON, or Python calls up to the form's closing text, perhaps in a fence. */
const listed = (form: CallForm): ReadCalls =>
  enclosed(form, function* (source, tools, found) {
    if (yield* isJsonNext(source)) yield* jsonValue(source, tools, found)
    else if (yield* source.sees('```')) yield* inFence(source, () => pythonCalls(source, tools, found, '```'))
    else yield* pythonCalls(source, tools, found, CALL_MARKS[form].close!)
  })

function* jsonValue(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  yield* source.blanks()
  found.push(...(yield* jsonCalls(source, tools)))
}

/** Whether an object or a list of objects comes next. */
function* isJsonNext(source: GrowingText): Reading<boolean> {
  const first = yield* source.blanks()
  if (first !== '[') return first === '{'
  const start = source.at
  source.at += 1
  const next = yield* source.blanks()
  source.at = start
  return next === '{' || next === '"'
}

const gemma = (form: keyof typeof GEMMA_QUOTES): ReadCalls =>
  enclosed(
    form,
    single((source, tools) => gemmaCall(source, tools, GEMMA_QUOTES[form])),
  )

/** Calls that each have their own marks, in a section enclosed in marks. */
const section = (
  call: readonly string[],
  end: readonly string[],
  readCall: (source: GrowingText, tools: CallableTools) => Reading<ParsedCall>,
): ReadCalls =>
  function* (source, tools, found) {
    yield* source.blanks()
    yield* source.expect(...call)
    do {
      found.push(yield* readCall(source, tools))
      yield* source.blanks()
    } while (yield* source.takes(...call))
    yield* closing(source, end, true)
  }

const single = (readCall: (source: GrowingText, tools: CallableTools) => Reading<ParsedCall>): ReadCalls =>
  function* (source, tools, found) {
    found.push(yield* readCall(source, tools))
  }

/** The call to `name` with JSON arguments, which may be in a fence. */
function* argumentsOf(
  name: string,
  source: GrowingText,
  tools: CallableTools,
  end: readonly string[],
): Reading<ParsedCall> {
  if (!tools.has(name)) source.fail()
  yield* source.blanks()
  const isEmpty = yield* source.sees(end[0]!)
  const call = callOf(name, isEmpty ? '{}' : yield* inFence(source, () => jsonText(source)), tools)
  yield* closing(source, end)
  return call
}

/** `function<sep>f` and fenced JSON; since V3.1, `f<sep>` and JSON. */
function* deepSeekCall(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  yield* source.blanks()
  const first = yield* source.word(NAME_CHARACTER)
  yield* source.blanks()
  yield* source.expect(...DEEPSEEK.separator)
  const isOld = first === 'function' && (yield* source.blanks()) !== '{'
  return yield* argumentsOf(
    isOld ? yield* source.word(NAME_CHARACTER) : first,
    source,
    tools,
    DEEPSEEK.callEnd,
  )
}

/** `functions.f:0`, then JSON. */
function* kimiCall(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  yield* source.blanks()
  const id = yield* source.word(NAME_CHARACTER)
  yield* source.blanks()
  yield* source.expect(KIMI.separator)
  const name = id.replace(/^functions\./, '').replace(/:\d+$/, '')
  return yield* argumentsOf(name, source, tools, [KIMI.callEnd])
}

/** One or more of `<function=f>..</function>`. */
function* functionCalls(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  do {
    yield* source.expect(FUNCTION)
    found.push(yield* functionCall(source, tools))
    yield* source.blanks()
  } while (yield* source.sees(FUNCTION))
}

/** Skips the surplus closing braces that some models write before the end mark. */
function* surplusBraces(source: GrowingText): Reading<void> {
  const start = source.at
  yield* source.word(/[}\s]/)
  if (!(yield* source.sees(HERMES_END))) source.at = start
}

function* hermesBody(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  const first = yield* source.peek()
  if (yield* source.sees(FUNCTION)) yield* functionCalls(source, tools, found)
  else if (['{', '[', '`'].includes(first)) yield* fencedJson(source, tools, found)
  else found.push(yield* pairedCall(source, tools, HERMES_END))
}

/** A list or one object; since 2506, a name, optionally an id, and the arguments. */
function* mistral(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  const first = yield* source.blanks()
  if (first === '[' || first === '{') return yield* jsonValue(source, tools, found)
  const { name } = yield* knownTool(source, tools)
  yield* source.blanks()
  if (yield* source.takes(MISTRAL.id)) {
    yield* source.blanks()
    yield* source.word(/[\w-]/)
  }
  yield* source.blanks()
  yield* source.takes(MISTRAL.separator)
  yield* source.blanks()
  found.push(callOf(name, yield* jsonText(source), tools))
}

function* llama(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  if ((yield* source.blanks()) === '{') yield* jsonRun(source, tools, found)
  else yield* pythonCalls(source, tools, found, '')
  yield* ended(source)
}

/** JSON, or calls in tags of their own, each in the form of `hermes` or as a name and JSON in a fence. */
function* list(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  if (!(yield* source.sees(HERMES))) return yield* fencedJson(source, tools, found)
  while (yield* source.takes(HERMES)) {
    const first = yield* source.blanks()
    if (first === '{' || first === '<') yield* hermesBody(source, tools, found)
    else found.push(yield* namedCall(source, tools))
    yield* source.blanks()
    yield* source.expect(HERMES_END)
    yield* source.blanks()
  }
}

function* namedCall(source: GrowingText, tools: CallableTools): Reading<ParsedCall> {
  const tool = yield* knownTool(source, tools)
  yield* source.blanks()
  yield* source.takes(HUNYUAN_SEPARATOR)
  const next = yield* source.blanks()
  if (next !== '{' && next !== '`') return yield* pairsOf(tool, source, tools, HERMES_END)
  return callOf(tool.name, yield* inFence(source, () => jsonText(source)), tools)
}

function* longcat(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  if ((yield* source.peek()) === '{') yield* jsonValue(source, tools, found)
  else found.push(yield* pairedCall(source, tools, CALL_MARKS.longcat.close!, LONGCAT_PAIRS))
}

/** Calls between the marks, or JSON after them. */
function* llama4(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  yield* source.blanks()
  yield* source.takes(LLAMA4_END)
  if (yield* isJsonNext(source)) yield* jsonRun(source, tools, found)
  else yield* pythonCalls(source, tools, found, LLAMA4_END)
  yield* closing(source, [LLAMA4_END], true)
}

/** Calls up to the closing tag of the marker. */
const invoked = (form: keyof typeof CALL_TAGS, marker: string): ReadCalls =>
  function* (source, tools, found) {
    const tags = CALL_TAGS[form]
    yield* source.blanks()
    do {
      yield* source.expect(`<${tags.call} name="`)
      found.push(yield* invokedCall(source, tools, tags))
      yield* source.blanks()
    } while (yield* source.sees(`<${tags.call} name="`))
    yield* closing(source, [`</${marker.slice(1)}`])
  }

/** The name of a tool on its own line, then JSON. */
function* nameLine(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  const { name } = yield* knownTool(source, tools)
  yield* source.blanks()
  found.push(callOf(name, yield* jsonText(source), tools))
}

const READERS: Readonly<Record<CallForm, (marker: string) => ReadCalls>> = {
  hermes: () =>
    function* (source, tools, found) {
      const isJson = ['{', '['].includes(yield* source.blanks())
      yield* hermesBody(source, tools, found)
      if (isJson) yield* surplusBraces(source)
      yield* source.blanks()
      // The end of JSON is unambiguous, and models forget the mark before the next call.
      if (!isJson || !(yield* source.sees(HERMES))) yield* closing(source, [HERMES_END])
    },
  function: () =>
    function* (source, tools, found) {
      found.push(yield* functionCall(source, tools))
      yield* closing(source, [HERMES_END], true)
    },
  tools: () => enclosed('tools', fencedJson),
  functionCall: () => enclosed('functionCall', fencedJson),
  tool: () => enclosed('tool', fencedJson),
  json: () => enclosed('json', fencedJson),
  mistral: () => mistral,
  llama: () => llama,
  phi4mini: () => enclosed('phi4mini', jsonValue, true),
  phi4: () =>
    function* (source, tools, found) {
      if ((yield* source.blanks()) !== '[') throw MISMATCH
      yield* jsonValue(source, tools, found)
    },
  lfm2: () => listed('lfm2'),
  olmo3: () => listed('olmo3'),
  gemma: () => gemma('gemma'),
  gemma4: () => gemma('gemma4'),
  command: () => listed('command'),
  seed: () => enclosed('seed', functionCalls),
  nemotron: () => enclosed('nemotron', jsonValue),
  apertus: () =>
    enclosed('apertus', function* (source, tools, found) {
      found.push(...(yield* keyedCalls(source, tools)))
    }),
  kimi: (marker) =>
    marker === KIMI.call ? single(kimiCall) : section([KIMI.call], [KIMI.sectionEnd], kimiCall),
  deepseek: (marker) =>
    DEEPSEEK.call.includes(marker)
      ? single(deepSeekCall)
      : section(DEEPSEEK.call, DEEPSEEK.sectionEnd, deepSeekCall),
  list: () => enclosed('list', list),
  toolcall: () => enclosed('toolcall', fencedJson),
  longcat: () => enclosed('longcat', longcat),
  plugin: () => enclosed('plugin', fencedJson),
  gigachat: () => jsonValue,
  clova: () => jsonValue,
  action: () => fencedJson,
  llama4: () => llama4,
  minimax: (marker) => invoked('minimax', marker),
  dsml: (marker) => invoked('dsml', marker),
  minicpm: () => single((source, tools) => invokedCall(source, tools, CALL_TAGS.minicpm)),
}

const JSON_STARTS = [
  'name',
  'type',
  'function',
  'tool_calls',
  'arguments',
  'parameters',
  'id',
  'tool_name',
].flatMap((key) => [`{"${key}"`, `[{"${key}"`])
const JSON_FENCES = ['```json', '```tool_call', '```']
const PYTHON_FENCE = '```tool_code'

/** How calls without a marker begin, ignoring whitespace. */
export function bareStarts(tools: CallableTools): readonly string[] {
  return [
    ...JSON_STARTS,
    ...JSON_FENCES.flatMap((fence) => JSON_STARTS.map((start) => fence + start)),
    // GLM-4 writes the name on the same line as its own role.
    ...[...tools.keys()].flatMap((name) => [`[${name}(`, `${name}{`]),
    ...(tools.size > 0 ? [PYTHON_FENCE] : []),
  ]
}

/** A whole reply that begins with one of `bareStarts`. */
export function* bareCalls(source: GrowingText, tools: CallableTools, found: ParsedCall[]): Reading<void> {
  const first = yield* source.blanks()
  const calls: ParsedCall[] = []
  if (yield* source.takes(PYTHON_FENCE)) {
    yield* pythonStatements(source, tools, calls, '```')
    yield* source.expect('```')
  } else if (first === '`') yield* fencedJson(source, tools, calls)
  else if (yield* isJsonNext(source)) yield* bareJson(source, tools, calls)
  else if (first === '[') yield* pythonCalls(source, tools, calls, '')
  else yield* nameLine(source, tools, calls)
  yield* ended(source)
  found.push(...calls)
}

/** JSON values. If the last one is cut off, the earlier ones still count. */
function* bareJson(source: GrowingText, tools: CallableTools, calls: ParsedCall[]): Reading<void> {
  try {
    yield* jsonRun(source, tools, calls)
    yield* closing(source, [HERMES_END], true)
  } catch (error) {
    if (error !== CUT || calls.length === 0) throw error
    source.at = source.text.length
  }
}
