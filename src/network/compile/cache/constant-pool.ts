// Constants of several programs, of which equal ones are one object. Cached programs have their own copies,
// but each constant is laid out in memory only once.
import { type Constant, isStored } from '../../onnx/ir/graph.ts'

export class ConstantPool {
  /** By name; a program with sizes of its own may replace one. */
  readonly #known = new Map<string, Constant>()

  /** The same constants, as objects of earlier programs where those are equal. */
  shared(constants: ReadonlyMap<string, Constant>): ReadonlyMap<string, Constant> {
    const shared = new Map<string, Constant>()
    for (const [name, constant] of constants) {
      const known = this.#known.get(name)
      const isSame = known !== undefined && (known === constant || areEqual(known, constant))
      shared.set(name, isSame ? known : constant)
      if (!isSame) this.#known.set(name, constant)
    }
    return shared
  }
}

function areEqual(one: Constant, other: Constant): boolean {
  if (one.dtype === 'string' || one.dtype !== other.dtype || `${one.dims}` !== `${other.dims}`) return false
  if (isStored(one) || isStored(other))
    return isStored(one) && isStored(other) && one.source === other.source && one.offset === other.offset
  const [left, right] = [one, other].map(
    ({ data: { buffer, byteOffset, byteLength } }) => new Uint8Array(buffer, byteOffset, byteLength),
  ) as [Uint8Array, Uint8Array]
  for (let at = 0; at < left.length; at++) if (left[at] !== right[at]) return false
  return left.length === right.length
}
