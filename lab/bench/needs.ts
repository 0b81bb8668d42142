// What a measurement needs. In: what it names. Out: nothing if all is there; otherwise a line on stderr for
// each part, with the command that gets it, and the end of the process.

import { missingChromium } from '../../e2e/chromium.ts'
import { type RealModelName, realModel } from '../../scripts/models/real-models.mjs'

/** Call it before the work that would be lost. */
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
