// Kinds of option values. A table of options gives each name its kind and its default; checks, lists of known
// names and the command line's flags all derive from it.
import { isSignal, wrongOption } from '../check-options.ts'

export interface OptionKind {
  readonly fits: (value: unknown) => boolean
  /** Completes "must be", e.g. `a whole number from 1`. */
  readonly wanted: string
}

/** A row of a table: the kind, and the default if the option has one. */
export type OptionRow<Default = unknown> = OptionKind & { readonly default?: Default }

export interface NumberKind extends OptionKind {
  readonly least: number
  readonly most: number
  readonly isWhole: boolean
}

const rangeText = (least: number, most: number | undefined) =>
  `from ${least}${most === undefined ? '' : ` to ${most}`}`

/** Whole numbers. `most`: Infinity allows every number; if it is absent, errors name no upper limit. */
export const whole = (least: number, most?: number): NumberKind => numbers(true, least, most)

export const real = (least: number, most?: number): NumberKind => numbers(false, least, most)

function numbers(isWhole: boolean, least: number, given: number | undefined): NumberKind {
  const most = given ?? (isWhole ? Number.MAX_SAFE_INTEGER : Number.MAX_VALUE)
  return {
    least,
    most,
    isWhole,
    wanted: `a ${isWhole ? 'whole' : 'real'} number ${rangeText(least, given)}`,
    fits: (value) =>
      typeof value === 'number' &&
      value >= least &&
      value <= most &&
      (!isWhole || Number.isInteger(value) || value === most),
  }
}

export const choice = <const Choice extends string>(
  choices: readonly Choice[],
): OptionKind & { readonly choices: readonly Choice[] } => ({
  choices,
  wanted: choices.join(' or '),
  fits: (value) => choices.includes(value as Choice),
})

/** For values that are validated where they are used. */
export const ANY: OptionKind = { wanted: 'a value', fits: () => true }
export const TEXT: OptionKind = { wanted: 'a text', fits: (value) => typeof value === 'string' }
export const SWITCH: OptionKind = { wanted: 'true or false', fits: (value) => typeof value === 'boolean' }
export const FUNCTION: OptionKind = { wanted: 'a function', fits: (value) => typeof value === 'function' }
export const NUMBER: OptionKind = { wanted: 'a number', fits: Number.isFinite }
export const SIGNAL: OptionKind = { wanted: 'an AbortSignal', fits: isSignal }
export const ADDRESS: OptionKind = {
  wanted: 'an address',
  fits: (value) => typeof value === 'string' || value instanceof URL,
}

/** Throws `unsupported` if the value is not of its kind. */
export function checkValue(name: string, value: unknown, { fits, wanted }: OptionKind): void {
  if (!fits(value)) throw wrongOption(name, value, wanted)
}

/** Like `checkValue`, for an option that may be omitted. */
export function checkOption(name: string, value: unknown, kind: OptionKind): void {
  if (value !== undefined) checkValue(name, value, kind)
}

/**
 * Checks the options against a table. `prefix`, such as `hub.`, comes before each option's name in errors.
 */
export function checkValues(table: Readonly<Record<string, OptionKind>>, options: object, prefix = ''): void {
  const given = options as Readonly<Record<string, unknown>>
  for (const [name, kind] of Object.entries(table)) checkOption(prefix + name, given[name], kind)
}

/** The defaults of a table's options, by name. */
export const defaultsOf = <Name extends string>(
  table: Readonly<Record<Name, OptionRow>>,
): Record<Name, unknown> =>
  Object.fromEntries(Object.entries<OptionRow>(table).map(([name, row]) => [name, row.default])) as Record<
    Name,
    unknown
  >
