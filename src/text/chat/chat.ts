// Chat templates. In: messages and a template in Jinja. Out: the prompt, its ids, and which ids end a turn.
import { Environment, parse, tokenize } from '@huggingface/jinja'
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../base/errors.ts'
import type { Tokenizer } from '../tokenize/tokenizer.ts'
import { strftime } from './strftime.ts'
import { TemplateRun } from './template-run.ts'
import { PART_UNITS, type Spend } from './template-values.ts'

/** One turn. Further fields (`tool_calls`, `name`) are passed to the template as they are. */
export interface ChatMessage {
  /** Most templates know `system`, `user` and `assistant`, some `tool`. */
  readonly role: string
  readonly content: string
  readonly [field: string]: unknown
}

export interface ChatOptions {
  /** Ends the prompt with the beginning of the assistant's turn. Default true. */
  readonly addGenerationPrompt?: boolean
  /** What `bos_token` and `eos_token` stand for in the template. Default empty. */
  readonly bosToken?: string | undefined
  readonly eosToken?: string | undefined
  /** Descriptions of functions the model may call, as JSON schema objects. */
  readonly tools?: readonly object[] | undefined
  /** For templates that tell the model the date. Default now. */
  readonly now?: Date | undefined
}

export interface RenderOptions extends ChatOptions {
  readonly template: string
}

/** ChatML: what a model without a template gets when it has ChatML's tokens. */
export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}" +
  "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"

/**
 * Plain text: what a base model gets. It goes on where the last message ends, so a reply stands right behind what it goes
 * on from; every other message begins a line. No roles are known.
 */
export const PLAIN =
  "{{ bos_token }}{% for message in messages %}{% if not loop.first and message['role'] != 'assistant' %}{{ '\\n' }}{% endif %}" +
  "{{ message['content'] }}{% endfor %}"

const MAX_TEMPLATE_LENGTH = 1 << 20
/** A template that counts further than this never comes to an end. */
const MAX_RANGE = 1 << 16

/** Longer runs of white space take the parser a time that grows with their square. */
const LONG_SPACE = /\s{1024}/
/** What rendering may cost, and what more for each character that is given; see template-run.ts. */
const RENDER_UNITS = 1 << 26
const UNITS_PER_CHARACTER = 512
/** What a date costs for each character of its format. */
const DATE_UNITS = 1 << 15

const WHITESPACE = { lstrip_blocks: true, trim_blocks: true }

/** A template, parsed once for many prompts. */
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

  /** Throws `format` with the template's own words when it refuses the messages, and when it takes too much work. */
  render(messages: readonly ChatMessage[], options: ChatOptions = {}): string {
    const { addGenerationPrompt = true, bosToken = '', eosToken = '', tools, now = new Date() } = options
    return attempt('cannot render these messages', () => {
      const limit = RENDER_UNITS + UNITS_PER_CHARACTER * lengthOf([messages, tools])
      let left = limit
      const spend = (units: number) => {
        left -= units
        if (!(left >= 0))
          throw templateError(`takes more work than the ${limit} steps and characters it may have`)
      }
      const environment = newEnvironment(now, spend)
      environment.set('messages', messages)
      environment.set('add_generation_prompt', addGenerationPrompt)
      environment.set('bos_token', bosToken)
      environment.set('eos_token', eosToken)
      // Templates ask whether tools are none, which undefined is not.
      environment.set('tools', tools ?? null)
      environment.set('documents', null)
      const { value } = new TemplateRun(environment, spend, this.source.length).run(this.#program)
      return typeof value === 'string' ? value : ''
    })
  }
}

/** Renders once; keep a ChatTemplate for many prompts. Throws `format` as that does. */
export function renderChat(messages: readonly ChatMessage[], options: RenderOptions): string {
  return new ChatTemplate(options.template).render(messages, options)
}

/** The model's own template, ChatML when it has ChatML's tokens, plain text otherwise. */
export function chatTemplateOf(tokenizer: Tokenizer): string {
  if (tokenizer.chatTemplate !== undefined) return tokenizer.chatTemplate
  const isChatMl = tokenizer.idOf('<|im_start|>') !== undefined && tokenizer.idOf('<|im_end|>') !== undefined
  return isChatMl ? CHATML : PLAIN
}

/** The texts of BOS and EOS, for a template. */
export function chatTokens(tokenizer: Tokenizer): Pick<ChatOptions, 'bosToken' | 'eosToken'> {
  const textOf = (id: number | undefined) => (id === undefined ? undefined : tokenizer.tokenText(id))
  return { bosToken: textOf(tokenizer.bosId), eosToken: textOf(tokenizer.eosId) }
}

/** The ids of a rendered prompt: its special tokens are read, BOS is there once if the model wants it, no EOS is added. */
export function encodeChat(tokenizer: Tokenizer, prompt: string): number[] {
  const ids = tokenizer.encode(prompt, { parseSpecial: true })
  const { bosId, addsBos } = tokenizer
  return bosId === undefined || !addsBos || ids[0] === bosId ? ids : [bosId, ...ids]
}

const PROBE = 'Zqxj'

/** A short conversation as the template writes it; empty when it refuses so short a one. */
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
 * The ids that end the assistant's turn: the tokenizer's own, and the special token the template writes after an answer,
 * which files often do not name.
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

/** What Jinja and Transformers give every template. */
function newEnvironment(now: Date, spend: Spend): Environment {
  const environment = new Environment()
  const constants = { true: true, false: false, none: null, True: true, False: false, None: null }
  for (const [name, value] of Object.entries(constants)) environment.set(name, value)
  environment.set('range', (first: number, last?: number, step?: number) => {
    const numbers = range(first, last, step)
    spend(numbers.length * PART_UNITS)
    return numbers
  })
  environment.set('strftime_now', (format: unknown) => {
    if (typeof format !== 'string') return null
    spend(format.length * DATE_UNITS)
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

/** Characters of everything in a value. */
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
