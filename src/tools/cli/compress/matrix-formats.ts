// `--format`: different formats for some matrices than `--weights` sets for all.
import { InvalidArgumentError, Option } from 'commander'
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Format } from '../../shrink/codes/coded-matrix.ts'
import { visibleLine } from '../terminal/failure.ts'
import { MATRIX_FORMATS } from './table-option.ts'

const FORMATS: ReadonlyMap<string, Format> = new Map(Object.entries(MATRIX_FORMATS))

/** The format of matrices whose full name matches `pattern`, in which `*` matches any characters. */
export interface FormatRule {
  readonly pattern: string
  readonly format: Format
}

export const formatOption = (): Option =>
  new Option(
    '--format <matrices=codes>',
    "format of the matrices with these names, such as '*.mlp_down.weight=w8' or 'layers.0.*=w8': w4, w4m or w8; repeatable; the last match wins",
  ).argParser((text: string, rules: readonly FormatRule[] = []) => [...rules, ruleOf(text)])

function ruleOf(text: string): FormatRule {
  const at = text.lastIndexOf('=')
  const format = FORMATS.get(text.slice(at + 1))
  if (at < 1 || format === undefined) {
    throw new InvalidArgumentError(`Give names and w4, w4m or w8, as in '*.mlp_down.weight=w8'.`)
  }
  return { pattern: text.slice(0, at), format }
}

const matches = (pattern: string, name: string): boolean => {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return name === pattern
  const last = rest.pop() ?? ''
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.endsWith(last) && name.length - last.length >= at
}

/** Formats by name. Throws `unsupported` for a rule that matches no matrix. */
export function formatsOf(
  rules: readonly FormatRule[] | undefined,
  matrices: readonly string[],
): ReadonlyMap<string, Format> {
  const formats = new Map<string, Format>()
  for (const { pattern, format } of rules ?? []) {
    const names = matrices.filter((name) => matches(pattern, name))
    if (names.length === 0) {
      throw new HalfbyteError(
        'unsupported',
        `--format ${visibleLine(pattern)} matches none of the ${matrices.length} matrices, such as ${matrices[0]}; "halfbyte inspect" lists all names`,
      )
    }
    for (const name of names) formats.set(name, format)
  }
  return formats
}
