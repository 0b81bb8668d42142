// Calls and results of earlier turns, for templates that omit them or expect other fields.

import { CALL_FORMS, CALL_MARKS, type CallForm, KIMI } from '../../core/base/calls/marks.ts'
import { jsonParts } from '../../core/base/json.ts'
import { callPlacesOf } from '../../core/text/chat/call-places.ts'
import type { ChatTemplate } from '../../core/text/chat/chat-template.ts'
import type { Tokenizer } from '../../core/text/tokenize/tokenizer.ts'
import type { Message, ToolCall } from '../types/conversation.ts'

/** How calls and results are passed to a template. */
export interface CallTurns {
  /** Writes the calls as the model's text; absent if the template writes `tool_calls`. */
  readonly textOf?: ((calls: readonly SpokenCall[]) => string) | undefined
  /** Each call is a separate message with its name as `metadata`, as GLM-4 expects. */
  readonly hasMetadata?: boolean
  /** The role of results, if the template ignores `tool`. */
  readonly resultRole?: 'observation' | 'user'
}

/** A call with its arguments as JSON text. */
interface SpokenCall {
  readonly name: string
  readonly json: string
}

const jsonCall = ({ name, json }: SpokenCall): string =>
  `{"name": ${JSON.stringify(name)}, "arguments": ${json}}`

const pythonCall = ({ name, json }: SpokenCall): string =>
  `${name}(${jsonParts(json)
    .map((part) => `${part.name}=${pythonLiteral(part.text)}`)
    .join(', ')})`

const PYTHON_WORDS = new Map([
  ['null', 'None'],
  ['true', 'True'],
  ['false', 'False'],
])

/** A JSON value as a Python literal, with the same digits. */
function pythonLiteral(json: string): string {
  if (json.startsWith('['))
    return `[${jsonParts(json)
      .map(({ text }) => pythonLiteral(text))
      .join(', ')}]`
  if (!json.startsWith('{')) return PYTHON_WORDS.get(json) ?? json
  const members = jsonParts(json).map(({ name, text }) => `${JSON.stringify(name)}: ${pythonLiteral(text)}`)
  return `{${members.join(', ')}}`
}

const { hermes, lfm2, phi4mini } = CALL_MARKS

/** How to write calls in the form of models whose templates omit them. */
const SPOKEN: Partial<Record<CallForm, (calls: readonly SpokenCall[]) => string>> = {
  hermes: (calls) => calls.map((call) => `${hermes.open[0]}\n${jsonCall(call)}\n${hermes.close}`).join('\n'),
  lfm2: (calls) => `${lfm2.open[0]}[${calls.map(pythonCall).join(', ')}]${lfm2.close}`,
  phi4mini: (calls) => `${phi4mini.open[0]}[${calls.map(jsonCall).join(', ')}]`,
}

/** The form in which the model writes calls, found by its template or else by its tokens. */
function spokenForm(tokenizer: Tokenizer, { source }: ChatTemplate): CallForm {
  const forms = CALL_FORMS.filter((form) => SPOKEN[form] !== undefined)
  const isNamed = (form: CallForm) => CALL_MARKS[form].open.some((mark) => source.includes(mark))
  const isToken = (form: CallForm) => CALL_MARKS[form].open.some((mark) => tokenizer.idOf(mark) !== undefined)
  return forms.find(isNamed) ?? forms.find(isToken) ?? 'hermes'
}

export function callTurnsOf(tokenizer: Tokenizer, template: ChatTemplate): CallTurns {
  const { writesCalls, writesResults } = callPlacesOf(tokenizer, template)
  const hasObservations = /\bobservation\b/.test(template.source)
  return {
    ...(!writesCalls && { textOf: SPOKEN[spokenForm(tokenizer, template)] }),
    ...(!writesCalls && hasObservations && { hasMetadata: /\bmetadata\b/.test(template.source) }),
    ...(!writesResults && { resultRole: hasObservations ? 'observation' : 'user' }),
  }
}

/**
 * The same messages, with ids that combine each call's name and number if the template writes ids like Kimi
 * K2's.
 */
export function withKimiIds(messages: readonly Message[], { source }: ChatTemplate): readonly Message[] {
  if (!source.includes(KIMI.separator)) return messages
  const ids = new Map<string, string>()
  const idOf = ({ id, name }: ToolCall): string => {
    ids.set(id, `functions.${name}:${ids.size}`)
    return ids.get(id)!
  }
  return messages.map((message) => ({
    ...message,
    ...(message.toolCalls && { toolCalls: message.toolCalls.map((call) => ({ ...call, id: idOf(call) })) }),
    ...(message.toolCallId !== undefined && {
      toolCallId: ids.get(message.toolCallId) ?? message.toolCallId,
    }),
  }))
}
