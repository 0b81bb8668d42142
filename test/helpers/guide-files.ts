// Files in the guide. In: a section. Out: the files that it prints in full, as a reader would copy them.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The sections with files. A spec runs the files of each. */
export const FILE_SECTIONS = [
  ['page.md', 'A first page'],
  ['bundlers.md', 'Chrome extensions'],
] as const

/** A file's name in bold, its description, and its text. */
const FILE = /^\*\*([\w.]+)\*\*:[^`]*?\n```\w+\n([\s\S]*?)^```$/gm

/** Writes the files of the section `title` of docs/guide/`page` into a folder. Returns their names. */
export async function writeGuideFiles(
  ...[page, title, folder]: [...(typeof FILE_SECTIONS)[number], folder: string]
): Promise<string[]> {
  const text = await readFile(new URL(`../../docs/guide/${page}`, import.meta.url), 'utf8')
  const section = text.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? ''
  const files = [...section.matchAll(FILE)].map(([, name = '', text = '']) => [name, text] as const)
  for (const [name, text] of files) await writeFile(join(folder, name), text)
  return files.map(([name]) => name)
}
