// `--table` and `--head`: the formats of the embedding and the logits matrix.
import { type Command, Option } from 'commander'
import type { TableFormats } from '../../shrink/vocabulary/coded-tables.ts'

/** Formats of a single matrix, by the typed value. */
export const MATRIX_FORMATS = { w4: 'w4_g32', w4m: 'w4m_g32', w8: 'w8_g32' } as const

export interface TableFlags {
  readonly table?: keyof typeof MATRIX_FORMATS
  readonly head?: keyof typeof MATRIX_FORMATS
}

export const withTableOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--table <format>',
        "format of the embedding and the logits matrix: w4 or w4m (4 bits; w4m also has a minimum), or w8; default: the model's own if it has as few bits, otherwise w8",
      ).choices(Object.keys(MATRIX_FORMATS)),
    )
    .addOption(
      new Option(
        '--head <format>',
        'format of the logits matrix, which becomes a separate matrix if it was the embedding; default: that of --table',
      ).choices(Object.keys(MATRIX_FORMATS)),
    )

export const tableFormats = ({ table, head = table }: TableFlags): TableFormats => ({
  table: table && MATRIX_FORMATS[table],
  head: head && MATRIX_FORMATS[head],
})
