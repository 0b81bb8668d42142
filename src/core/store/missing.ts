// Decides, from what is stored of a folder, whether to request an optional file from the server.
import { HalfbyteError, isHalfbyteError } from '../base/errors.ts'
import { GRAPH_FOLDER } from '../formats/names/graph-files.ts'
import { fileName, type RemoteFile } from './address.ts'
import type { KnownFile } from './device/model-store.ts'
import { WEIGHTS } from './hub.ts'

/**
 * `noted`: the server had no such file when the model was stored. `assumed`: an earlier release stored the
 * model without recording missing files, so this one may have been missing or lost. `lost`: the file, or the
 * record that it is missing, is no longer on this device. Undefined if nothing is known or the file is
 * stored.
 */
type Absence = 'noted' | 'assumed' | 'lost' | undefined

/**
 * Whether this file of the model at `address` may be absent from its folder. Weights that the user names are
 * always requested.
 */
export const mayBeMissing = (address: string, url: string): boolean =>
  address.endsWith('/') || !WEIGHTS.test(fileName(url))

/** Nothing is known about a folder until its weights, which are fetched last, have been stored. */
export function absenceOf(address: string, file: RemoteFile, known: readonly KnownFile[]): Absence {
  const { url, optional, instead } = file
  const isStored = (other: string) => known.some((each) => each.url === other && each.isComplete)
  if (!mayBeMissing(address, url) || isStored(url)) return undefined
  const folder = folderOf(url)
  const weights = known.filter(
    (each) =>
      each.isComplete &&
      [folder, folder + GRAPH_FOLDER].includes(folderOf(each.url)) &&
      /\.(safetensors|onnx)$/.test(each.url),
  )
  if (weights.length === 0) return undefined
  if (known.some((each) => each.url === url && each.isMissing)) return 'noted'
  if (weights.every(({ knowsMissing }) => knowsMissing)) {
    return WEIGHTS.test(fileName(url)) ? undefined : 'lost'
  }
  const isAssumed =
    optional &&
    !known.some((each) => each.url === url) &&
    isStored(`${folder}config.json`) &&
    weights.some((each) => each.url.endsWith('.safetensors')) &&
    // If neither the file nor a record that it is missing exists, the device has lost it.
    (instead === undefined || instead.some(isStored)) &&
    (!url.endsWith('.index.json') || isStored(`${folder}model.safetensors`))
  return isAssumed ? 'assumed' : undefined
}

function folderOf(url: string): string {
  const path = url.split(/[?#]/, 1)[0] ?? url
  return path.slice(0, path.lastIndexOf('/') + 1)
}

/** For a `lost` file, the error says that this device had it. Other errors are unchanged. */
export function lostError(url: string, error: unknown): unknown {
  if (!isHalfbyteError(error) || error.code !== 'network') return error
  const file = fileName(url)
  return new HalfbyteError(
    'network',
    `${file} was stored on this device but is missing, and could not be downloaded again (${error.message}); connect to the network and load the model again`,
    { ...error.detail, file },
    { cause: error },
  )
}
