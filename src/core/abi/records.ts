// Writes an op record followed by its row description, to run a single op.
import { ROWS, STEP, STEP_WORDS } from './constants.ts'
import { OPS, type OpName } from './ops.ts'

/** Words in an op record. */
const OP_WORDS = 32

/** Bytes of an op record and its row description. */
export const SINGLE_OP_BYTES = 4 * (OP_WORDS + STEP_WORDS)

/** The address of the row description. */
export const rowsAfter = (record: number): number => record + 4 * OP_WORDS

/** Writes an op for `rows` rows into words that are 0. Omitted fields stay 0. */
export function writeSingleOp(
  words: Int32Array,
  op: OpName,
  rows: number,
  fields: Readonly<Record<string, number>>,
): void {
  words[0] = OPS[op].code
  words[1] = ROWS.tokens
  for (const [index, field] of OPS[op].fields.entries()) words[2 + index] = fields[field] ?? 0
  words[OP_WORDS + STEP.tokens] = rows
}
