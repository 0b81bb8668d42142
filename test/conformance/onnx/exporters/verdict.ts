// Verdicts on exports. In: how far logits differ. Out: whether rounding explains the difference, and Markdown
// tables. Runs no model.
import type { Kind, Meta, Moved } from './folder.ts'

/** The difference of a pair of tables of logits, and the maximum that rounding explains. */
export interface Difference {
  readonly found: number
  readonly most: number
}

export type Verdict =
  | { readonly is: 'refused'; readonly why: string }
  | {
      readonly is: 'equal' | 'different'
      /** With f32 weights, compared with float products by the graph's weights. */
      readonly exact: Difference
      /** As loaded by a page, compared with the graph in ONNX Runtime. */
      readonly usual: Difference
    }

/** bf16 has 3 bits less than f16. */
const FLOATS = { f32: 1e-4, f16: 2e-3, bf16: 1.6e-2 } as const
/** One set of rounding errors is only a sample: others may move logits further, but hardly twice as far. */
const SPREAD = 2

/**
 * The maximum that rounding explains. `exact` loads weights as f32 and compares with the graph's f32 twin;
 * `usual` loads like a page and compares with the graph. An f16 graph rounds every value, which the plan does
 * not. For codes, `exact` only rounds scales to f16, while `usual` also rounds activations and some weights
 * to 8 bits. ONNX Runtime's own rounding is added to `usual`.
 */
export function bounds(kind: Kind, moved?: Moved): { readonly exact: number; readonly usual: number } {
  if (kind !== 'int8' && kind !== 'int4')
    return { exact: FLOATS[kind], usual: FLOATS[kind] + (moved?.runtime ?? 0) }
  if (moved === undefined)
    throw new RangeError(`an export in ${kind} does not say how far rounding moves its logits`)
  const exact = FLOATS.f32 + SPREAD * moved.scales
  return { exact, usual: exact + SPREAD * moved.groups + moved.runtime }
}

/**
 * The largest difference, relative to the largest expected logit. Non-finite values and tables of other sizes
 * differ by Infinity.
 */
export function largestRelative(
  found: readonly ArrayLike<number>[],
  wanted: readonly ArrayLike<number>[],
): number {
  if (found.length !== wanted.length || wanted.length === 0) return Infinity
  let difference = 0
  let largest = 0
  for (const [position, row] of wanted.entries()) {
    const other = found[position]!
    if (other.length !== row.length) return Infinity
    for (let id = 0; id < row.length; id++) {
      const apart = Math.abs(other[id]! - row[id]!)
      if (!Number.isFinite(apart)) return Infinity
      difference = Math.max(difference, apart)
      largest = Math.max(largest, Math.abs(row[id]!))
    }
  }
  return difference === 0 ? 0 : difference / largest
}

export function verdictOf(exact: Difference, usual: Difference): Verdict {
  const fits = [exact, usual].every(({ found, most }) => found <= most)
  return { is: fits ? 'equal' : 'different', exact, usual }
}

const shown = (value: number) => (value === 0 ? '0' : value.toExponential(1))
const shownOf = ({ found, most }: Difference) => `${shown(found)} of ${shown(most)}`

/** One row per graph, by exporter, form and family, and a line with counts. */
export function markdownTable(rows: readonly { readonly meta: Meta; readonly verdict: Verdict }[]): string {
  const keyOf = ({ exporter, form, family }: Meta) => `${exporter}\0${form}\0${family}`
  const sorted = [...rows].sort((one, other) => (keyOf(one.meta) < keyOf(other.meta) ? -1 : 1))
  const lines = sorted.map(({ meta, verdict }) => {
    const cells =
      verdict.is === 'refused'
        ? ['refused', '', verdict.why.replaceAll('|', '\\|')]
        : [verdict.is, shownOf(verdict.exact), shownOf(verdict.usual)]
    return `| ${[meta.exporter, meta.form, meta.family, ...cells].join(' | ')} |`
  })
  return [
    '| exporter | form | family | verdict | exact | usual |',
    '| --- | --- | --- | --- | --: | --: |',
    ...lines,
    '',
    countsOf(rows.map(({ verdict }) => verdict)),
  ].join('\n')
}

export function countsOf(verdicts: readonly Verdict[]): string {
  const count = (is: Verdict['is']) => verdicts.filter((each) => each.is === is).length
  const refused = count('refused')
  const loaded = verdicts.length - refused
  return `${verdicts.length} graphs: ${loaded} load, ${count('different')} of them differ, ${refused} are rejected.`
}
