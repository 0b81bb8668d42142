// Sampler options. In: texts from the command line. Out: the sampler's options under the API's names.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { GenerateOptions } from '../api/types.ts'
import type { SpeculationKind } from '../engine/wire/protocol.ts'
import { real, whole } from './options.ts'

/** Options with one number each: flag, purpose, parser. */
type Flag = readonly [flag: string, description: string, parse: (text: string) => number]

const GROUPS: Readonly<Record<string, readonly Flag[]>> = {
  'Sampling:': [
    ['--temperature <t>', '0 is greedy; default 0.8', real(0)],
    ['--top-k <k>', 'tokens to choose among, 0 is all; default 40', whole(0)],
    ['--top-p <p>', 'probability to keep; default 0.95', real(0, 1)],
    ['--min-p <p>', "least share of the best token's probability; default 0.05", real(0, 1)],
    ['--seed <n>', 'makes a run repeatable; default: random', whole(0)],
  ],
  'Against repetition:': [
    ['--repeat-penalty <x>', '1 is off; default 1', real(0)],
    ['--repeat-last-n <n>', 'tokens the penalties look at; default 64', whole(0)],
    ['--frequency-penalty <x>', 'default 0', real(-10, 10)],
    ['--presence-penalty <x>', 'default 0', real(-10, 10)],
    ['--dry-multiplier <x>', 'DRY: how hard to punish what repeats, 0 is off; default 0', real(0)],
    ['--dry-base <x>', 'growth with each repeated token; default 1.75', real(1)],
    ['--dry-allowed-length <n>', 'repeated tokens that are free; default 2', whole(1)],
    ['--dry-last-n <n>', 'tokens to look for repetitions in; default: all', whole(0)],
  ],
  'Further sampling:': [
    ['--top-n-sigma <n>', 'standard deviations below the best logit, 0 is off; default 0', real(0)],
    ['--tfs-z <z>', 'tail-free sampling, 1 is off; default 1', real(0, 1)],
    ['--typical-p <p>', 'locally typical sampling, 1 is off; default 1', real(0, 1)],
    ['--xtc-probability <p>', 'how often to exclude top choices, 0 is off; default 0', real(0, 1)],
    ['--xtc-threshold <p>', 'probability of a top choice; default 0.1', real(0, 1)],
    ['--mirostat <v>', '1 or 2 in place of the cuts, 0 is off; default 0', whole(0)],
    ['--mirostat-lr <x>', "mirostat's learning rate; default 0.1", real(0)],
    ['--mirostat-ent <x>', 'surprise it aims at, in bits; default 5', real(0)],
  ],
}

const OTHERS = 'Guidance, tokens and drafts:'

/** Options that are not numbers, under commander's names; the numbers stand beside them. */
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
}

const KEYS = Object.values(GROUPS).flatMap((flags) => flags.map(([flag]) => new Option(flag).attributeName()))

export function withSamplerOptions(command: Command): Command {
  for (const [heading, flags] of Object.entries(GROUPS)) {
    command.optionsGroup(heading)
    for (const [flag, description, parse] of flags) command.option(flag, description, parse)
  }
  return command
    .optionsGroup(OTHERS)
    .option('--cfg-scale <x>', 'guidance away from --negative, 1 is off; default 1', real(-1000, 1000))
    .option('--negative <text>', 'read in place of the system text, or of the bare text, by guidance')
    .option('--ban <id>', 'a token never to pick; may be given again', appended(whole(0)))
    .option('--force <id>', 'a token to begin with; may be given again', appended(whole(0)))
    .option('--bias <id=amount>', 'moves the logit of a token; may be given again', addBias)
    .option(
      '--dry-breaker <text>',
      'a text that ends a repetition; may be given again; default: line end : " *',
      appended((text) => text),
    )
    .option(
      '--processor <file>',
      'a module whose default export makes a logit processor; may be given again',
      appended((path) => pathToFileURL(resolve(path)).href),
    )
    .option('--draft <model>', 'a smaller model of the same vocabulary, to draft for the first')
    .addOption(
      new Option(
        '--speculation <kind>',
        'where drafts come from; default: draft if a draft model is loaded, else lookup',
      ).choices(['off', 'lookup', 'draft']),
    )
}

/** The same as options for a reply. */
export function samplerFlags(flags: SamplerFlags): GenerateOptions {
  const numbers = flags as unknown as Readonly<Record<string, number | undefined>>
  return {
    ...Object.fromEntries(KEYS.map((key) => [key, numbers[key]])),
    cfgScale: flags.cfgScale,
    bannedTokens: flags.ban,
    forcedTokens: flags.force,
    logitBias: flags.bias,
    drySequenceBreakers: flags.dryBreaker,
    processors: flags.processor,
    negativePrompt: flags.negative,
    speculation: flags.speculation,
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
