// External data. In: the entries of a tensor that lies in another file. Out: the file and the range, checked.
import type { ByteSource } from '../../base/bytes.ts'
import { HalfbyteError } from '../../base/errors.ts'
import { malformed } from '../../formats/malformed.ts'
import { pathInside } from '../../formats/names/named-files.ts'
import type { TensorFields } from './tensor-proto.ts'

/** The file's path beside the model. Throws `format` for one that may lead out of the model's folder. */
export const externalLocation = (file: string, name: string, entries: ReadonlyMap<string, string>): string =>
  pathInside(entries.get('location') ?? '', `${file}: tensor ${name}`)

/**
 * Throws `format` for a range that the file does not have or that is not the tensor's size; `unsupported`
 * when the file is not there.
 */
export function externalRange(
  file: string,
  { name, byteLength }: TensorFields,
  entries: ReadonlyMap<string, string>,
  source: ByteSource | undefined,
): { source: ByteSource; offset: number } {
  const location = entries.get('location') ?? ''
  if (source === undefined) throw missing(file, name, location)
  const offset = count(file, name, 'offset', entries.get('offset') ?? '0')
  const length = count(file, name, 'length', entries.get('length') ?? `${byteLength}`)
  if (length !== byteLength)
    throw malformed(
      file,
      `tensor ${name} has ${length} bytes in ${location} where its shape needs ${byteLength}`,
    )
  if (offset + length > source.size)
    throw malformed(
      file,
      `tensor ${name} ends at byte ${offset + length} of ${location}, which has ${source.size}`,
    )
  return { source, offset }
}

function count(file: string, name: string, what: string, text: string): number {
  const value = Number(text)
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(value)) return value
  throw malformed(
    file,
    `tensor ${name} has the ${what} ${JSON.stringify(text.slice(0, 40))}, which is no count`,
  )
}

function missing(file: string, name: string, location: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: tensor ${name} lies in ${location}, which is not among the files; give the folder that has both`,
    { file, tensor: name, location },
  )
}
