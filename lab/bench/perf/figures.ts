// Stores the figures of the last runs that were written into documents, and the documents' paths.
import { readFile, writeFile } from 'node:fs/promises'
import type { RealResults } from './real/results.ts'
import type { Summary } from './summary.ts'

/** The page with all tables. */
export const PAGE = new URL('../../measurements/performance.md', import.meta.url)
const FILE = new URL('../../measurements/performance.json', import.meta.url)

export interface Figures {
  /** Of random models of well-known shapes, by `npm run perf`. */
  readonly shapes: Summary
  /** Of real models, by `npm run perf:real`. */
  readonly models: RealResults
}

export const readFigures = async (): Promise<Figures> => JSON.parse(await readFile(FILE, 'utf8')) as Figures

/** Replaces one part. */
export async function writeFigures(part: Partial<Figures>): Promise<void> {
  await writeFile(FILE, `${JSON.stringify({ ...(await readFigures()), ...part }, null, 2)}\n`)
}

/** Halfbyte's version. */
export async function ownVersion(): Promise<string> {
  const manifest = await readFile(new URL('../../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}
