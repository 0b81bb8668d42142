// Lists the kernels that sanitizer tests should have run but did not.

import { ENCODINGS, groupEncoding, isSparse, type PackedEncoding } from '../../src/core/abi/encodings.ts'
import { OPS, type OpName, opEntry } from '../../src/core/abi/ops.ts'
import { BUILDS } from './machine.ts'

const NAMES = Object.keys(ENCODINGS) as PackedEncoding[]

/** Encodings for which one op has a kernel. */
function encodingsOf(op: OpName): readonly string[] {
  if (op.includes('sparse')) return NAMES.filter(isSparse)
  if (op === 'repack') return NAMES.filter((encoding) => /^w\d+m?_g32$/.test(encoding))
  if (op === 'embed') return NAMES.filter((encoding) => groupEncoding(encoding) === encoding)
  return NAMES.filter((encoding) => !isSparse(encoding))
}

const OP_KERNELS = (Object.keys(OPS) as OpName[]).flatMap((op) =>
  opEntry(op).fields.includes('encoding') ? encodingsOf(op).map((encoding) => `${op} ${encoding}`) : [op],
)
const ROWS = ['top', 'guide', 'mask', 'sum_exp', 'spread', 'weigh'].map((name) => `logits_${name}`)
const KERNELS = [...OP_KERNELS, ...ROWS]

export const kernelCount = KERNELS.length

export function missingKernels(covered: string): string[] {
  const lines = new Set(covered.split('\n'))
  return BUILDS.flatMap((build) => KERNELS.map((kernel) => `${build}: ${kernel}`)).filter(
    (line) => !lines.has(line),
  )
}
