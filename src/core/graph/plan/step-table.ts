// Prints steps as a page of text: a table with one line per step, then the totals. Used for models' plans and
// networks' programs.

export interface Column {
  readonly heading: string
  readonly isNumber?: boolean
}

/** A label, and the sentence after it. */
export type Total = readonly [label: string, text: string]

/** Aligned plain text. `rows`: the cells of each step, one per column. */
export function stepPage(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  totals: readonly Total[],
): string {
  const headings = columns.map(({ heading }) => heading)
  const table = aligned([headings, ...rows], (index) => columns[index]?.isNumber === true)
  return [...table, '', ...aligned(totals, () => false)].join('\n')
}

/** Columns as wide as their widest cell, two spaces apart. */
function aligned(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean,
): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return isNumber(column) ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}

/** Formats bytes with separated thousands: `1 234 567 B`. */
export const bytesText = (bytes: number): string => `${String(bytes).replace(/\B(?=(\d{3})+$)/g, ' ')} B`
