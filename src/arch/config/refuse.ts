// Refuse. In: what a header asks for. Out: the errors for models that are not supported, with what is.
import { HalfbyteError } from '../../base/errors.ts'
import { shown } from '../../formats/malformed.ts'
import { FAMILIES } from './config.ts'

/** Another architecture. */
export function unknownArchitecture(file: string, architecture: string): HalfbyteError {
  return new HalfbyteError(
    'architecture',
    `${file}: the architecture ${shown(architecture)} is not supported; choose a model of one that is: ` +
      `${FAMILIES.join(', ')} (Mistral counts as llama)`,
    { architecture, supported: FAMILIES },
  )
}

/** A variant of a family; both texts complete the sentence. */
export function unbuiltVariant(file: string, found: string, supported: string): HalfbyteError {
  return new HalfbyteError(
    'unsupported',
    `${file}: the model has ${found}, which is not supported; choose one with ${supported}`,
    { found, supported },
  )
}
