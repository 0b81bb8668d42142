// Folder sizes. In: the files tracked by git. Out: folders with too many files to take in at a glance.
import { execFileSync } from 'node:child_process'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const MAX_FILES = 22

test('no source folder has too many files', () => {
  const counts = new Map<string, number>()
  for (const path of execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n')) {
    if (!/(^|\/)(golden|corpus|fixtures)\//.test(path))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  }
  expect(counts.get('scripts/test')).toBeGreaterThan(1)
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([])
})
