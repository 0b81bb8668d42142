// HalfbyteError: an error with a code that survives workers, copies of the library, and realms.

/**
 * Why something failed. The list is closed, so callers can switch on it. Each comment gives the cause, then
 * the remedy.
 */
export type ErrorCode =
  /** The page, the model or an option needs an unsupported feature. Change what the message names. */
  | 'unsupported'
  /**
   * The browser did not start a worker, or did not load its script. Check the script's address, the bundler
   * and the page's security policy.
   */
  | 'worker'
  /** A server did not answer, or returned an error. Check the address and connection, then try again. */
  | 'network'
  /** Bytes differ from those published or stored. Load again: that fetches damaged parts again. */
  | 'integrity'
  /** A file contradicts itself or ends early. Download it again, or convert the model again. */
  | 'format'
  /** A model's configuration and weights match no supported family. Use another file of the model. */
  | 'architecture'
  /**
   * The browser refused the memory. Use a smaller model or context, or the settings that `Engine.probe`
   * suggests.
   */
  | 'out-of-memory'
  /** The device or the browser's quota is full. Remove a model (`unstore`, `makeRoom`), then load again. */
  | 'storage-full'
  /** A conversation or prompt exceeds the context. Shorten it, raise `contextLength`, or allow overflow. */
  | 'context-overflow'
  /** The engine, session or pool was closed, or has ended with an earlier error. Load again. */
  | 'disposed'
  /** A bug in Halfbyte, or a lost thread. Load again, and report the message. */
  | 'internal'

/** The numbers and names in the message. Survives structured cloning. */
export type ErrorDetail = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** An error in the form in which it crosses a worker boundary. */
export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly stack?: string | undefined
  readonly detail: ErrorDetail
}

const BRAND = Symbol.for('halfbyte.error')

/**
 * Every error that Halfbyte throws on purpose. An abort is different: it rejects with the signal's reason.
 * `instanceof` also holds for errors of the package's other entries and copies, like `isHalfbyteError`.
 */
export class HalfbyteError extends Error {
  override readonly name = 'HalfbyteError'
  /** Why the call failed, for programs to switch on. */
  readonly code: ErrorCode
  /** The numbers and names in the message. */
  readonly detail: ErrorDetail
  readonly [BRAND] = true

  /** `options` is the library's ErrorOptions, which came with ES2022. */
  constructor(
    code: ErrorCode,
    message: string,
    detail: ErrorDetail = {},
    options?: { readonly cause?: unknown },
  ) {
    super(message, options)
    this.code = code
    this.detail = detail
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    // A subclass inherits this method, but only its own errors are its instances.
    // biome-ignore lint/complexity/noThisInStatic: the class that was asked, which may be a subclass
    const isOwn = Function.prototype[Symbol.hasInstance].call(this, value)
    // biome-ignore lint/complexity/noThisInStatic: the same
    return isOwn || (this === HalfbyteError && isHalfbyteError(value))
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

/** True for a HalfbyteError from any copy of this library, in any realm. */
export function isHalfbyteError(value: unknown): value is HalfbyteError {
  try {
    return typeof value === 'object' && value !== null && BRAND in value
  } catch {
    // A proxy may throw.
    return false
  }
}

/** The message of any thrown value, even one that cannot be converted to a string. */
export function reasonOf(cause: unknown): string {
  try {
    return String(cause instanceof Error ? cause.message : cause)
  } catch {
    return `a value of type ${typeof cause}`
  }
}
