// Merges. In: the files that git knows. Out: those in which a merge has left both of its sides.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('no file holds the marks of a merge', () => {
  const { status, stdout } = spawnSync('git', ['grep', '-IlE', '^(<{7}|>{7}) '], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
  // git says so when it has found nothing; any other status is its own failure.
  expect(status).toBe(1)
})
