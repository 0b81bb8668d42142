// Known vulnerabilities. In: npm's advisories for the lockfile. Out: a failure for each package that the
// scripts in dist contain or that users install with them. Skipped where the registry gives no advisories.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

interface Report {
  /** npm's reason if there is no answer. */
  readonly message?: string
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>
}

/** Vulnerable packages among `names`, with the severity. */
const vulnerable = ({ vulnerabilities = {} }: Report, names: ReadonlySet<string>): string[] =>
  Object.entries(vulnerabilities)
    .filter(([name]) => names.has(name))
    .map(([name, { severity }]) => `${name}: ${severity}`)

/** What users get: the packages whose code is in dist, and the dependencies. */
function shipped(): Set<string> {
  const notices = readFileSync(join(ROOT, 'dist/THIRD_PARTY_NOTICES.md'), 'utf8')
  const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const contained = [...notices.matchAll(/^## (\S+) /gm)].map(([, name]) => name as string)
  return new Set([...contained, ...Object.keys(dependencies), ...Object.keys(peerDependencies)])
}

test('npm knows no vulnerability of a package that users get', ({ skip }) => {
  const { stdout } = spawnSync('npm', ['audit', '--json', '--fetch-retries=0', '--fetch-timeout=30000'], {
    cwd: ROOT,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  const report: Report = JSON.parse(stdout)
  if (report.vulnerabilities === undefined) skip(`npm audit gives no advisories: ${report.message}`)
  expect(vulnerable(report, shipped())).toEqual([])
})

test('the check finds what users get, and leaves out the tools', () => {
  const names = shipped()
  expect(names.size).toBeGreaterThan(15)
  const report = { vulnerabilities: { comlink: { severity: 'high' }, vitest: { severity: 'high' } } }
  expect(vulnerable(report, names)).toEqual(['comlink: high'])
})
