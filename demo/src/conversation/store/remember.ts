// Remembering. In: loaded models. Out: recent addresses, and the model to load when the page opens.
import { interruptedLoads } from '../../../../src/index.ts'
import { EMBEDDED, type ModelChoice } from '../../models/embedded.ts'
import { LAST, lastChoice } from '../../models/last-choice.ts'
import { choiceName, choiceSource } from '../../models/models.ts'
import { readItem, writeItem } from '../../shell/storage.ts'

/** Name of the file that was loaded last. */
const FILE = 'halfbyte-last-file'
const RECENT = 'halfbyte-models'
const MAX_RECENT = 6

/** Loads with the first local file. */
export const FILES = () => import('../../models/device-files.ts')

/** What to load when the page opens. */
export interface Start {
  readonly choice: ModelChoice
  /** True if the page crashed while it was loading this model. */
  readonly crashed: boolean
  /** Name of the file used on the last visit. */
  readonly lost?: string | undefined
}

export async function startChoice(): Promise<Start> {
  const killed = (await interruptedLoads()).findLast(({ source }) => source !== undefined && isKept(source))
  if (killed?.source !== undefined && !EMBEDDED.some((model) => killed.source === choiceSource(model))) {
    return { choice: { kind: 'address', address: killed.source }, crashed: true }
  }
  return { choice: lastChoice(), crashed: false, lost: readItem(FILE) }
}

/**
 * Puts a model first among the recent ones and loads it at the next start. For local files, it stores the
 * handles, if the browser has any.
 */
export function rememberChoice(choice: ModelChoice): void {
  const isAddress = choice.kind === 'address' && isKept(choice.address)
  writeItem(LAST, isAddress ? choice.address : choice.kind === 'embedded' ? choice.name : undefined)
  writeItem(FILE, choice.kind === 'files' ? choiceName(choice) : undefined)
  rememberAddress(choice)
  // Without it, the next visit says that it cannot open the files.
  if (choice.kind === 'files')
    void FILES().then(
      ({ keepFiles }) => keepFiles(choice.files),
      () => undefined,
    )
}

/** Puts an address first among the recent ones, as soon as part of it is stored. */
export function rememberAddress(choice: ModelChoice): void {
  if (choice.kind !== 'address' || !isKept(choice.address)) return
  const others = recentAddresses().filter((other) => other !== choice.address)
  writeRecent([choice.address, ...others].slice(0, MAX_RECENT))
}

/** Addresses loaded before, newest first. */
export function recentAddresses(): readonly string[] {
  try {
    const stored: unknown = JSON.parse(readItem(RECENT) ?? '[]')
    return Array.isArray(stored) ? stored.filter((item): item is string => typeof item === 'string') : []
  } catch {
    return []
  }
}

export function forgetAddress(address: string): void {
  writeRecent(recentAddresses().filter((other) => other !== address))
  if (readItem(LAST) === address) writeItem(LAST, undefined)
}

/** False for an address with a query or a password, which may be secret. */
function isKept(address: string): boolean {
  try {
    const { search, password } = new URL(address, location.href)
    return search === '' && password === ''
  } catch {
    return false
  }
}

function writeRecent(addresses: readonly string[]): void {
  writeItem(RECENT, addresses.length === 0 ? undefined : JSON.stringify(addresses))
}
