// Template arguments. In: what a caller gives a chat template. Out: nothing, or what is wrong with it.
import { HalfbyteError } from '../../base/errors.ts'
import { wrongOption } from '../../base/options.ts'
import { isObject } from '../../base/values.ts'

/** What a template is given by the engine itself. */
const OWN: readonly string[] = ['messages', 'tools', 'add_generation_prompt', 'bos_token', 'eos_token']
const MAX_DEPTH = 64
const MAX_PARTS = 100_000

/** Throws `unsupported` unless the arguments are JSON values of a bounded size, with names that are free. */
export function checkTemplateArguments(given: unknown): void {
  if (!isObject(given)) throw wrongOption('templateArguments', given, 'an object with JSON values')
  const taken = OWN.find((name) => Object.hasOwn(given, name))
  if (taken !== undefined) {
    throw new HalfbyteError(
      'unsupported',
      `templateArguments has "${taken}", which the engine sets itself; leave it out`,
      { name: 'templateArguments' },
    )
  }
  let parts = 0
  const check = (name: string, value: unknown, depth: number): void => {
    if (++parts > MAX_PARTS || depth > MAX_DEPTH) {
      throw new HalfbyteError(
        'unsupported',
        `templateArguments.${name} has more than ${MAX_PARTS} values or ${MAX_DEPTH} levels; give less`,
        { name: `templateArguments.${name}` },
      )
    }
    if (Array.isArray(value)) for (const each of value) check(name, each, depth + 1)
    else if (isObject(value)) for (const each of Object.values(value)) check(name, each, depth + 1)
    else if (!isPlain(value)) throw wrongOption(`templateArguments.${name}`, value, 'a JSON value')
  }
  for (const [name, value] of Object.entries(given)) check(name, value, 1)
}

const isPlain = (value: unknown) =>
  value === undefined ||
  value === null ||
  ['string', 'boolean'].includes(typeof value) ||
  Number.isFinite(value)
