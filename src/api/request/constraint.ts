// Constraints of a request. In: a page's options. Out: the same without their constraint, and its grammar.

import { HalfbyteError, reasonOf } from '../../base/errors.ts'
import { plainOf, readFrom } from '../../base/options.ts'
import type { WrittenGrammar } from '../../constrain/written-grammar.ts'
import { CONSTRAINT_KEYS, constraintSpec } from '../../engine/reply/constraints.ts'
import type { DecodeOptions } from '../../engine/wire/protocol.ts'

/** What a generation asks for besides its prompt. */
export interface DecodeRequest {
  readonly options: DecodeOptions
  readonly constraint?: WrittenGrammar | undefined
}

/**
 * Loads the part of the library that writes grammars, if the options have a constraint. Rejects with
 * `unsupported` for a constraint that cannot be enforced, and with `network` if that part does not load.
 */
export async function decodeRequest(given: DecodeOptions): Promise<DecodeRequest> {
  const constraint = readFrom('the options', () => constraintSpec(given))
  const options: Record<string, unknown> = { ...given }
  // A validator is not sent; its JSON Schema is.
  if (constraint !== undefined) for (const key of [...CONSTRAINT_KEYS, 'compact']) delete options[key]
  const [, plain] = plainOf('the options', [options, constraint] as const)
  // Refuses what a worker could not be sent, such as functions.
  const spec = structuredClone(plain)
  if (spec === undefined) return { options: given }
  const { writeGrammar } = await import('../../constrain/write-grammar.ts').catch(notLoaded)
  return { options, constraint: writeGrammar(spec) }
}

function notLoaded(cause: unknown): never {
  throw new HalfbyteError(
    'network',
    `the part of the library that writes grammars did not load: ${reasonOf(cause)}; ` +
      'load the page again, and check that all files of the build are on the server',
    {},
    { cause },
  )
}
