// Errors. In: a code, a sentence, details. Out: one class that keeps its code across workers, copies and realms.

/** Why something failed. Closed, so that callers can switch on it. Each: the cause, then what to do next. */
export type ErrorCode =
  /** The page, the model or an option asks for what Halfbyte does not do. Change what the message names. */
  | 'unsupported'
  /** A server did not answer, or answered with an error. Check the address and the connection, then try again. */
  | 'network'
  /** Bytes are not the ones that were published or stored. Load again: what is damaged is fetched anew. */
  | 'integrity'
  /** A file contradicts itself or ends too early. Fetch it again, or convert the model again. */
  | 'format'
  /** A model's configuration and its weights do not fit any family that is read. Use another file of the model. */
  | 'architecture'
  /** The page was refused the memory. Take a smaller model, a shorter context, or what `Engine.probe` suggests. */
  | 'out-of-memory'
  /** The device or the browser's quota is full. Remove a stored model (`unstore`, `makeRoom`), then load again. */
  | 'storage-full'
  /** A conversation or prompt does not fit the context. Shorten it, raise `contextLength`, or allow overflow. */
  | 'context-overflow'
  /** The engine, session or pool was closed, or has ended with an earlier error. Load again. */
  | 'disposed'
  /** A fault of Halfbyte, or a thread that was lost. Load again, and report it with the message. */
  | 'internal'

/** The numbers and names of the message. Survives structured cloning. */
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
