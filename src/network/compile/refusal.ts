// Nodes that the compiler cannot run: their errors, and the workaround for a caller.
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'

/**
 * Where nodes run that are not compiled: in Halfbyte's TypeScript (`script`), or in onnxruntime-web (`ort`).
 */
export type Runtime = 'script' | 'ort'

/** A node that is not compiled. */
export interface ForeignNode {
  /** Its name in the file, or its first output's name. */
  readonly node: string
  /** Its operator. */
  readonly op: string
  readonly runtime: Runtime
  /** Why it is not compiled, as a clause. */
  readonly reason: string
}

/** The node that an error rejects for reasons other than its sizes; undefined for other errors. */
export function refusedIn(error: unknown): Omit<ForeignNode, 'runtime'> | undefined {
  if (!isHalfbyteError(error) || error.code !== 'unsupported') return undefined
  const { node, op, reason } = error.detail
  const isRefusal = typeof node === 'string' && typeof op === 'string' && typeof reason === 'string'
  return isRefusal ? { node, op, reason } : undefined
}

/**
 * Adds advice for a caller of `Network.load` to the error for such a node. Returns other errors unchanged.
 */
export function withWayOut(error: unknown): unknown {
  const refused = refusedIn(error)
  if (refused === undefined) return error
  const { node, op, reason } = refused
  return new HalfbyteError(
    'unsupported',
    `node ${node} (${op}): ${reason}; set fallback: 'ort' to run it in onnxruntime-web, or export the model without it`,
    { node, op, reason },
    { cause: error },
  )
}
