// Chooses the store of a load in Node: the folder that an option or the environment names, or none.
import { HalfbyteError } from '../../../core/base/errors.ts'
import type { Device } from '../../../core/store/device/device.ts'
import { storeFolder } from '../platform-folders.ts'
import { isSet } from '../processes.ts'
import { diskDevice } from './node-device.ts'

/** A folder, or false to store nothing. Default: `storeFolder`, unless `HALFBYTE_NO_STORE` is set. */
export type StoreOption = string | false | undefined

/** One for each folder, so that a folder that cannot be written is reported once. */
const devices = new Map<string, Device>()

let report = (reason: string): void => process.emitWarning(reason)

/** Replaces Node's warning about a store that cannot be written. */
export function reportDenials(to: (reason: string) => void): void {
  report = to
}

/**
 * Undefined if nothing is stored. A folder that an option names must be usable: opening it throws
 * `unsupported` otherwise. Any other one is reported, and models are read over the network.
 */
export function storeOf(store: StoreOption): Device | undefined {
  if (store === false || (store === undefined && isSet(NO_STORE))) return undefined
  const folder = store ?? storeFolder()
  const key = `${store === undefined ? 'default' : 'given'} ${folder}`
  const known = devices.get(key)
  if (known !== undefined) return known
  const device = diskDevice(folder, store === undefined ? (reason) => report(reason) : deny)
  devices.set(key, device)
  return device
}

export const NO_STORE = 'HALFBYTE_NO_STORE'

const deny = (reason: string): never => {
  throw new HalfbyteError('unsupported', `${reason}; give another folder, or store: false`)
}
