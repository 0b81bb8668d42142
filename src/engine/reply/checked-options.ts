// Options of a reply: rejects invalid ones. The sampler checks its own.
import { checkChoice, checkKeys, checkTexts, wrongOption } from '../../core/base/check-options.ts'
import { isCount } from '../../core/base/values.ts'
import { SAMPLER_DEFAULTS } from '../../core/generate/sampler/sampler-options.ts'
import type { DecodeOptions } from '../wire/protocol.ts'
import { CONSTRAINT_KEYS } from './constraints.ts'

/** Options that are one of a few words. */
const CHOICES: Readonly<Partial<Record<keyof DecodeOptions, readonly string[]>>> = {
  priority: ['foreground', 'background'],
  speculation: ['off', 'lookup', 'draft'],
}

const OPTION_KEYS = [
  'maxTokens',
  'stop',
  'processors',
  ...CONSTRAINT_KEYS,
  'compact',
  'negativePrompt',
  'maxToolCalls',
  'reasoning',
  'maxReasoningTokens',
  ...Object.keys(CHOICES),
  ...Object.keys(SAMPLER_DEFAULTS),
]

/** Throws `unsupported` for an unknown option or an invalid value. */
export function checkedOptions(options: DecodeOptions): DecodeOptions {
  checkKeys('the options', options, OPTION_KEYS)
  for (const [key, choices] of Object.entries(CHOICES))
    checkChoice(key, options[key as keyof DecodeOptions], choices)
  const { maxTokens = 1, maxToolCalls = 1, stop = [], negativePrompt = '' } = options
  const { reasoning = false, maxReasoningTokens = 0 } = options
  if (typeof negativePrompt !== 'string') throw wrongOption('negativePrompt', negativePrompt, 'a text')
  for (const [name, count] of Object.entries({ maxTokens, maxToolCalls })) {
    if (!Number.isInteger(count) || count < 1) throw wrongOption(name, count, 'a whole number from 1')
  }
  if (!isCount(maxReasoningTokens))
    throw wrongOption('maxReasoningTokens', maxReasoningTokens, 'a whole number from 0')
  if (reasoning !== false && !(isMark(reasoning?.open) && isMark(reasoning.close)))
    throw wrongOption('reasoning', reasoning, 'false, or an object with texts as open and close')
  checkTexts('stop', stop)
  return options
}

const isMark = (text: unknown): boolean => typeof text === 'string' && text.trim() !== ''
