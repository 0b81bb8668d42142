// Decode options. In: what a page asked of a reply. Out: the same, or what is wrong with it.
import { HalfbyteError } from '../base/errors.ts'
import { SAMPLER_DEFAULTS } from '../generate/sampler/options.ts'
import { CONSTRAINT_KEYS } from './constraints.ts'
import type { DecodeOptions } from './protocol.ts'

/** Words that an option may be. */
const CHOICES: Readonly<Partial<Record<keyof DecodeOptions, readonly string[]>>> = {
  priority: ['foreground', 'background'],
  speculation: ['off', 'lookup', 'draft'],
}

const OPTION_KEYS: ReadonlySet<string> = new Set([
  'maxTokens',
  'stop',
  'processors',
  ...CONSTRAINT_KEYS,
  'negativePrompt',
  ...Object.keys(CHOICES),
  ...Object.keys(SAMPLER_DEFAULTS),
])

/** Throws `unsupported` for an unknown option or a value that cannot be honoured; the sampler checks its own. */
export function checkedOptions(options: DecodeOptions): DecodeOptions {
  for (const key of Object.keys(options)) {
    if (OPTION_KEYS.has(key)) continue
    throw new HalfbyteError(
      'unsupported',
      `${key} is not an option; there are ${[...OPTION_KEYS].join(', ')}`,
      { key },
    )
  }
  for (const [key, choices] of Object.entries(CHOICES)) {
    const value = options[key as keyof DecodeOptions]
    if (value === undefined || choices.includes(String(value))) continue
    throw new HalfbyteError(
      'unsupported',
      `${key} is ${value} but must be ${choices.join(' or ')}; change it`,
      {
        key,
      },
    )
  }
  const { maxTokens, stop, negativePrompt = '' } = options
  if (typeof negativePrompt !== 'string') {
    throw new HalfbyteError('unsupported', 'negativePrompt must be a text; change it or leave it out')
  }
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens >= 1)) {
    throw new HalfbyteError(
      'unsupported',
      `maxTokens is ${maxTokens} but must be a whole number from 1; change it`,
      {
        maxTokens: String(maxTokens),
      },
    )
  }
  if (stop?.some((text) => text === '')) {
    throw new HalfbyteError('unsupported', 'a stop text is empty and would end every reply; leave it out')
  }
  return options
}
