// Kernels that tests under sanitizers have to run. In: which they ran, a line for each build and kernel. Out: those missing.
import { OP_CODE, type OpName } from '../../src/graph/op-codes.ts'
import { OP_FIELDS } from '../../src/runtime/abi.ts'
import { ENCODING_CODE, groupEncoding, isSparse } from '../../src/weights/encoding.ts'
import { BUILDS } from './machine.ts'

const ENCODINGS = Object.keys(ENCODING_CODE) as (keyof typeof ENCODING_CODE)[]

/** Those that one op has kernels for. */
function encodingsOf(op: OpName): readonly string[] {
  if (op.includes('sparse')) return ENCODINGS.filter(isSparse)
  if (op === 'embed') return ENCODINGS.filter((encoding) => groupEncoding(encoding) === encoding)
  return ENCODINGS.filter((encoding) => !isSparse(encoding))
}

const OPS = (Object.keys(OP_CODE) as OpName[]).flatMap((op) =>
  OP_FIELDS[op].includes('encoding') ? encodingsOf(op).map((encoding) => `${op} ${encoding}`) : [op],
)
const ROWS = ['top', 'guide', 'mask', 'sum_exp', 'spread', 'weigh'].map((name) => `logits_${name}`)
const KERNELS = [...OPS, ...ROWS]

export const kernelCount = KERNELS.length

export function missingKernels(covered: string): string[] {
  const lines = new Set(covered.split('\n'))
  return BUILDS.flatMap((build) => KERNELS.map((kernel) => `${build}: ${kernel}`)).filter(
    (line) => !lines.has(line),
  )
}
