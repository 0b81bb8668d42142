// Options. In: texts from the command line. Out: checked values; anything else is a usage error.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { GenerateOptions } from '../api/types.ts'
import type { SpeculationKind } from '../engine/protocol.ts'
import type { SamplerOptions } from '../generate/sampler/options.ts'

/** What every command says of `<model>`. */
export const MODEL = 'file, folder, URL (a folder\'s ends with a slash), hf:owner/name[:file] or "embedded"'

/** A parser of whole numbers from `least` on. */
export function whole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isSafeInteger(value) && value >= least && text.trim() !== '') return value
    throw new InvalidArgumentError(`give a whole number from ${least} on.`)
  }
}

/** A parser of numbers from `least` to `most`. */
export function real(least: number, most = Number.POSITIVE_INFINITY): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (Number.isFinite(value) && value >= least && value <= most && text.trim() !== '') return value
    const range = most === Number.POSITIVE_INFINITY ? `from ${least} on` : `from ${least} to ${most}`
    throw new InvalidArgumentError(`give a number ${range}.`)
  }
}

/** How a model is loaded. */
export interface EngineFlags {
  readonly threads: number | 'auto'
  readonly build: 'auto' | 'relaxed' | 'simd128'
  readonly weights: 'auto' | 'f32' | 'w8' | 'w4'
  readonly context?: number
}

export function weightsOption(): Option {
  return new Option('--weights <policy>', "precision of the weights; auto keeps the file's own")
    .choices(['auto', 'f32', 'w8', 'w4'])
    .default('auto')
}

export function withEngineOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--threads <n>', 'threads that compute; auto measures which number is fastest')
        .argParser((text) => (text === 'auto' ? text : whole(1)(text)))
        .default('auto'),
    )
    .addOption(
      new Option('--build <build>', 'kernels to use').choices(['auto', 'relaxed', 'simd128']).default('auto'),
    )
    .addOption(weightsOption())
}

export function withContextOption(command: Command): Command {
  return command.option(
    '--context <tokens>',
    "most tokens of a conversation; default: 4096 or the model's limit",
    whole(1),
  )
}

const SAMPLER_KEYS = [
  'cfgScale',
  'temperature',
  'topK',
  'topP',
  'minP',
  'tfsZ',
  'typicalP',
  'repeatPenalty',
  'repeatLastN',
  'frequencyPenalty',
  'presencePenalty',
  'seed',
] as const

/** How tokens are picked; most are options of the sampler under the names of the API. */
export interface SamplerFlags extends Pick<SamplerOptions, (typeof SAMPLER_KEYS)[number]> {
  readonly negative?: string
  readonly speculation?: SpeculationKind
}

export function withSamplerOptions(command: Command): Command {
  return command
    .option('--temperature <t>', '0 is greedy; default 0.8', real(0))
    .option('--top-k <k>', 'tokens to choose among, 0 is all; default 40', whole(0))
    .option('--top-p <p>', 'probability to keep; default 0.95', real(0, 1))
    .option('--min-p <p>', "least share of the best token's probability; default 0.05", real(0, 1))
    .option('--tfs-z <z>', 'tail-free sampling, 1 is off; default 1', real(0, 1))
    .option('--typical-p <p>', 'locally typical sampling, 1 is off; default 1', real(0, 1))
    .option('--repeat-penalty <x>', '1 is off; default 1', real(0))
    .option('--repeat-last-n <n>', 'tokens the penalties look at; default 64', whole(0))
    .option('--frequency-penalty <x>', 'default 0', real(-10, 10))
    .option('--presence-penalty <x>', 'default 0', real(-10, 10))
    .option('--cfg-scale <x>', 'guidance away from --negative, 1 is off; default 1', real(-1000, 1000))
    .option('--negative <text>', 'read in place of the system text, or of the bare text, by guidance')
    .addOption(
      new Option(
        '--speculation <kind>',
        'where drafts come from that are checked several at once; default: draft if there is one, else lookup',
      ).choices(['off', 'lookup', 'draft']),
    )
    .option('--seed <n>', 'makes a run repeatable; default: random', whole(0))
}

/** The same as options of a reply. */
export function samplerFlags(flags: SamplerFlags): GenerateOptions {
  const { negative: negativePrompt, speculation } = flags
  return { ...Object.fromEntries(SAMPLER_KEYS.map((key) => [key, flags[key]])), negativePrompt, speculation }
}
