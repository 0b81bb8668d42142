// Sends errors between threads: the same class, code and message arrive on the other side.
import { type TransferHandler, transferHandlers } from 'comlink'
import { HalfbyteError, isHalfbyteError } from '../../core/base/errors.ts'
import type { WireFailure } from './protocol.ts'

/** Converts a thrown value to cloneable values. */
export function toFailure(thrown: unknown): WireFailure {
  if (isHalfbyteError(thrown)) return { type: 'halfbyte', error: thrown.toWire() }
  const { name, message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
  return thrown instanceof DOMException
    ? { type: 'dom', name, message }
    : { type: 'other', name, message, stack }
}

/** The error that `toFailure` described. Errors of other classes become `internal`. */
export function fromFailure(failure: WireFailure): Error {
  if (failure.type === 'halfbyte') return HalfbyteError.fromWire(failure.error)
  const { name, message } = failure
  if (failure.type === 'dom') return new DOMException(message, name)
  const error = new HalfbyteError(
    'internal',
    `the engine failed unexpectedly (${name}: ${message}); please report this`,
    { name },
  )
  if (failure.stack !== undefined) error.stack = failure.stack
  return error
}

interface Thrown {
  readonly value: unknown
}
/** Comlink's own wire form of a thrown value, with our `halfbyte` added. */
type WireThrow = object & { readonly halfbyte?: WireFailure }

let installed = false

/**
 * Teaches Comlink to preserve the class and code of HalfbyteErrors and DOMExceptions that services throw.
 * Everything else uses Comlink's own handling, so a page that uses Comlink itself sees no difference. Both
 * threads call this.
 */
export function keepErrorClasses(): void {
  if (installed) return
  installed = true
  const stock = transferHandlers.get('throw') as TransferHandler<Thrown, WireThrow>
  const handler: TransferHandler<Thrown, WireThrow> = {
    ...stock,
    serialize(thrown) {
      const [wire, transferables] = stock.serialize(thrown)
      const ours = isHalfbyteError(thrown.value) || thrown.value instanceof DOMException
      return [ours ? { ...wire, halfbyte: toFailure(thrown.value) } : wire, transferables]
    },
    deserialize(wire) {
      if (wire.halfbyte !== undefined) throw fromFailure(wire.halfbyte)
      return stock.deserialize(wire)
    },
  }
  transferHandlers.set('throw', handler)
}
