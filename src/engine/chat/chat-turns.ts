// Renders the messages and tools of the API through the model's template. Text in a message cannot end a
// turn.
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import { countValues, jsonParts, parseJson } from '../../core/base/json.ts'
import type { JsonObject } from '../../core/base/values.ts'
import {
  type ChatMessage,
  type ChatOptions,
  type ChatTemplate,
  chatTokens,
  type PartsForm,
  probeTurns,
  readsThoughtBlocks,
  thoughtBlocks,
} from '../../core/text/chat/chat-template.ts'
import type { TokenSource } from '../../core/text/detokenizer.ts'
import { pythonJson } from '../../core/text/jinja/to-json.ts'
import { GivenArguments, writtenNumber } from '../../core/text/jinja/values.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import type { Message, Tool, ToolCall } from '../types/conversation.ts'
import { type CallTurns, callTurnsOf, withKimiIds } from './call-turns.ts'
import { pictureMark, splitAtPictures } from './picture-marks.ts'

/** Quotes text, so that nothing in it can open or end a turn. */
interface TurnQuotes {
  /** Quotes text from a user, a tool or the application. */
  readonly given: (text: string) => string
  /** Quotes text from the model. Templates look for markers such as `<think>` in it, so these are kept. */
  readonly said: (text: string) => string
}

/** Quotes special tokens, and any other tokens that the template writes itself. */
export function turnQuotes(template: ChatTemplate, tokenizer: Tokenizer): TurnQuotes {
  const written = template.source + probeTurns(tokenizer, template)
  const isMarker = (spelling: string) =>
    /..\S/u.test(spelling) && /[^\p{L}\p{N}\s]/u.test(spelling) && written.includes(spelling)
  const isPaired = (spelling: string) =>
    /^<.*>$/.test(spelling) &&
    tokenizer.idOf(spelling[1] === '/' ? `<${spelling.slice(2)}` : `</${spelling.slice(1)}`) !== undefined
  return {
    given: tokenizer.quoter(isMarker),
    said: tokenizer.quoter((spelling) => isMarker(spelling) && !isPaired(spelling)),
  }
}

/** A model's templates, and how messages are adapted to them. */
interface TurnTemplates {
  readonly template: ChatTemplate
  /** The template for conversations with tools, if the model has a separate one. */
  readonly toolTemplate?: ChatTemplate | undefined
  /** The template for conversations with the variable `documents`, if the model has a separate one. */
  readonly documentTemplate?: ChatTemplate | undefined
  /** Whether system text is put at the beginning of the first question. */
  readonly mergesSystem?: boolean
  /** Whether the default template reads contents as lists of parts. Default: no. */
  readonly parts?: PartsForm | undefined
  /** The text with which templates mark an image. Default: none. */
  readonly pictureText?: string | undefined
}

/** The input of the template besides the messages. */
export interface TurnOptions {
  readonly tools?: readonly Tool[] | undefined
  /** Additional variables of the template. */
  readonly templateArguments?: JsonObject | undefined
  /** Whether the prompt ends with the beginning of the reply. Default true. */
  readonly addGenerationPrompt?: boolean | undefined
}

/**
 * If the template does not support tools, the system prompt describes them, and their calls and results are
 * written as plain text (docs/guide/tools.md). Image marks in the messages are also in the prompt. Throws
 * `format` if the template rejects the messages.
 */
export function renderTurns(
  templates: TurnTemplates,
  tokenizer: Tokenizer,
  messages: readonly Message[],
  options: TurnOptions = {},
  quotes = turnQuotes(templates.template, tokenizer),
): string {
  const { parts, pictureText = '' } = templates
  const marks = messages.flatMap(({ content }) => marksIn(content))
  const render = (contentOf: (text: string) => ChatMessage['content']) =>
    renderWith(templates, tokenizer, messages, options, quotes, contentOf)
  if (parts === undefined || (parts === 'accepted' && marks.length === 0)) return render((text) => text)
  if (marks.length > 0 && pictureText !== '') {
    const prompt = render((text) => partsOf(text, () => ({ type: 'image' })))
    const pieces = prompt.split(pictureText)
    // Some templates write different text before an image than before a text.
    if (pieces.length === marks.length + 1)
      return pieces.reduce((all, piece, index) => all + marks[index - 1] + piece)
  }
  return render((text) => partsOf(text, (mark) => ({ type: 'text', text: mark })))
}

