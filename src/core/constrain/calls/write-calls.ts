// Writes the grammar of the text after the marker of a tool call, for every form that the parser reads.
import {
  CALL_MARKS,
  CALL_TAGS,
  type CallForm,
  type CallTags,
  DEEPSEEK,
  formOf,
  GEMMA_QUOTES,
  HUNYUAN_SEPARATOR,
  KIMI,
  LLAMA4_END,
  LONGCAT_PAIRS,
  letterOf,
  MARKERS,
  MISTRAL,
  type PairTags,
} from '../../base/calls/marks.ts'
import type { Grammar, NodeId } from '../grammar.ts'
import { colon, comma, space } from '../schema/json-text.ts'
import { schemaNode } from '../schema/values.ts'
import type { CallTool } from '../written-grammar.ts'
import { gemmaArguments } from './gemma-arguments.ts'
import { oneOrMore } from './parameters.ts'
import { pythonCall } from './python-arguments.ts'
import { invokedNode, pairsNode, tagsNode } from './tagged-arguments.ts'

/** Names that can be written in forms without quotes. */
const PLAIN_NAME = /^[\w.-]{1,256}$/
const TAG_NAME = /^[^<>\s]{1,256}$/

/**
 * For each marker: its letter, then a block of calls up to the closing text. In forms that may repeat the
 * marker before each call, a block is one call.
 */
export function callsNode(grammar: Grammar, tools: readonly CallTool[]): NodeId {
  const writer = new CallWriter(grammar, tools)
  const blank = space(grammar)
  const blocks = MARKERS.map((marker) => {
    const form = formOf(marker)
    const letter = grammar.text(letterOf(marker))
    const body = BODIES[form](writer, marker)
    // The marker is the start of a tag that closes together with its call.
    if (form === 'function' || form === 'minicpm') return grammar.seq(letter, body)
    const { close } = CALL_MARKS[form]
    const end = close === undefined ? grammar.empty : grammar.seq(blank, grammar.text(close))
    return grammar.seq(letter, blank, body, end)
  })
  return grammar.alt(...blocks)
}

class CallWriter {
  readonly grammar: Grammar
  readonly tools: readonly CallTool[]
  /** One call as JSON, and a list of such calls. */
  readonly json: NodeId
  readonly list: NodeId

  constructor(grammar: Grammar, tools: readonly CallTool[]) {
    this.grammar = grammar
    this.tools = tools
    this.json = grammar.rule(
      'call',
      grammar.alt(...tools.map((tool) => this.#between('{', this.#jsonCall(tool), '}'))),
    )
    this.list = this.#listOf(this.json)
  }

  #between(open: string, inside: NodeId, close: string): NodeId {
    const { grammar } = this
    const blank = space(grammar)
    return grammar.seq(grammar.text(open), blank, inside, blank, grammar.text(close))
  }

  #listOf(call: NodeId): NodeId {
    return this.#between('[', oneOrMore(this.grammar, call, comma(this.grammar)), ']')
  }

  /** A list of objects with the name as the key and the arguments as the value. */
  keyed(): NodeId {
    const { grammar } = this
    const calls = this.tools.map((tool) => {
      const key = grammar.text(JSON.stringify(tool.name))
      return this.#between('{', grammar.seq(key, colon(grammar), this.arguments(tool)), '}')
    })
    return this.#listOf(grammar.alt(...calls))
  }

