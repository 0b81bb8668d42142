// The options of a reply, and their checks. The sampler checks its own lists.
import { checkKeys, checkTexts } from '../../core/base/check-options.ts'
import {
  ANY,
  checkValues,
  choice,
  type OptionKind,
  SWITCH,
  TEXT,
  whole,
} from '../../core/base/options/option-kinds.ts'
import { SAMPLER_OPTIONS } from '../../core/generate/sampler/sampler-options.ts'
import type { ReasoningMarks } from '../../core/text/chat/reasoning.ts'
import type { DecodeOptions } from '../types/reply.ts'

const isMark = (text: unknown): boolean => typeof text === 'string' && text.trim() !== ''

const REASONING: OptionKind = {
  wanted: 'false, or an object with the strings open and close',
  fits: (value) => {
    const { open, close } = Object(value) as Partial<ReasoningMarks>
    return value === false || (isMark(open) && isMark(close))
  },
}

export const REPLY_OPTIONS = {
  ...SAMPLER_OPTIONS,
  maxTokens: whole(1),
  stop: ANY,
  processors: ANY,
  schema: ANY,
  grammar: ANY,
  pattern: ANY,
  choices: ANY,
  compact: SWITCH,
  negativePrompt: TEXT,
  maxToolCalls: whole(1),
  reasoning: REASONING,
  maxReasoningTokens: whole(0),
  speculation: choice(['off', 'lookup', 'draft']),
  priority: choice(['foreground', 'background']),
} satisfies Record<keyof DecodeOptions, OptionKind>

/** Throws `unsupported` for an unknown option or an invalid value. */
export function checkedOptions(options: DecodeOptions): DecodeOptions {
  checkKeys('the options', options, Object.keys(REPLY_OPTIONS))
  checkValues(REPLY_OPTIONS, options)
  checkTexts('stop', options.stop === undefined ? [] : options.stop)
  return options
}
