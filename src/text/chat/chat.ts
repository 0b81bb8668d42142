// Chat templates. In: messages and a Jinja template. Out: the prompt, its ids, and the ids that end a turn.
import { Environment, parse, tokenize } from '@huggingface/jinja'
import { Budget } from '../../base/budget.ts'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Tokenizer } from '../tokenize/tokenizer.ts'
import { strftime } from './strftime.ts'
import { TemplateRun } from './template-run.ts'
import { PART_UNITS } from './template-values.ts'

/** One turn. Other fields (`tool_calls`, `name`) are passed to the template unchanged. */
export interface ChatMessage {
  /** Most templates know `system`, `user` and `assistant`; some also know `tool`. */
  readonly role: string
  readonly content: string
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
  /** The date for templates that tell it to the model. Default now. */
  readonly now?: Date | undefined
}

export interface RenderOptions extends ChatOptions {
  readonly template: string
}

/** The template of models that have ChatML's tokens but no template. */
export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/**
 * The template of base models: plain text without roles. A reply follows the last message directly, because
 * it continues it. Every other message begins a new line.
 */
export const PLAIN =
  "{{ bos_token }}{% for message in messages %}{% if not loop.first and message['role'] != 'assistant' %}{{ '\\n' }}{% endif %}" +
  "{{ message['content'] }}{% endfor %}"

const MAX_TEMPLATE_LENGTH = 1 << 20
/** A template that counts further than this is assumed never to end. */
const MAX_RANGE = 1 << 16

/** The parser's time grows with the square of the length of a run of white space. */
const LONG_SPACE = /\s{1024}/
/** Work units that rendering may take, and additional units for each input character; see template-run.ts. */
const RENDER_UNITS = 1 << 26
const UNITS_PER_CHARACTER = 512
/** Work units of a date for each character of its format. */
const DATE_UNITS = 1 << 15

const WHITESPACE = { lstrip_blocks: true, trim_blocks: true }

/** A template that is parsed once and used for many prompts. */
export class ChatTemplate {
  readonly source: string
  readonly #program: ReturnType<typeof parse>

  /** Throws `format` when the template cannot be parsed. */
  constructor(source: string) {
    if (source.length > MAX_TEMPLATE_LENGTH) {
      throw templateError(`has ${source.length} characters; at most ${MAX_TEMPLATE_LENGTH} are read`)
    }
    if (LONG_SPACE.test(source)) throw templateError('has 1024 blanks in a row, which no template needs')
    this.source = source
    this.#program = attempt('cannot be read', () => parse(tokenize(source, WHITESPACE)))
  }

  /**
   * Throws `format` when the template refuses the messages, with its own words, and when it takes too much
   * work.
   */
  render(messages: readonly ChatMessage[], options: ChatOptions = {}): string {
    const { addGenerationPrompt = true, bosToken = '', eosToken = '', tools, now = new Date() } = options
    return attempt('cannot render these messages', () => {
      const budget = new Budget({
        work: RENDER_UNITS + UNITS_PER_CHARACTER * lengthOf([messages, tools]),
        refuse: ({ most }) =>
          templateError(`takes more work than the ${most} steps and characters it may have`),
      })
      const environment = newEnvironment(now, budget)
      environment.set('messages', messages)
      environment.set('add_generation_prompt', addGenerationPrompt)
      environment.set('bos_token', bosToken)
      environment.set('eos_token', eosToken)
      // Templates test whether tools are none. Undefined is not none; null is.
      environment.set('tools', tools ?? null)
      environment.set('documents', null)
      const { value } = new TemplateRun(environment, budget, this.source.length).run(this.#program)
      return typeof value === 'string' ? value : ''
    })
  }
}

/** Renders one prompt; use a ChatTemplate for several. Throws `format` as ChatTemplate does. */
export function renderChat(messages: readonly ChatMessage[], options: RenderOptions): string {
  return new ChatTemplate(options.template).render(messages, options)
}

/** The model's own template; without one, ChatML if the model has ChatML's tokens, otherwise plain text. */
export function chatTemplateOf(tokenizer: Tokenizer): string {
  if (tokenizer.chatTemplate !== undefined) return tokenizer.chatTemplate
  const isChatMl = tokenizer.idOf('<|im_start|>') !== undefined && tokenizer.idOf('<|im_end|>') !== undefined
  return isChatMl ? CHATML : PLAIN
}

/** The texts of BOS and EOS, for use in a template. */
export function chatTokens(tokenizer: Tokenizer): Pick<ChatOptions, 'bosToken' | 'eosToken'> {
  const textOf = (id: number | undefined) => (id === undefined ? undefined : tokenizer.tokenText(id))
  return { bosToken: textOf(tokenizer.bosId), eosToken: textOf(tokenizer.eosId) }
}

/**
 * Encodes a rendered prompt. Special tokens are parsed, BOS is present once if the model uses it, and no EOS
 * is added.
 */
export function encodeChat(tokenizer: Tokenizer, prompt: string): number[] {
  const ids = tokenizer.encode(prompt, { parseSpecial: true })
  const { bosId, addsBos } = tokenizer
  return bosId === undefined || !addsBos || ids[0] === bosId ? ids : [bosId, ...ids]
}

const PROBE = 'Zqxj'

/** A short conversation, rendered by the template. Empty when the template refuses it. */
export function probeTurns(tokenizer: Tokenizer, template: ChatTemplate): string {
  const messages = [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: PROBE },
  ]
  const options = { ...chatTokens(tokenizer), addGenerationPrompt: false }
  try {
    return template.render(messages, options)
  } catch (error) {
    if (isHalfbyteError(error)) return ''
    throw error
  }
}

/**
 * The ids that end the assistant's turn: those of the tokenizer, and the special token that the template
 * writes after an answer. Files often do not name the latter.
 */
export function turnEndIds(tokenizer: Tokenizer, template: ChatTemplate): ReadonlySet<number> {
  const ends = new Set(tokenizer.endIds)
  const rendered = probeTurns(tokenizer, template)
  const at = rendered.lastIndexOf(PROBE)
  const [next] =
    at < 0 ? [] : tokenizer.encode(rendered.slice(at + PROBE.length).trimStart(), { parseSpecial: true })
  if (next !== undefined && tokenizer.isSpecial(next)) ends.add(next)
  return ends
}

/** The globals that Jinja and Transformers give every template. */
function newEnvironment(now: Date, budget: Budget): Environment {
  const environment = new Environment()
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null }
  for (const [name, value] of Object.entries(constants)) environment.set(name, value)
  environment.set('range', (first: number, last?: number, step?: number) => {
    const numbers = range(first, last, step)
    budget.spend(numbers.length * PART_UNITS)
    return numbers
  })
  environment.set('strftime_now', (format: unknown) => {
    if (typeof format !== 'string') return null
    budget.spend(format.length * DATE_UNITS)
    return strftime(now, format)
  })
  environment.set('raise_exception', (message: unknown) => {
    throw templateError(
      `refuses these messages: ${typeof message === 'string' ? message.slice(0, 1000) : ''}`,
    )
  })
  return environment
}

function range(first: number, last?: number, step = 1): number[] {
  const [start, end] = last === undefined ? [0, first] : [first, last]
  const count = Math.max(0, Math.ceil((end - start) / step))
  if (!(count <= MAX_RANGE)) throw templateError(`counts to ${count}; at most ${MAX_RANGE} are possible`)
  return Array.from({ length: count }, (_, index) => start + index * step)
}

/** Number of characters in a value, with everything nested in it. */
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
    throw templateError(`${what} (${reasonOf(cause)})`, cause)
  }
}