  #jsonCall(tool: CallTool): NodeId {
    const { grammar } = this
    const key = (...names: readonly string[]) =>
      grammar.alt(...names.map((name) => grammar.text(`"${name}"`)))
    // Command R numbers its calls.
    const id = grammar.seq(key('tool_call_id'), colon(grammar), grammar.text('"0"'), comma(grammar))
    return grammar.seq(
      grammar.optional(id),
      key('name', 'tool_name'),
      colon(grammar),
      grammar.text(JSON.stringify(tool.name)),
      comma(grammar),
      key('arguments', 'parameters'),
      colon(grammar),
      this.arguments(tool),
    )
  }

  /** Arguments as JSON. They always form an object, whatever else the parameters allow. */
  arguments({ parameters }: CallTool): NodeId {
    return schemaNode(this.grammar, { ...parameters, type: 'object' })
  }

  /**
   * A call of any of the tools, written by `write`. Values that must differ are not compared, because the
   * call is not JSON.
   */
  each(fits: RegExp, write: (tool: CallTool) => NodeId): NodeId {
    this.grammar.isLoose = true
    const node = this.grammar.alt(...this.tools.filter(({ name }) => fits.test(name)).map(write))
    this.grammar.isLoose = false
    return node
  }

  /** The rest of `<function=f>..</function>`, from the name on: an object, or a tag for each argument. */
  functionCall(): NodeId {
    const { grammar } = this
    const blank = space(grammar)
    return this.each(TAG_NAME, (tool) => {
      const given = grammar.alt(grammar.seq(this.arguments(tool), blank), tagsNode(grammar, tool.parameters))
      return grammar.seq(grammar.text(`${tool.name}>`), blank, given, grammar.text('</function>'))
    })
  }

  /** A name, a separator and JSON. */
  named(before: string, separator: string, after = ''): NodeId {
    const { grammar } = this
    return this.each(PLAIN_NAME, (tool) =>
      grammar.seq(
        grammar.text(`${before}${tool.name}${separator}`),
        this.arguments(tool),
        grammar.text(after),
      ),
    )
  }

  /** A name followed by tags as in GLM's form. */
  paired(before: string, tags?: PairTags): NodeId {
    const { grammar } = this
    return this.each(PLAIN_NAME, ({ name, parameters }) =>
      grammar.seq(grammar.text(`${name}${before}`), pairsNode(grammar, parameters, tags)),
    )
  }

  /** The rest of `<invoke name="f">..</invoke>`, from the name on. */
  invoked(tags: CallTags): NodeId {
    const { grammar } = this
    return this.each(PLAIN_NAME, ({ name, parameters }) =>
      grammar.seq(
        grammar.text(`${name}">`),
        space(grammar),
        invokedNode(grammar, parameters, tags),
        grammar.text(`</${tags.call}>`),
      ),
    )
  }

  /** Calls separated by `between`. */
  several(call: NodeId, between: string): NodeId {
    return oneOrMore(this.grammar, call, this.grammar.text(between))
  }
}

type WriteBody = (writer: CallWriter, marker: string) => NodeId

const jsonOrList: WriteBody = ({ grammar, json, list }) => grammar.alt(json, list)

const gemma =
  (form: keyof typeof GEMMA_QUOTES): WriteBody =>
  (writer) =>
    writer.each(PLAIN_NAME, ({ name, parameters }) => {
      const { grammar } = writer
      return grammar.seq(
        grammar.text(`call:${name}`),
        gemmaArguments(grammar, parameters, GEMMA_QUOTES[form]),
      )
    })

const python = (writer: CallWriter): NodeId =>
  writer.each(PLAIN_NAME, (tool) => pythonCall(writer.grammar, tool))

/** Calls on separate lines. */
function invoked(writer: CallWriter, form: keyof typeof CALL_TAGS): NodeId {
  const { grammar } = writer
  const tags = CALL_TAGS[form]
  const call = grammar.seq(grammar.text(`<${tags.call} name="`), writer.invoked(tags))
  return writer.several(call, '\n')
}

const kimi: WriteBody = (writer, marker) => {
  const call = writer.named('functions.', `:0${KIMI.separator}`, KIMI.callEnd)
  if (marker === KIMI.call) return call
  const begun = writer.grammar.seq(writer.grammar.text(KIMI.call), call)
  return writer.grammar.seq(writer.several(begun, ''), writer.grammar.text(KIMI.sectionEnd))
}

