// Op rows. In: measured steps of a model. Out: each op's time next to its limit, as cells.
import type { Line, StepAnalysis } from '../../../../lab/bench/roofline/analyse.ts'
import { numberText } from '../../../../src/ui/words/message.ts'
import { type LaterWord, t } from '../../words/later-words.ts'
import { language } from '../../words/words.ts'

export const OP_COLUMNS = ['colOp', 'colMs', 'colLimit', 'colShare'] as const satisfies LaterWord[]

/** Ops below this share of a step's time are omitted. */
const LEAST_SHARE = 0.01

/** e.g. `Generating a token after 128 others: 2 threads, relaxed` */
export function stepTitle({ stage, tokens, position, threads, build }: StepAnalysis): string {
  const work = stage === 'decode' ? t('opsDecode', { position }) : t('opsPrefill', { tokens })
  return `${work}: ${t('threads', { count: threads, build })}`
}

/** The whole step first, then its ops, sorted by time above their limit. */
export function opRows({ lines, step }: StepAnalysis): readonly (readonly string[])[] {
  const shown = lines.filter(({ ms }) => ms.median >= LEAST_SHARE * step.ms.median)
  const names = shown.map(({ label }) => label.split(' ', 1)[0] ?? label)
  const rows = shown.map((line, at) => {
    const name = names[at] ?? line.label
    const isAlone = names.indexOf(name) === names.lastIndexOf(name)
    return [times(line.count, isAlone ? name : `${name} (${line.name})`), ...cells(line)]
  })
  return [[t('opsWhole'), ...cells(step)], ...rows]
}

/** A name and how often it occurs, such as `6 × mlp_down`. */
const times = (count: number, name: string): string => (count === 1 ? name : `${count} × ${name}`)

const cells = ({ ms, limitMs, share }: Line): readonly string[] => [
  numberText(ms.median, language(), 3),
  numberText(limitMs, language(), 3),
  new Intl.NumberFormat(language(), { style: 'percent' }).format(share),
]

/** Tables for the report. */
export const opTables = (steps: readonly StepAnalysis[]): string =>
  steps
    .map((step) => {
      const head = [OP_COLUMNS.map((name) => t(name)), OP_COLUMNS.map((_, at) => (at === 0 ? '---' : '--:'))]
      const rows = [...head, ...opRows(step)].map((row) => `| ${row.join(' | ')} |`)
      return `### ${stepTitle(step)}\n\n${rows.join('\n')}\n`
    })
    .join('\n')
