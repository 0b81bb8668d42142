// Converts a reply's flags to sampler options and a constraint, under the API's names.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { HalfbyteError } from '../../core/base/errors.ts'
import { SAMPLER_FLAGS, SAMPLER_NUMBERS } from '../../core/generate/sampler/sampler-options.ts'
import type { GenerateOptions, SpeculationKind } from '../../engine/api/types.ts'
import { REPLY_OPTIONS } from '../../engine/reply/reply-options.ts'
import { readText } from './files.ts'
import { parserOf, repeated, whole } from './options.ts'
import { needs, withIgnored } from './terminal/notes.ts'

export interface ConstraintFlags {
  readonly schema?: string
  readonly compact?: true
  readonly grammar?: string
  readonly pattern?: string
  readonly choice?: readonly string[]
}

export function withConstraintOptions(command: Command): Command {
  return withIgnored(command, [needs('compact', '--schema')])
    .option('--schema <file>', 'a JSON Schema that the answer must match')
    .option('--compact', 'with --schema: JSON without whitespace')
    .option('--grammar <file>', 'a GBNF grammar; its rule root must match the answer')
    .option('--pattern <regexp>', 'a regular expression that the whole answer must match')
    .option('--choice <text>', 'one of the allowed answers; repeatable', repeated)
}

/** Throws `format` if a file cannot be read. The engine rejects more than one constraint. */
export async function constraintOptions(
  flags: ConstraintFlags,
): Promise<Pick<GenerateOptions, 'schema' | 'compact' | 'grammar' | 'pattern' | 'choices'>> {
  const { schema, compact, grammar, pattern, choice } = flags
  return {
    schema: schema === undefined ? undefined : parse(schema, await readText(schema)),
    compact,
    grammar: grammar === undefined ? undefined : await readText(grammar),
    pattern,
    choices: choice,
  }
}

function parse(path: string, text: string) {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new HalfbyteError('format', `${path} is not valid JSON; give a JSON Schema`, { path }, { cause })
  }
}

/** `topNSigma` is `--top-n-sigma`. */
export const flagOf = (name: string) =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const NAMES = Object.keys(SAMPLER_FLAGS) as (keyof typeof SAMPLER_FLAGS)[]

/** A numeric option's flag. The engine rejects meaningless values within the range, such as 0 for `tfsZ`. */
function numberOption(name: keyof typeof SAMPLER_FLAGS): Option {
  const [, number, description] = SAMPLER_FLAGS[name]
  const { default: value, ...kind } = SAMPLER_NUMBERS[name]
  const usual = value === undefined ? ': random' : Number.isFinite(value) ? ` ${value}` : ': all'
  return new Option(`${flagOf(name)} <${number}>`, `${description}; default${usual}`).argParser(
    parserOf(kind),
  )
}

const OTHERS = 'Guidance, tokens and drafts:'

/** Options other than numbers, under commander's names. */
export interface SamplerFlags {
  readonly ban?: readonly number[]
  readonly force?: readonly number[]
  readonly bias?: Readonly<Record<number, number>>
  readonly dryBreaker?: readonly string[]
  readonly processor?: readonly string[]
  readonly cfgScale?: number
  readonly negative?: string
  readonly draft?: string
  readonly speculation?: SpeculationKind
  readonly templateArgument?: GenerateOptions['templateArguments']
}

export function withSamplerOptions(command: Command): Command {
  for (const name of NAMES) {
    command.optionsGroup(SAMPLER_FLAGS[name][0])
    command.addOption(numberOption(name))
  }
  return withIgnored(command, [
    needs('negative', '--cfg-scale'),
    needs('dryBreaker', '--dry-multiplier'),
    needs('xtcThreshold', '--xtc-probability'),
    needs('mirostatLr', '--mirostat'),
    needs('mirostatEnt', '--mirostat'),
  ])
    .optionsGroup(OTHERS)
    .option(
      '--cfg-scale <x>',
      'strength of the guidance away from --negative; 1 is off; default 1',
      parserOf(SAMPLER_NUMBERS.cfgScale),
    )
    .option(
      '--negative <text>',
      'negative prompt of the guidance; replaces the system text, or the bare text',
    )
    .option('--ban <id>', 'a token to ban; repeatable', appended(whole(0)))
    .option('--force <id>', 'a token to begin with; repeatable', appended(whole(0)))
    .option('--bias <id=amount>', "added to a token's logit; repeatable", addBias)
    .option(
      '--dry-breaker <text>',
      'a text that ends a repetition; repeatable; default: line end : " *',
      appended((text) => text),
    )
    .option(
      '--processor <file>',
      'a module whose default export creates a logit processor; repeatable',
      appended((path) => pathToFileURL(resolve(path)).href),
    )
    .option(
      '--template-argument <name=value>',
      'a variable of the chat template, as JSON or text, like enable_thinking=false; repeatable',
      addVariable,
    )
    .option('--draft <model>', 'a smaller model with the same vocabulary that drafts tokens')
    .addOption(
      new Option(
        '--speculation <kind>',
        'where drafts come from; default: draft if a draft model is loaded, otherwise lookup',
      ).choices(REPLY_OPTIONS.speculation.choices),
    )
}

/** The flags as options for a reply. */
export function samplerFlags(flags: SamplerFlags): GenerateOptions {
  const numbers = flags as unknown as Readonly<Record<string, number | undefined>>
  return {
    ...Object.fromEntries(NAMES.map((key) => [key, numbers[key]])),
    cfgScale: flags.cfgScale,
    bannedTokens: flags.ban,
    forcedTokens: flags.force,
    logitBias: flags.bias,
    drySequenceBreakers: flags.dryBreaker,
    processors: flags.processor,
    negativePrompt: flags.negative,
    speculation: flags.speculation,
    templateArguments: flags.templateArgument,
  }
}

const appended =
  <T>(parse: (text: string) => T) =>
  (text: string, before: readonly T[] = []): readonly T[] => [...before, parse(text)]

function addBias(text: string, before: Readonly<Record<number, number>> = {}): Record<number, number> {
  const [id = '', amount = ''] = text.split('=')
  const value = amount === '-inf' ? Number.NEGATIVE_INFINITY : Number(amount)
  if (amount.trim() === '' || Number.isNaN(value)) {
    throw new InvalidArgumentError('give a token and a number, as in 42=-1.5.')
  }
  return { ...before, [whole(0)(id)]: value }
}

function addVariable(text: string, before: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('give a name and a value, as in enable_thinking=false.')
  return { ...before, [text.slice(0, at)]: jsonOrText(text.slice(at + 1)) }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
