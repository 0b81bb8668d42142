// Constraints of replies. In: a page's options. Out: the constraint on the reply, in the form that grammars are
// written from.
import { HalfbyteError } from '../../base/errors.ts'
import { wrongOption } from '../../base/options.ts'
import type { ConstraintSpec } from '../../constrain/constraint.ts'
import type { DecodeOptions } from '../wire/protocol.ts'

/** The options that constrain a whole reply. */
export const CONSTRAINT_KEYS = ['schema', 'grammar', 'pattern', 'choices'] as const

/** Throws `unsupported` if more than one is given or a value has the wrong type. */
export function constraintSpec(options: DecodeOptions): ConstraintSpec | undefined {
  const given = CONSTRAINT_KEYS.filter((key) => options[key] !== undefined)
  if (given.length > 1) {
    throw new HalfbyteError(
      'unsupported',
      `${given.join(' and ')} are given; a reply takes only 1 of them, so leave out the others`,
      {
        given,
      },
    )
  }
  const { schema, grammar, pattern, choices } = options
  if (schema !== undefined) return { type: 'schema', schema }
  if (grammar !== undefined) return { type: 'grammar', grammar: text('grammar', grammar) }
  if (pattern !== undefined) return { type: 'pattern', pattern: text('pattern', pattern) }
  if (choices === undefined) return undefined
  if (!Array.isArray(choices)) throw wrongOption('choices', choices, 'a list of texts')
  return { type: 'choices', choices: choices.map((choice) => text('choices', choice)) }
}

function text(key: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw wrongOption(key, value, key === 'choices' ? 'a list of texts' : 'a text')
}
