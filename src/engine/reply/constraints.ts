// Converts a page's options to the constraint on a reply, in the form from which grammars are compiled.

import { wrongOption } from '../../core/base/check-options.ts'
import { HalfbyteError, reasonOf } from '../../core/base/errors.ts'
import { checkOption, SWITCH } from '../../core/base/options/option-kinds.ts'
import type { ConstraintSpec } from '../../core/constrain/written-grammar.ts'
import type { DecodeOptions } from '../types/reply.ts'

/** The options that constrain a whole reply. */
export const CONSTRAINT_KEYS = ['schema', 'grammar', 'pattern', 'choices'] as const

/** Throws `unsupported` if more than one is given or a value has the wrong type. */
export function constraintSpec(options: DecodeOptions): ConstraintSpec | undefined {
  const given = CONSTRAINT_KEYS.filter((key) => options[key] !== undefined)
  if (given.length > 1) {
    throw new HalfbyteError(
      'unsupported',
      `${given.join(' and ')} are given; a reply can have only one of them, so leave out the others`,
      {
        given,
      },
    )
  }
  const { schema, compact, grammar, pattern, choices } = options
  checkOption('compact', compact, SWITCH)
  if (schema !== undefined) return { type: 'schema', schema: jsonSchemaOf(schema), compact }
  if (grammar !== undefined) return { type: 'grammar', grammar: text('grammar', grammar) }
  if (pattern !== undefined) return { type: 'pattern', pattern: patternText(pattern) }
  if (choices === undefined) return undefined
  if (!Array.isArray(choices)) throw wrongOption('choices', choices, 'a list of strings')
  return { type: 'choices', choices: choices.map((choice) => text('choices', choice)) }
}

/** The flags of a `RegExp` that do not change which texts it matches as a whole. */
const PLAIN_FLAGS = /^[dguy]*$/

function patternText(pattern: unknown): string {
  if (!(pattern instanceof RegExp)) return text('pattern', pattern)
  if (PLAIN_FLAGS.test(pattern.flags)) return pattern.source
  throw wrongOption('pattern', String(pattern), 'a regular expression without the flags i, m, s and v')
}

/**
 * The JSON Schema of a validator: through the Standard JSON Schema interface, or one of its own methods.
 * Anything else must already be a JSON Schema.
 */
function jsonSchemaOf(schema: unknown): unknown {
  const standard = member(schema, '~standard')
  const methods = [
    [member(standard, 'jsonSchema'), 'output'],
    [schema, 'toJSONSchema'],
    [schema, 'toJsonSchema'],
  ] as const
  for (const [owner, name] of methods) {
    const method = member(owner, name)
    if (typeof method !== 'function') continue
    try {
      return method.call(owner, { target: 'draft-2020-12' })
    } catch (cause) {
      throw new HalfbyteError(
        'unsupported',
        `the schema's ${name} failed: ${reasonOf(cause)}; give its JSON Schema`,
        {},
        { cause },
      )
    }
  }
  if (standard === undefined) return schema
  throw new HalfbyteError(
    'unsupported',
    'schema is a validator that cannot give its JSON Schema; convert it first, for example with z.toJSONSchema(schema)',
  )
}

function member(owner: unknown, name: string): unknown {
  const isOwner = (typeof owner === 'object' && owner !== null) || typeof owner === 'function'
  return isOwner ? Reflect.get(owner, name) : undefined
}

function text(key: string, value: unknown): string {
  if (typeof value === 'string') return value
  throw wrongOption(key, value, key === 'choices' ? 'a list of strings' : 'a text')
}
