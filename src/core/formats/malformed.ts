// The `format` error that every reader throws, with the file's name and what is wrong with it.
import { type ErrorDetail, HalfbyteError } from '../base/errors.ts'

export { shown } from '../base/check-options.ts'

/** `what` is a clause with the numbers, e.g. `its header says 12 tensors but ends after 3`. */
export function malformed(file: string, what: string, detail: ErrorDetail = {}): HalfbyteError {
  return new HalfbyteError(
    'format',
    `${file}: ${what}; the file is corrupt or truncated, so download it again`,
    {
      file,
      ...detail,
    },
  )
}
