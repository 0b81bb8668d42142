// Refuse. In: what a header asks for. Out: the errors for models that are not supported, with what is.
import { HalfbyteError } from '../../base/errors.ts'

/** A variant of a family; both texts complete the sentence. */
export function unbuiltVariant(file: string, found: string, supported: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the model has ${found}, which is not supported; choose one with ${supported}`,
    { found, supported },
  )
}
