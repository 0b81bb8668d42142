// Constraint flags. In: files and texts from the command line. Out: the constraint on an answer, in the API's
// options.
import type { Command } from 'commander'
import type { GenerateOptions } from '../api/types.ts'
import { HalfbyteError } from '../base/errors.ts'
import { readText } from './text-file.ts'

export interface ConstraintFlags {
  readonly schema?: string
  readonly compact?: true
  readonly grammar?: string
  readonly pattern?: string
  readonly choice?: readonly string[]
}

export function withConstraintOptions(command: Command): Command {
  return command
    .option('--schema <file>', 'a JSON Schema: the answer is a JSON value that it allows')
    .option('--compact', 'with --schema: JSON without blanks between its parts')
    .option('--grammar <file>', 'a grammar in GBNF: the answer is what its rule root matches')
    .option('--pattern <regexp>', 'a regular expression: the whole answer matches it')
    .option(
      '--choice <text>',
      'the answer is one of the texts given so; may be given again',
      (text, texts: string[] = []) => [...texts, text],
    )
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
    throw new HalfbyteError('format', `${path} is not JSON; give a JSON Schema`, { path }, { cause })
  }
}
