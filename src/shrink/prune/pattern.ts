// Patterns. In: what was asked for. Out: which weights are kept or dropped together, and how many.
import { HalfbyteError } from '../../base/errors.ts'

/** Weights that are kept or dropped as one: `rows` outputs x `inputs` inputs. */
export interface Pattern {
  /** `unstructured`, `sb84`, `sv32`, or like `2:4`. */
  readonly name: string
  readonly rows: number
  readonly inputs: number
  /** Of every `of` inputs of an output, `keep` are kept. Absent: the sparsity says how many. */
  readonly nm?: { readonly keep: number; readonly of: number } | undefined
}

const UNITS: ReadonlyMap<string, Pattern> = new Map(
  Object.entries({
    unstructured: { name: 'unstructured', rows: 1, inputs: 1 },
    sb84: { name: 'sb84', rows: 8, inputs: 4 },
    sv32: { name: 'sv32', rows: 32, inputs: 1 },
  }),
)

/** SparseGPT's blocks of 128 inputs hold at least two groups of this many. */
const MOST_OF = 64

/** Throws `unsupported` for what is no pattern. */
export function parsePattern(text: string): Pattern {
  const known = UNITS.get(text)
  if (known !== undefined) return known
  const found = /^(\d{1,3}):(\d{1,3})$/.exec(text)
  const [keep, of] = [Number(found?.[1]), Number(found?.[2])]
  if (!(keep >= 1 && keep < of && of <= MOST_OF)) {
    throw new HalfbyteError(
      'unsupported',
      `${text} is no pattern; choose unstructured, sb84, sv32, or N:M with 1 <= N < M <= ${MOST_OF}, like 2:4`,
      { pattern: text },
    )
  }
  return { name: text, rows: 1, inputs: 1, nm: { keep, of } }
}

/**
 * The share of weights to drop. N:M says it itself. Throws `unsupported` without one, or for one that is not
 * that of N:M.
 */
export function sparsityOf({ name, nm }: Pattern, asked: number | undefined): number {
  if (nm === undefined) {
    if (asked !== undefined) return asked
    throw new HalfbyteError(
      'unsupported',
      `${name} does not say how many weights to drop; give --sparsity, like --sparsity 0.5`,
    )
  }
  const own = 1 - nm.keep / nm.of
  if (asked === undefined || Math.abs(asked - own) < 1e-9) return own
  throw new HalfbyteError(
    'unsupported',
    `${name} drops ${own} of the weights and the sparsity is ${asked}; leave out --sparsity, or choose another pattern`,
    { sparsity: asked },
  )
}
