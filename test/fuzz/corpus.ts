// The corpus. In: a target. Out: every input that once revealed a fault, from code or from files.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Input, type StoredInput, storeInput } from './input.ts'
import type { TargetName } from './target.ts'

/** An input that is easier to describe in code than in bytes. */
export interface CorpusEntry {
  readonly title: string
  readonly input: () => Input | Promise<Input>
}

interface StoredEntry {
  readonly title: string
  readonly input: StoredInput
}

const FOLDER = join(import.meta.dirname, 'corpus')

/** The entries of test/fuzz/corpus/TARGET.ts, then the files of test/fuzz/corpus/TARGET/ by name. */
export async function corpusOf(target: TargetName): Promise<StoredEntry[]> {
  const entries: StoredEntry[] = []
  if (existsSync(join(FOLDER, `${target}.ts`))) {
    const { CORPUS } = (await import(`./corpus/${target}.ts`)) as { readonly CORPUS: readonly CorpusEntry[] }
    for (const { title, input } of CORPUS) entries.push({ title, input: storeInput(await input()) })
  }
  const folder = join(FOLDER, target)
  for (const name of existsSync(folder) ? readdirSync(folder).sort() : []) {
    const { input } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { readonly input: StoredInput }
    entries.push({ title: `${target}/${name}`, input })
  }
  return entries
}