/** The parts of a text that contains marks. */
function partsOf(text: string, pictureOf: (mark: string) => object): readonly object[] {
  const pieces = splitAtPictures(text, () => true).flatMap(({ plain, key }) => [
    ...(plain === '' ? [] : [{ type: 'text', text: plain }]),
    ...(key === undefined ? [] : [pictureOf(pictureMark(key))]),
  ])
  return pieces.length === 0 ? [{ type: 'text', text: '' }] : pieces
}

const marksIn = (text: string): string[] =>
  splitAtPictures(text, () => true).flatMap(({ key }) => (key === undefined ? [] : [pictureMark(key)]))

function renderWith(
  { template: usual, toolTemplate, documentTemplate, mergesSystem = false }: TurnTemplates,
  tokenizer: Tokenizer,
  messages: readonly Message[],
  { tools = [], templateArguments, addGenerationPrompt }: TurnOptions,
  quotes: TurnQuotes,
  contentOf: (text: string) => ChatMessage['content'],
): string {
  const template = (hasDocuments(templateArguments) ? documentTemplate : undefined) ?? usual
  const hasThoughts = messages.some(({ reasoning = '' }) => reasoning !== '')
  const forBlocks = hasThoughts && readsThoughtBlocks(tokenizer, template)
  const called = tools.length > 0 ? (toolTemplate ?? template) : template
  const hasCalls = messages.some(({ role, toolCalls = [] }) => role === 'tool' || toolCalls.length > 0)
  const callTurns = hasCalls ? callTurnsOf(tokenizer, called) : {}
  const turnsOf = (list: readonly Message[]) =>
    withKimiIds(mergesSystem ? withoutSystem(list) : list, called)
      .flatMap((message) => turnsOfMessage(message, quotes, contentOf, callTurns))
      .map((turn) => (forBlocks ? withBlocks(turn) : turn))
  const turns = turnsOf(messages)
  const options = {
    ...chatTokens(tokenizer),
    templateArguments,
    ...(addGenerationPrompt !== undefined && { addGenerationPrompt }),
  }
  if (tools.length === 0) return renderContent(template, turns, options)
  const described = tools.map((tool) => quoted(descriptionOf(tool), quotes.given) as object)
  const prompt = renderContent(called, turns, { ...options, tools: described })
  if (
    toolTemplate !== undefined ||
    prompt !== renderedOr(undefined, () => renderContent(template, turns, options))
  ) {
    return prompt
  }
  return renderContent(template, turnsOf(withToolText(messages, tools)), options)
}

const hasDocuments = ({ documents }: JsonObject = {}): boolean =>
  Array.isArray(documents) && documents.length > 0

/** The same conversation for a template that does not support tools. */
export function withToolText(messages: readonly Message[], tools: readonly Tool[]): readonly Message[] {
  const described = tools.map((tool) => JSON.stringify(descriptionOf(tool)))
  const told = [
    'You can call these functions:',
    ...described,
    'To call one, answer only with its name and its arguments, in this form:',
    '<tool_call>{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}</tool_call>',
    'The result comes in the next message. If no function helps, answer in words.',
  ].join('\n')
  const plain = messages.map(({ role, content, toolCalls = [] }): Message => {
    if (role === 'tool') {
      return { role: 'user', content: `<tool_response>${content}</tool_response>` }
    }
    const calls = toolCalls.map((call) => {
      const json = writtenArguments(call) ?? JSON.stringify(call.arguments)
      return `<tool_call>{"name":${JSON.stringify(call.name)},"arguments":${json}}</tool_call>`
    })
    return { role, content: [content, ...calls].filter((text) => text !== '').join('\n') }
  })
  const [first, ...rest] = plain
  if (first?.role !== 'system') return [{ role: 'system', content: told }, ...plain]
  return [{ ...first, content: `${first.content}\n\n${told}` }, ...rest]
}

