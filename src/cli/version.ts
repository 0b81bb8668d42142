// The version. In: package.json, from source and in the built package. Out: its version.
import { readFileSync } from 'node:fs'

const MANIFEST = import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json'

export const packageVersion = (): string =>
  JSON.parse(readFileSync(new URL(MANIFEST, import.meta.url), 'utf8')).version
