// Stores one JSON file per phone, and reads all of them back.
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { PhoneResult } from './measure.ts'

/** Writes the file atomically, replacing an earlier result of the same phone. */
export async function storeResult(folder: string, result: PhoneResult): Promise<void> {
  await mkdir(folder, { recursive: true })
  const plain = (text: string) => text.replace(/[^\w-]+/g, '-')
  const file = join(folder, `${plain(result.facts.model)}-${plain(result.serial)}.json`)
  await writeFile(`${file}.part`, `${JSON.stringify(result, undefined, 1)}\n`)
  await rename(`${file}.part`, file)
}

/** The results, sorted by file name, and the names of files without a result. */
export async function storedResults(
  folder: string,
): Promise<{ results: PhoneResult[]; unreadable: string[] }> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()
  const results: PhoneResult[] = []
  const unreadable: string[] = []
  for (const name of names) {
    const result = parsed(await readFile(join(folder, name), 'utf8'))
    if (result === undefined) unreadable.push(name)
    else results.push(result)
  }
  return { results, unreadable }
}

function parsed(text: string): PhoneResult | undefined {
  try {
    const value = JSON.parse(text) as Partial<PhoneResult> | null
    const isResult = typeof value?.facts === 'object' && Array.isArray(value.samples)
    return isResult ? (value as PhoneResult) : undefined
  } catch {
    return undefined
  }
}