/** All marks of the call have the marker's spelling. */
const deepSeek: WriteBody = (writer, marker) => {
  const { grammar } = writer
  const spelling = Math.max(DEEPSEEK.call.indexOf(marker), DEEPSEEK.section.indexOf(marker))
  const [call, separator, callEnd, sectionEnd] = [
    DEEPSEEK.call,
    DEEPSEEK.separator,
    DEEPSEEK.callEnd,
    DEEPSEEK.sectionEnd,
  ].map((spellings) => spellings[spelling]!) as [string, string, string, string]
  const one = grammar.alt(
    writer.named('', separator, callEnd),
    grammar.seq(grammar.text(`function${separator}`), writer.named('', '\n```json\n', `\n\`\`\`${callEnd}`)),
  )
  if (marker === call) return one
  return grammar.seq(writer.several(grammar.seq(grammar.text(call), one), ''), grammar.text(sectionEnd))
}

const BODIES: Readonly<Record<CallForm, WriteBody>> = {
  hermes(writer) {
    const { grammar } = writer
    const tagged = grammar.seq(grammar.text('<function='), writer.functionCall())
    return grammar.alt(writer.json, writer.list, tagged, writer.paired(''))
  },
  function: (writer) => writer.functionCall(),
  tools: jsonOrList,
  functionCall: jsonOrList,
  tool: jsonOrList,
  json: jsonOrList,
  mistral: (writer) => writer.grammar.alt(writer.list, writer.named('', MISTRAL.separator)),
  llama: (writer) => writer.json,
  phi4mini: jsonOrList,
  phi4: (writer) => writer.list,
  lfm2: (writer) => {
    const { grammar } = writer
    const calls = writer.several(python(writer), ', ')
    // MiniCPM 3 writes a fence between the same marks.
    const lines = writer.several(python(writer), '\n')
    const fenced = grammar.seq(grammar.text('```python\n'), lines, grammar.text('\n```'))
    return grammar.alt(grammar.seq(grammar.text('['), calls, grammar.text(']')), writer.list, fenced)
  },
  olmo3: (writer) => writer.several(python(writer), '\n'),
  gemma: gemma('gemma'),
  gemma4: gemma('gemma4'),
  command: (writer) => writer.list,
  seed: (writer) => writer.grammar.seq(writer.grammar.text('<function='), writer.functionCall()),
  nemotron: jsonOrList,
  apertus: (writer) => writer.keyed(),
  kimi,
  deepseek: deepSeek,
  list: (writer) => {
    const { grammar } = writer
    const call = grammar.alt(writer.named('', '\n```json\n', '\n```'), writer.paired(HUNYUAN_SEPARATOR))
    const tagged = grammar.seq(grammar.text('<tool_call>'), call, grammar.text('</tool_call>'))
    return grammar.alt(writer.json, writer.list, writer.several(tagged, '\n'))
  },
  toolcall: jsonOrList,
  longcat: (writer) => writer.grammar.alt(writer.json, writer.paired('', LONGCAT_PAIRS)),
  plugin: (writer) => writer.json,
  gigachat: (writer) => writer.json,
  clova: (writer) => writer.list,
  action: ({ grammar, list }) => grammar.seq(grammar.text('```json\n'), list, grammar.text('\n```')),
  llama4: (writer) => {
    const { grammar } = writer
    const calls = grammar.seq(grammar.text('['), writer.several(python(writer), ', '), grammar.text(']'))
    const end = grammar.text(LLAMA4_END)
    return grammar.alt(grammar.seq(calls, end), grammar.seq(end, writer.json))
  },
  minimax: (writer) => invoked(writer, 'minimax'),
  dsml: (writer, marker) =>
    writer.grammar.seq(invoked(writer, 'dsml'), writer.grammar.text(`\n</${marker.slice(1)}`)),
  minicpm: (writer) => writer.invoked(CALL_TAGS.minicpm),
}
