// Chooses a call for a message, for models whose template describes no tools. In: an engine, a message,
// tools. Out: a complete call, or none.
import type { Engine } from '../../../engine/api/engine.ts'
import type { Message, ToolCall } from '../../../engine/api/types.ts'
import { type ArgumentForms, argumentsFrom } from './arguments-from.ts'
import { type AssistTool, type AssistToolName, assistTools } from './assist-tools.ts'

/** Options of `chooseCall` and `assistOffer`; every key is optional. */
export interface ChooseOptions {
  /** The tools to choose from. Default: all of `assistTools()`. */
  readonly tools?: readonly AssistTool[] | undefined
  /** Aborting rejects with the signal's reason. Default: none. */
  readonly signal?: AbortSignal | undefined
}

/** Maximum tokens of a call. */
const MAX_TOKENS = 96
const NONE = { name: 'none' }

/**
 * A message of each kind with its call. A model of 100 million weights follows examples, not descriptions.
 */
const EXAMPLES: readonly (readonly [string, AssistToolName | 'none', Readonly<Record<string, unknown>>])[] = [
  ['We have 4 boxes of 6 eggs and used 5. How many are left?', 'calculate', { expression: '4 * 6 - 5' }],
  ['My bag weighs 12 kg. How many pounds is that?', 'convert_units', { value: 12, from: 'kg', to: 'pounds' }],
  ['Thanks, that was nice!', 'none', {}],
  ['What time is it in London?', 'time_in', { place: 'London' }],
  ['A jacket costs 80 and is 30 % off. I buy 2.', 'calculate', { expression: '80 * (1 - 30%) * 2' }],
  ['How long is it until 5 March 2031?', 'days_between', { from: 'today', to: '2031-03-05' }],
  ['What are 4 good books about the sea?', 'none', {}],
  ['Which day is it?', 'current_date', {}],
]

const saidCall = (name: string, args: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(name === 'none' ? NONE : { name, arguments: args })

/**
 * The call that a model chooses for a message; undefined if it chooses none. The reply is constrained to a
 * complete call whose numbers, units, dates and places are those of the message, so this works with any
 * model; a separate session leaves the conversation's state alone. Use `needsTool` first: small models
 * choose a tool for anything.
 */
export async function chooseCall(
  engine: Engine,
  message: string,
  { tools = assistTools(), signal }: ChooseOptions = {},
): Promise<ToolCall | undefined> {
  const session = engine.createSession({ system: systemText(tools) })
  try {
    session.setMessages(examplesFor(tools))
    const schema = schemaOf(tools, argumentsFrom(message, new Date()))
    const options = { temperature: 0, maxTokens: MAX_TOKENS, compact: true, reasoning: false } as const
    const { text, finishReason } = await session.send(message, { ...options, schema, signal }).result
    return finishReason === 'stop' ? callOf(text) : undefined
  } finally {
    await session.dispose()
  }
}

/**
 * The message with the result of a call, for the model that answers it. Small models recompute a value that
 * they are merely told, so the text asks for the result.
 */
export const withResult = (message: string, { name, arguments: given }: ToolCall, result: string): string => {
  const asked = Object.values(given).join(' ')
  const fact =
    name === 'calculate' ? `${asked} = ${result}` : name === 'convert_units' ? `${asked}: ${result}` : result
  return `${message}\n\n(This was worked out: ${fact}\nAnswer in one sentence, with this result.)`
}

/** Includes schemas: from signatures alone, a model of half a billion weights chooses fewer correct calls. */
const systemText = (tools: readonly AssistTool[]): string =>
  [
    'Choose the function that works out what the message asks for. Answer in JSON: its name, and its arguments. If none helps, the name is "none".',
    ...tools.map(({ name, description, parameters }) => JSON.stringify({ name, description, parameters })),
  ].join('\n')

const examplesFor = (tools: readonly AssistTool[]): readonly Message[] =>
  EXAMPLES.filter(([, name]) => name === 'none' || tools.some((tool) => tool.name === name)).flatMap(
    ([asked, name, args]): readonly Message[] => [
      { role: 'user', content: asked },
      { role: 'assistant', content: saidCall(name, args) },
    ],
  )

const schemaOf = (tools: readonly AssistTool[], forms: ArgumentForms): object => ({
  anyOf: [
    ...tools.flatMap(({ name }) => {
      const form = forms[name]
      const properties = { name: { const: name }, arguments: form }
      return form === undefined ? [] : [{ type: 'object', properties, required: ['name', 'arguments'] }]
    }),
    { type: 'object', properties: { name: { const: NONE.name } }, required: ['name'] },
  ],
})

function callOf(text: string): ToolCall | undefined {
  const { name, arguments: given = {} } = JSON.parse(text)
  return name === NONE.name ? undefined : { id: callId(), name, arguments: given }
}

/** Nine letters and digits, as in the calls that sessions report. */
const callId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(9)), (byte) => (byte % 36).toString(36)).join('')
