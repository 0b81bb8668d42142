// Finds an engine's package: whether it is installed, where, and which version.

import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import type { EngineKind } from './engines.ts'

export interface Package {
  readonly folder: string
  readonly version: string
}

/**
 * The engine's package; undefined if npm has not installed it, for example on platforms that it does not
 * support.
 */
export async function packageOf({ packageName }: EngineKind): Promise<Package | undefined> {
  if (packageName === undefined) return undefined
  const folders = createRequire(import.meta.url).resolve.paths(packageName) ?? []
  for (const folder of folders.map((each) => join(each, packageName))) {
    const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => undefined)
    if (text !== undefined) return { folder, version: JSON.parse(text).version }
  }
  return undefined
}

/** The addon of a platform package of node-llama-cpp. */
export const addonPath = ({ folder }: Package): string =>
  join(folder, 'bins', basename(folder), 'llama-addon.node')
