// Reads one input with a target, and returns how far it got or which typed error it hit. Anything else is a
// finding.
import { isHalfbyteError } from '../../src/core/base/errors.ts'
import type { Input } from './input.ts'
import type { Target } from './target.ts'

/** A fault that reading an input revealed. */
export interface Fault {
  /**
   * `raw`: not one of our errors. `internal`: our own fault. The others are visible only from outside the
   * process.
   */
  readonly kind: 'raw' | 'internal' | 'hang' | 'memory' | 'crash'
  readonly message: string
  /** Equal for faults with the same cause: kind, error name and first stack line in src/. */
  readonly signature: string
  readonly stack?: string | undefined
}

export interface Verdict {
  /** A word from the target, or a typed error's code. */
  readonly outcome: string
  readonly fault?: Fault
}

/** Never throws. */
export async function judge(target: Target, input: Input): Promise<Verdict> {
  try {
    return { outcome: await target.run(input) }
  } catch (error) {
    if (!isHalfbyteError(error)) return { outcome: 'raw', fault: faultOf('raw', error) }
    return error.code === 'internal'
      ? { outcome: 'internal', fault: faultOf('internal', error) }
      : { outcome: error.code }
  }
}

export function faultOf(kind: Fault['kind'], error: unknown): Fault {
  const { name, message, stack } =
    error instanceof Error ? error : { name: typeof error, message: String(error), stack: '' }
  return { kind, message: message.slice(0, 400), stack, signature: `${kind} ${name} ${placeIn(stack ?? '')}` }
}

/** The first stack line in our code; if there is none, in a package. */
function placeIn(stack: string): string {
  const own = /\/((?:src|workers)\/[\w./-]+\.ts:\d+)/.exec(stack)
  const other = /node_modules\/((?:@[\w.-]+\/)?[\w.-]+)/.exec(stack)
  const frame = /\/(fuzz\/[\w./-]+:\d+)/.exec(stack)
  return own?.[1] ?? other?.[1] ?? frame?.[1] ?? 'nowhere'
}
