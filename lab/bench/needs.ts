// Checks the requirements of a measurement. If something is missing, prints a line for each part to stderr,
// with the command that installs it, and exits.

import { missingChromium } from '../../e2e/chromium.ts'
import { type RealModelName, realModel } from '../../scripts/models/real-models.mjs'

/** Call this before any work that would be lost. */
export function needs({
  chromium,
  models = [],
}: {
  chromium?: true
  models?: readonly RealModelName[]
}): void {
  const missing = [
    chromium && missingChromium(),
    ...models
      .filter((name) => realModel(name) === undefined)
      .map((name) => `${name} is not set up; run "npm run setup -- ${name}"`),
  ].filter((each) => each !== undefined)
  if (missing.length === 0) return
  for (const each of missing) console.error(each)
  process.exit(1)
}
