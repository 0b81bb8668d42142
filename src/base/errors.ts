// Errors. In: a code, a sentence, details. Out: one class that keeps its code across workers, copies and realms.

/** Why something failed; closed, so that callers can switch on it. */
export type ErrorCode =
  | 'unsupported'
  | 'network'
  | 'integrity'
  | 'format'
  | 'architecture'
  | 'out-of-memory'
  | 'storage-full'
  | 'context-overflow'
  | 'disposed'
  | 'internal'

/** Numbers and names behind the sentence; survives structured cloning. */
export type ErrorDetail = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** The form in which an error crosses a worker boundary. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly stack?: string | undefined
  readonly detail: ErrorDetail
}

const BRAND = Symbol.for('halfbyte.error')

/** Everything Halfbyte throws on purpose. An abort is not one of these: it rejects with the signal's reason. */
export class HalfbyteError extends Error {
  override readonly name = 'HalfbyteError'
  readonly code: ErrorCode
  readonly detail: ErrorDetail
  readonly [BRAND] = true

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.detail = detail
  }

  toWire(): WireError {
    return { code: this.code, message: this.message, stack: this.stack, detail: this.detail }
  }

  static fromWire(wire: WireError): HalfbyteError {
    const error = new HalfbyteError(wire.code, wire.message, wire.detail)
    if (wire.stack !== undefined) error.stack = wire.stack
    return error
  }
}

/** True for a HalfbyteError of any copy of this library, in any realm. */
export function isHalfbyteError(value: unknown): value is HalfbyteError {
  return typeof value === 'object' && value !== null && BRAND in value
}

/** What went wrong, for a sentence. */
export function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
