// Puts the files of a split model or pack in order, and names the missing ones.

import { type ByteSource, heldIn, joinedSource } from '../base/bytes.ts'
import { HalfbyteError } from '../base/errors.ts'
import { malformed } from './malformed.ts'
import { baseName } from './names/named-files.ts'

/**
 * Joins the parts in order. Whether they belong together is checked later, by the pack's own size and hashes.
 * Throws `format` if parts are missing, given twice or of unequal sizes, and for several packs.
 */
export function joinParts(files: readonly [ByteSource, ...ByteSource[]]): ByteSource {
  const [first, ...others] = files.map((source) => {
    const name = baseName(source.name)
    const [, number = 1, count = 1] = SPLIT.exec(name) ?? []
    return { source, name, number: Number(number) - 1, count: Number(count) }
  })
  if (others.length === 0 && first!.count === 1) return first!.source
  const parts = inOrder([first!, ...others])
  const whole = parts[0]!.source.size
  for (const { source, number, count } of parts) {
    if (number < count - 1 && source.size !== whole) {
      throw malformed(source.name, `it has ${source.size} bytes but the first part has ${whole}`)
    }
  }
  const ranges = parts.map(({ source }) => ({ source, offset: 0, bytes: source.size }))
  return {
    ...joinedSource(first!.name.replace(SPLIT, ''), ranges),
    async renew(offset, end) {
      for (const { source, from, to } of heldIn(ranges, offset, end)) await source.renew?.(from, to)
    },
    isChecked: parts.every(({ source }) => source.isChecked === true),
  }
}

/** The end of a split's file name: its number (from 1) and the count, before the extension. */
export const SPLIT = /-(\d{5})-of-(\d{5})(?=\.(gguf|hbm)$)/

/** One of several files of a model. */
export interface Split {
  readonly name: string
  /** Counted from 0. */
  readonly number: number
  readonly count: number
}

/** Throws `format` if a split is missing, given twice, or from a model with a different number of splits. */
export function inOrder<T extends Split>(splits: readonly [T, ...T[]]): readonly T[] {
  const [{ name, count }] = splits
  if (count === 1 && splits.length > 1) {
    throw new HalfbyteError(
      'format',
      `${splits.length} files were given but ${name} is a whole model; pass only one of them`,
      { files: splits.map((split) => split.name) },
    )
  }
  const ordered: T[] = []
  for (const split of splits) {
    const { number } = split
    if (split.count !== count || number >= count) {
      throw malformed(
        split.name,
        `it is split ${number + 1} of ${split.count}, but the other files belong to a model in ${count} splits`,
      )
    }
    const twin = ordered[number]
    if (twin !== undefined) {
      throw new HalfbyteError(
        'format',
        `${split.name} and ${twin.name} are both split ${number + 1} of ${count}; give each split once`,
        { split: number + 1, count },
      )
    }
    ordered[number] = split
  }
  if (splits.length === count) return ordered
  const missing: number[] = []
  for (let number = 1; number <= count; number++) if (!(number - 1 in ordered)) missing.push(number)
  const names = missing.slice(0, 8).map((number) => `${number} (${splitName(name, number, count)})`)
  const rest = missing.length > names.length ? ` and ${missing.length - names.length} more` : ''
  throw new HalfbyteError(
    'format',
    `the model is split into ${count} files but ${splits.length} were given; add split ${names.join(', ')}${rest}`,
    { count, given: splits.length, missing: missing.slice(0, 64).map(String) },
  )
}

/** The name or address of split `number` (from 1), derived from any other split's: only the digits differ. */
export function splitName<Name extends string>(name: Name, number: number, count: number): Name {
  const pad = (value: number) => String(value).padStart(5, '0')
  const path = name.split(/[?#]/, 1)[0] ?? name
  return (path.replace(SPLIT, `-${pad(number)}-of-${pad(count)}`) + name.slice(path.length)) as Name
}
