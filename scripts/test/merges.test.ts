// Merges. In: the files tracked by git. Out: files with conflict markers left by a merge.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('no file contains conflict markers', () => {
  const { status, stdout } = spawnSync('git', ['grep', '-IlE', '^(<{7}|>{7}) '], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  expect(stdout).toBe('')
  // git exits with 1 if it finds nothing; any other status means that git itself failed.
  expect(status).toBe(1)
})
