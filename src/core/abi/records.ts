// A record of one op with the description of its rows after it, for runs of single ops.
import { ROWS, STEP, STEP_WORDS } from './constants.ts'
import { OPS, type OpName } from './ops.ts'

/** Words of the op. */
const OP_WORDS = 32

/** Bytes of an op and of the description of its rows. */
export const SINGLE_OP_BYTES = 4 * (OP_WORDS + STEP_WORDS)

/** The address of the rows' description. */
export const rowsAfter = (record: number): number => record + 4 * OP_WORDS

/** Writes an op for `rows` rows into words that are 0. Fields that are left out stay so. */
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
