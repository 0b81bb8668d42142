// Opens one file at an address, which may not exist.
import type { ByteSource } from '../base/bytes.ts'
import { type HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import type { Place } from '../formats/names/named-files.ts'

/** Whether an error says that a server has no file at the address. */
export const isNotFound = (error: unknown): error is HalfbyteError =>
  isHalfbyteError(error) && error.detail['status'] === 404

/** The file at `address`; undefined if there is none. Rejects with the other errors of `open`. */
export async function fileAt(
  address: Place,
  open: (address: Place) => Promise<{ readonly sources: readonly ByteSource[] }>,
): Promise<ByteSource | undefined> {
  try {
    // A name with a part number stands for all parts.
    return (await open(address)).sources.find((source) => address.endsWith(encodeURIComponent(source.name)))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
