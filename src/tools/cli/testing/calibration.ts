// Calibration for tests of the command line. In: a name. Out: a text in the tests' folder, flags for a short
// run on it, and a function that waits for work files.
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { beforeAll } from 'vitest'
import { path } from './program.ts'

/** Writes the text before the tests of the calling file. `few`: flags for four windows of it. */
export function calibrationText(name: string) {
  const text = path(name)
  const few = ['--calibration', text, '--context', '48', '--windows', '4', '--threads', '1'] as const
  beforeAll(async () => {
    await writeFile(text, 'a little text that says a thing or two about the cat and the hat. '.repeat(200))
  })
  return { text, few }
}

/** Resolves when the file exists, or after half a minute. */
export async function appears(file: string): Promise<void> {
  for (let wait = 0; wait < 6000 && !existsSync(file); wait++)
    await new Promise((done) => setTimeout(done, 5))
}