/** The system prompt as the beginning of the first question. */
function withoutSystem(messages: readonly Message[]): readonly Message[] {
  const [first, second, ...rest] = messages
  if (first?.role !== 'system') return messages
  if (second?.role !== 'user') return [{ ...first, role: 'user' }, ...messages.slice(1)]
  return [{ ...second, content: `${first.content}\n\n${second.content}` }, ...rest]
}

/**
 * Messages without text have the content null, as in Transformers. If a template rejects that or prints it as
 * `None` or `null`, the content is the empty string.
 */
function renderContent(template: ChatTemplate, turns: readonly ChatMessage[], options: ChatOptions): string {
  if (turns.every(({ content }) => content !== null)) return template.render(turns, options)
  const worded = turns.map((turn) => ({ ...turn, content: turn.content ?? '' }))
  const empty = renderedOr(undefined, () => template.render(worded, options))
  if (empty === undefined) return template.render(turns, options)
  const prompt = renderedOr(empty, () => template.render(turns, options))
  const words = (text: string) => text.split(/None|null/).length
  return words(prompt) > words(empty) ? empty : prompt
}

function renderedOr<T>(fallback: T, render: () => string): string | T {
  try {
    return render()
  } catch (error) {
    if (isHalfbyteError(error)) return fallback
    throw error
  }
}

/** The tokenizer's tokens, in which those spelled like one of the texts count as plain text. */
export function withMarks(tokenizer: Tokenizer, texts: readonly string[]): TokenSource {
  if (texts.length === 0) return tokenizer
  const marks = new Set(texts.map((text) => tokenizer.idOf(text)))
  return {
    addsSpacePrefix: tokenizer.addsSpacePrefix,
    tokenBytes: (id) => tokenizer.tokenBytes(id),
    isSpecial: (id) => tokenizer.isSpecial(id) && !marks.has(id),
  }
}

/** The turns of a message: one, or for GLM-4 one per call. */
function turnsOfMessage(
  message: Message,
  quotes: TurnQuotes,
  contentOf: (text: string) => ChatMessage['content'],
  { textOf, hasMetadata = false, resultRole }: CallTurns,
): readonly ChatMessage[] {
  const { role, toolCalls = [], ...rest } = message
  if (role === 'tool' && resultRole === 'user') {
    const content = `<tool_response>\n${rest.content}\n</tool_response>`
    return [turnOf({ role: 'user', content }, quotes, contentOf)]
  }
  if (role === 'tool' && resultRole !== undefined)
    return [{ ...turnOf(message, quotes, contentOf), role: resultRole }]
  if (toolCalls.length === 0 || textOf === undefined) return [turnOf(message, quotes, contentOf)]
  const spoken = toolCalls.map((call) => ({
    name: quotes.said(call.name),
    json: quotes.said(writtenArguments(call) ?? pythonJson(call.arguments)),
  }))
  const turn = turnOf({ role, ...rest }, quotes, contentOf)
  if (hasMetadata) {
    const calls = spoken.map(({ name, json }) => ({ role, metadata: name, content: contentOf(json) }))
    return [...(rest.content === '' ? [] : [turn]), ...calls]
  }
  const text = [quotes.said(rest.content), textOf(spoken)].filter((part) => part !== '').join('\n')
  return [{ ...turn, content: contentOf(text) }]
}

