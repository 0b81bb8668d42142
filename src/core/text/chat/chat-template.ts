// Chat templates: renders messages as a prompt, encodes it, and finds the ids that end a turn.
import { Budget } from '../../base/budget.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../base/errors.ts'
import type { JsonObject } from '../../base/values.ts'
import { globals, TemplateRefusal } from '../jinja/globals.ts'
import { parse } from '../jinja/parser.ts'
import { Scope, TemplateRun } from '../jinja/run.ts'
import { fromJson } from '../jinja/values.ts'
import { freeNames } from '../jinja/variables.ts'
import type { Tokenizer } from '../tokenize/tokenizer.ts'

/** One turn. Other fields (`tool_calls`, `name`) are passed to the template unchanged. */
export interface ChatMessage {
  /** Most templates support `system`, `user` and `assistant`; some also `tool`. */
  readonly role: string
  /**
   * `null` if there is no text, for example in a message with tool calls; templates test `content is none`. A
   * list of blocks for templates that expect the thought in such a list.
   */
  readonly content: string | null | readonly object[]
  readonly [field: string]: unknown
}

export interface ChatOptions {
  /** Ends the prompt with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean
  /** The values of `bos_token` and `eos_token` in the template. Default empty. */
  readonly bosToken?: string | undefined
  readonly eosToken?: string | undefined
  /** Functions that the model may call, described by JSON schema objects. */
  readonly tools?: readonly object[] | undefined
  /** Additional variables for the template, such as `enable_thinking`. */
  readonly templateArguments?: JsonObject | undefined
  /** The date, for templates that pass it to the model. Default now. */
  readonly now?: Date | undefined
}

/** The template of models that have ChatML's tokens but no template. */
export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/**
 * The template of base models: plain text without roles. A reply continues the last message, so it follows
 * directly. Every other message begins on a new line.
 */
export const PLAIN =
  "{{ bos_token }}{% for message in messages %}{% if not loop.first and message['role'] != 'assistant' %}{{ '\\n' }}{% endif %}" +
  "{{ message['content'] }}{% endfor %}"

const MAX_TEMPLATE_LENGTH = 1 << 20
/** How many work units rendering may take, and how many more per input character; see ../jinja/run.ts. */
const RENDER_UNITS = 1 << 26
const UNITS_PER_CHARACTER = 512
/** Variables that the engine sets itself. */
export const GIVEN_VARIABLES: readonly string[] = [
  'messages',
  'tools',
  'add_generation_prompt',
  'bos_token',
  'eos_token',
]

/** A template that is parsed once and renders many prompts. */
export class ChatTemplate {
  readonly source: string
  readonly #program: ReturnType<typeof parse>

  /** Throws `format` if the template cannot be parsed. */
  constructor(source: string) {
    if (source.length > MAX_TEMPLATE_LENGTH) {
      throw templateError(`has ${source.length} characters; the limit is ${MAX_TEMPLATE_LENGTH}`)
    }
    this.source = source
    this.#program = attempt('cannot be read', () => parse(source))
  }

