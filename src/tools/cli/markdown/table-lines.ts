// Tables for a terminal. In: rows of styled cells, and a width. Out: aligned columns, or one line per cell if
// they do not fit.
import stringWidth from 'string-width'
import { styled, wrapped } from './styled-text.ts'

interface Cell {
  /** May have styles, but no line breaks. */
  readonly text: string
  readonly align?: 'left' | 'center' | 'right' | undefined
}

/** Columns narrower than this are harder to read than a list. */
const MIN_COLUMN = 8
/** The text between two columns. */
const GAP = ' │ '

/** The header is the first row. */
export function tableLines(rows: readonly (readonly Cell[])[], width: number): string[] {
  const [header = []] = rows
  const widths = columnWidths(rows, width - GAP.length * (header.length - 1))
  if (widths === undefined) return listed(rows, width)
  const gap = styled(GAP, ['dim'])
  const lines = rows.map((row) => rowLines(row, widths, gap))
  const rule = styled(widths.map((columns) => '─'.repeat(columns)).join('─┼─'), ['dim'])
  return [...(lines[0] ?? []), rule, ...lines.slice(1).flat()]
}

/**
 * Widths that fit into `room` columns, taken from the widest first; undefined if they would be too narrow.
 */
function columnWidths(rows: readonly (readonly Cell[])[], room: number): readonly number[] | undefined {
  const count = rows[0]?.length ?? 0
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(1, ...rows.map((row) => stringWidth(row[column]?.text ?? ''))),
  )
  for (let excess = widths.reduce((sum, each) => sum + each, 0) - room; excess > 0; excess--) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= MIN_COLUMN) return undefined
    widths[widest] = (widths[widest] ?? 0) - 1
  }
  return widths
}

function rowLines(row: readonly Cell[], widths: readonly number[], gap: string): string[] {
  const cells = widths.map((columns, column) => wrapped(row[column]?.text ?? '', columns))
  const height = Math.max(...cells.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) =>
    widths
      .map((columns, column) => aligned(cells[column]?.[line] ?? '', columns, row[column]?.align))
      .join(gap)
      .trimEnd(),
  )
}

function aligned(text: string, columns: number, align: Cell['align']): string {
  const free = Math.max(0, columns - stringWidth(text))
  const left = align === 'right' ? free : align === 'center' ? free >> 1 : 0
  return ' '.repeat(left) + text + ' '.repeat(free - left)
}

/** `header: cell`, with an empty line between rows. */
function listed([header = [], ...rows]: readonly (readonly Cell[])[], width: number): string[] {
  const line = (cell: Cell, column: number) => {
    const name = header[column]?.text ?? ''
    return wrapped(name === '' ? cell.text : `${name}: ${cell.text}`, width)
  }
  if (rows.length === 0) return header.flatMap(({ text }) => wrapped(text, width))
  return rows.flatMap((row, index) => [...(index > 0 ? [''] : []), ...row.flatMap(line)])
}