/** A message as templates expect it, with the field names of OpenAI's API. */
function turnOf(
  { role, content, reasoning = '', toolCalls, toolCallId, name }: Message,
  quotes: TurnQuotes,
  contentOf: (text: string) => ChatMessage['content'],
): ChatMessage {
  const quote = role === 'assistant' ? quotes.said : quotes.given
  const calls = toolCalls?.map((call) => ({
    id: call.id,
    type: 'function',
    function: { name: quote(call.name), arguments: argumentsOf(call, quote) },
  }))
  return {
    role,
    content: content === '' && calls !== undefined && calls.length > 0 ? null : contentOf(quote(content)),
    ...(reasoning !== '' && { reasoning_content: quote(reasoning) }),
    // gpt-oss's template rejects a message with calls that has both a thought and text.
    ...(reasoning !== '' && !(content !== '' && calls?.length) && { thinking: quote(reasoning) }),
    ...(calls !== undefined && calls.length > 0 && { tool_calls: calls }),
    ...(toolCallId !== undefined && { tool_call_id: quote(toolCallId) }),
    ...(name !== undefined && { name: quote(name) }),
  }
}

/** The same turn with its thought only in its content: some templates reject a thought in both places. */
function withBlocks(turn: ChatMessage): ChatMessage {
  const { reasoning_content: thought, thinking: _, ...others } = turn
  const { content } = others
  if (typeof thought !== 'string' || (content !== null && typeof content !== 'string')) return turn
  return { ...others, content: thoughtBlocks(thought, content ?? '') }
}

/** A tool as templates expect it. */
export function descriptionOf({ name, description = '', parameters }: Tool): object {
  const none = { type: 'object', properties: {} }
  return { type: 'function', function: { name, description, parameters: parameters ?? none } }
}

/** Maximum nesting of lists and objects in arguments and schemas. */
const MAX_DEPTH = 500

/**
 * The same value with every text in it quoted. Throws `unsupported` if it is nested too deeply, for example
 * because it contains itself.
 */
function quoted(value: unknown, quote: (text: string) => string): unknown {
  if (countValues(value, MAX_DEPTH) !== undefined) return quotedWithin(value, quote)
  throw new HalfbyteError(
    'unsupported',
    `a tool or its arguments are nested more than ${MAX_DEPTH} levels deep; use fewer levels`,
  )
}

/** The arguments of a call with the model's own digits and order, if known. */
function argumentsOf(
  { arguments: given, argumentsJson }: ToolCall,
  quote: (text: string) => string,
): GivenArguments {
  const values = argumentsJson === undefined ? undefined : writtenValues(argumentsJson, quote)
  return new GivenArguments(values instanceof Map ? values : (quoted(given, quote) as JsonObject))
}

/**
 * The model's own JSON text of a call's arguments. Undefined if there is none, or it is not a JSON object.
 */
function writtenArguments({ argumentsJson }: ToolCall): string | undefined {
  if (argumentsJson === undefined) return undefined
  return writtenValues(argumentsJson, (text) => text) instanceof Map ? argumentsJson.trim() : undefined
}

/** The value of a JSON text, with objects as maps. Undefined if it is not JSON, or nests too deeply. */
function writtenValues(json: string, quote: (text: string) => string): unknown {
  try {
    parseJson(json, MAX_DEPTH)
  } catch {
    return undefined
  }
  const read = (text: string): unknown => {
    if (text.startsWith('[')) return jsonParts(text).map((part) => read(part.text))
    if (text.startsWith('{'))
      return new Map(jsonParts(text).map((part) => [quote(part.name), read(part.text)]))
    if (text.startsWith('"')) return quote(JSON.parse(text))
    return /^[-\d]/.test(text) ? writtenNumber(text) : JSON.parse(text)
  }
  return read(json.trim())
}

function quotedWithin(value: unknown, quote: (text: string) => string): unknown {
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return value.map((item) => quotedWithin(item, quote))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [quote(key), quotedWithin(item, quote)]),
  )
}
