// Notes on stderr: options without an effect, and what did not fit in the context.
import type { Command, Option } from 'commander'
import type { GenerationResult } from '../../../engine/api/types.ts'
import { visible } from './failure.ts'

export const note = (text: string): void => void process.stderr.write(`note: ${visible(text)}\n`)

type Values = Readonly<Record<string, unknown>>

/**
 * An option, by the name of its value. Says why it is ignored given `values`; undefined if it has an effect.
 */
type IgnoreRule = readonly [option: string, why: (values: Values) => string | undefined]

/** `option` is ignored unless one of `needed`, which are flags, is given. */
export const needs = (option: string, needed: string): IgnoreRule => [
  option,
  (values) => (values[nameOf(needed)] === undefined ? `without ${needed}` : undefined),
]

/** `option` is ignored if the flag `other` is given, or has this value. */
export const unused = (option: string, other: string, value?: string): IgnoreRule => [
  option,
  (values) => {
    const given = values[nameOf(other)]
    const applies = value === undefined ? given !== undefined : given === value
    return applies ? `with ${other}${value === undefined ? '' : ` ${value}`}` : undefined
  },
]

const nameOf = (flag: string): string =>
  flag.replace(/^--/, '').replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())

/**
 * The notes on options that the user typed but that have no effect. Throws for a rule of an unknown option.
 */
export function ignoredOptions(command: Command, rules: readonly IgnoreRule[]): readonly string[] {
  const values: Values = command.opts()
  const flagOf = (name: string): string => {
    const option = command.options.find((each: Option) => each.attributeName() === name)
    if (option?.long == null) throw new Error(`${command.name()} has no option ${name}`)
    return option.long
  }
  return rules.flatMap(([name, why]) => {
    const flag = flagOf(name)
    const reason = command.getOptionValueSource(name) === 'cli' ? why(values) : undefined
    return reason === undefined ? [] : [`${flag} is ignored ${reason}`]
  })
}

/** Adds notes on ignored options, printed before the command does any work. */
export const withIgnored = (command: Command, rules: readonly IgnoreRule[]): Command =>
  command.hook('preAction', () => ignoredOptions(command, rules).forEach(note))

/** What did not fit in a context of `contextLength` tokens; undefined if everything did. */
export function contextNote(
  { finishReason, usage }: Pick<GenerationResult, 'finishReason' | 'usage'>,
  contextLength: number,
  maxTokens = Number.POSITIVE_INFINITY,
): string | undefined {
  const { droppedTokens, completionTokens } = usage
  const remedy = 'raise --context for more'
  if (droppedTokens > 0)
    return `the context holds ${contextLength} tokens, so the oldest ${droppedTokens} were dropped; ${remedy}`
  if (finishReason !== 'length' || completionTokens >= maxTokens) return undefined
  return `the answer ends because the context of ${contextLength} tokens is full; ${remedy}`
}