  /** Variables that the template reads and a caller can set, such as `enable_thinking`. */
  variables(): readonly string[] {
    const functions = globals(new Date(0), () => undefined)
    return [...freeNames(this.#program)].filter(
      (name) => !GIVEN_VARIABLES.includes(name) && !functions.has(name),
    )
  }

  /**
   * Throws `format` if the template rejects the messages, with the template's own message, or if rendering
   * takes too much work.
   */
  render(messages: readonly ChatMessage[], options: ChatOptions = {}): string {
    const { addGenerationPrompt = true, bosToken = '', eosToken = '', tools, now = new Date() } = options
    const { templateArguments = {} } = options
    return attempt('cannot render these messages', () => {
      const budget = new Budget({
        work: RENDER_UNITS + UNITS_PER_CHARACTER * lengthOf([messages, tools, templateArguments]),
        refuse: ({ most }) => templateError(`exceeds the limit of ${most} steps and characters`),
      })
      const spend = (units: number) => budget.spend(units)
      const variables = new Scope()
      for (const [name, value] of globals(now, spend)) variables.variables.set(name, value)
      const given = {
        ...templateArguments,
        messages,
        add_generation_prompt: addGenerationPrompt,
        bos_token: bosToken,
        eos_token: eosToken,
        // Templates test `tools is none`. In Jinja, undefined is not none but null is.
        tools: tools ?? null,
        documents: templateArguments['documents'] ?? null,
      }
      for (const [name, value] of Object.entries(given)) variables.variables.set(name, fromJson(value, spend))
      return new TemplateRun(spend).render(this.#program, variables)
    })
  }
}

/** The model's own template; without one, ChatML if the model has ChatML's tokens, otherwise plain text. */
export function chatTemplateOf(tokenizer: Tokenizer): string {
  if (tokenizer.chatTemplate?.trim()) return tokenizer.chatTemplate
  const isChatMl = tokenizer.idOf('<|im_start|>') !== undefined && tokenizer.idOf('<|im_end|>') !== undefined
  return isChatMl ? CHATML : PLAIN
}

/** The prompt, or an empty one if the template rejects the messages. */
export function promptOf(
  tokenizer: Tokenizer,
  template: ChatTemplate,
  messages: readonly ChatMessage[],
  options: ChatOptions = {},
): string {
  try {
    return template.render(messages, { ...chatTokens(tokenizer), ...options })
  } catch (error) {
    if (isHalfbyteError(error)) return ''
    throw error
  }
}

/** Whether the template does not support a system message: it rejects the message or ignores it. */
export function lacksSystem(tokenizer: Tokenizer, template: ChatTemplate): boolean {
  const tells = (messages: readonly ChatMessage[]) => promptOf(tokenizer, template, messages).includes(PROBE)
  const question = { role: 'user', content: 'a' }
  return !tells([{ role: 'system', content: PROBE }, question]) && tells([{ role: 'user', content: PROBE }])
}

/** Whether the template describes the given tools to the model. */
export function describesTools(tokenizer: Tokenizer, template: ChatTemplate): boolean {
  const parameters = { type: 'object', properties: {} }
  const tools = [{ type: 'function', function: { name: PROBE, description: '', parameters } }]
  return promptOf(tokenizer, template, [{ role: 'user', content: 'a' }], { tools }).includes(PROBE)
}

/** An answer and its preceding thought in the form that Magistral's templates read. */
export const thoughtBlocks = (thought: string, text: string): readonly object[] => [
  { type: 'thinking', thinking: thought, closed: true },
  ...(text === '' ? [] : [{ type: 'text', text }]),
]

/** Whether the template reads a thought from a list of blocks. */
export function readsThoughtBlocks(tokenizer: Tokenizer, template: ChatTemplate): boolean {
  if (!/(['"])thinking\1/.test(template.source)) return false
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: thoughtBlocks(PROBE, 'b') },
  ]
  return readsParts(promptOf(tokenizer, template, messages, { addGenerationPrompt: false }))
}

/**
 * Whether a prompt contains the text of a part. Templates that do not support parts write the list itself.
 */
const readsParts = (prompt: string): boolean => prompt.includes(PROBE) && !/(['"])type\1/.test(prompt)

/**
 * Whether a template reads contents as lists of parts, as templates of vision models do: only as lists, or as
 * plain text as well.
 */
export type PartsForm = 'needed' | 'accepted'

/** Undefined if the template does not write the text of parts. */
export function partsFormOf(tokenizer: Tokenizer, template: ChatTemplate): PartsForm | undefined {
  if (!/(['"])text\1|\.text\b/.test(template.source)) return undefined
  const tells = (content: string | readonly object[]) =>
    readsParts(promptOf(tokenizer, template, [{ role: 'user', content }]))
  if (!tells([{ type: 'text', text: PROBE }])) return undefined
  return tells(PROBE) ? 'accepted' : 'needed'
}

/** The texts of BOS and EOS, for use in a template. */
export function chatTokens(tokenizer: Tokenizer): Pick<ChatOptions, 'bosToken' | 'eosToken'> {
  const textOf = (id: number | undefined) => (id === undefined ? undefined : tokenizer.tokenText(id))
  return { bosToken: textOf(tokenizer.bosId), eosToken: textOf(tokenizer.eosId) }
}

/**
 * Encodes a rendered prompt. Special tokens are parsed, there is exactly one BOS if the model uses it, and no
 * EOS is added.
 */
export function encodeChat(
  tokenizer: Pick<Tokenizer, 'encode' | 'bosId' | 'addsBos'>,
  prompt: string,
): number[] {
  const ids = tokenizer.encode(prompt, { parseSpecial: true })
  const { bosId, addsBos } = tokenizer
  return bosId === undefined || !addsBos || ids[0] === bosId ? ids : [bosId, ...ids]
}

/** A text that no template contains. */
export const PROBE = 'Zqxj'

/** A short conversation, rendered by the template. Empty if the template rejects it. */
export function probeTurns(tokenizer: Tokenizer, template: ChatTemplate, next?: string): string {
  const rendered = (contentOf: (text: string) => ChatMessage['content']) => {
    const messages = [
      { role: 'user', content: contentOf('a') },
      { role: 'assistant', content: contentOf(PROBE) },
      ...(next === undefined ? [] : [{ role: 'user', content: contentOf(next) }]),
    ]
    return promptOf(tokenizer, template, messages, { addGenerationPrompt: false })
  }
  const prompt = rendered((text) => text)
  if (prompt.includes(PROBE) || partsFormOf(tokenizer, template) !== 'needed') return prompt
  return rendered((text) => [{ type: 'text', text }])
}

/**
 * The ids that end the assistant's turn: the tokenizer's, and the special token that the template writes
 * after an answer, which files often do not name. If nothing follows the last answer, it is the token between
 * an answer and the next question, such as GLM's `<|user|>`.
 */
export function turnEndIds(tokenizer: Tokenizer, template: ChatTemplate): ReadonlySet<number> {
  const after = (next?: string) => {
    const rendered = probeTurns(tokenizer, template, next)
    const at = rendered.lastIndexOf(PROBE)
    return at < 0 ? '' : rendered.slice(at + PROBE.length).trimStart()
  }
  const [next] = tokenizer.encode(after() || after('b'), { parseSpecial: true })
  const ends = new Set(tokenizer.endIds)
  if (next !== undefined && tokenizer.isSpecial(next)) ends.add(next)
  return ends
}

/** Number of characters in a value, including nested values. */
export function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  return Object.entries(value).reduce((sum, [key, part]) => sum + key.length + lengthOf(part), 0)
}

function templateError(what: string, cause?: unknown): HalfbyteError {
  return new HalfbyteError(
    'format',
    `the chat template ${what}; change the messages or give another template`,
    {},
    cause === undefined ? undefined : { cause },
  )
}

function attempt<T>(what: string, action: () => T): T {
  try {
    return action()
  } catch (cause) {
    if (isHalfbyteError(cause)) throw cause
    if (cause instanceof TemplateRefusal) throw templateError(`rejects these messages: ${cause.message}`)
    throw templateError(`${what} (${reasonOf(cause)})`, cause)
  }
}
