// Vision towers. A vision model at an address has a second file; the page remembers which.
import { unstore } from '../../../src/index.ts'
import { readItem, writeItem } from '../shell/storage.ts'

/** Addresses of towers by the address of their model, as JSON. */
const KEY = 'halfbyte-towers'

/** If the browser denies storage, this is the only copy, and lasts until the page closes. */
let towers: Readonly<Record<string, string>> | undefined

function known(): Readonly<Record<string, string>> {
  if (towers !== undefined) return towers
  try {
    const entries = Object.entries(Object(JSON.parse(readItem(KEY) ?? '{}')))
    towers = Object.fromEntries(
      entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    )
  } catch {
    towers = {}
  }
  return towers
}

/** The address of a model's tower; undefined if it has none. */
export const towerOf = (model: string): string | undefined => known()[model]

/** Remembers a model's tower. An empty address means that it has none. */
export function keepTower(model: string, tower: string): void {
  const { [model]: _, ...others } = known()
  towers = tower === '' ? others : { ...others, [model]: tower }
  writeItem(KEY, Object.keys(towers).length === 0 ? undefined : JSON.stringify(towers))
}

/** Removes a model's files from this device, with those of its tower. */
export async function unstoreModel(model: string): Promise<void> {
  const tower = towerOf(model)
  keepTower(model, '')
  await unstore(model)
  if (tower !== undefined) await unstore(tower)
}
