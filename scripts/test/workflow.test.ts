// The GitHub workflow. In: its lanes, and npm test's suites. Out: whether each suite is in exactly one lane.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))

test('each suite runs in one lane of the workflow', () => {
  const { status, stderr } = spawnSync(process.execPath, [path('test.mjs'), 'nothing'], { encoding: 'utf8' })
  expect(status).toBe(2)
  const suites = stderr.match(/knows all, (.*); not nothing/)?.[1]?.split(', ') ?? []
  expect(suites).toContain('unit')
  const workflow = readFileSync(path('../../.github/workflows/test.yml'), 'utf8')
  const inLanes = [...workflow.matchAll(/^ *suites: (.*)$/gm)].flatMap(([, names = '']) => names.split(' '))
  // Each lane builds first.
  expect(['build', ...inLanes].sort()).toEqual(suites.sort())
})
