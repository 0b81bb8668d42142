// Splits. In: the files of one split model, in any order. Out: the files in order, or an error naming missing
// ones.
import { HalfbyteError } from '../base/errors.ts'
import { malformed } from './malformed.ts'

/** The end of a split's file name: number and count, from 1, before the extension. */
export const SPLIT = /-(\d{5})-of-(\d{5})(?=\.(gguf|hbm)$)/

/** One of several files of a model. */
export interface Split {
  readonly name: string
  /** From 0. */
  readonly number: number
  readonly count: number
}

/** Throws `format` when a split is missing, given twice, or from a model with another number of splits. */
export function inOrder<T extends Split>(splits: readonly [T, ...T[]]): readonly T[] {
  const [{ name, count }] = splits
  if (count === 1 && splits.length > 1) {
    throw new HalfbyteError(
      'format',
      `${splits.length} files were given and ${name} is a whole model; give one of them`,
      { files: splits.map((split) => split.name) },
    )
  }
  const ordered: T[] = []
  for (const split of splits) {
    const { number } = split
    if (split.count !== count || number >= count) {
      throw malformed(
        split.name,
        `it is split ${number + 1} of ${split.count} among splits of a model in ${count}`,
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
    `the model is split in ${count} files and ${splits.length} were given; add split ${names.join(', ')}${rest}`,
    { count, given: splits.length, missing: missing.slice(0, 64).map(String) },
  )
}

/** The name of split `number`, from 1, made from the name of any other split. */
export function splitName(name: string, number: number, count: number): string {
  const pad = (value: number) => String(value).padStart(5, '0')
  return name.replace(SPLIT, `-${pad(number)}-of-${pad(count)}`)
}
