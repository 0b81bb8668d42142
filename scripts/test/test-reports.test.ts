// Readers of test reports. In: real runners' output for one failing and one passing test. Out: both counted,
// the failing one by name.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Report, readFuzz, readPlaywright, readSoak, readTap, readVitest } from './test-reports.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
let folder: string

beforeAll(() => {
  mkdirSync(join(root, 'build'), { recursive: true })
  // Inside the project, so that the runners' packages are found.
  folder = mkdtempSync(join(root, 'build/reports-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const write = (name: string, text: string) => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const TESTS = `
test('adds', () => { expect(1 + 1).toBe(2) })
test('adds wrongly', () => { expect(1 + 1).toBe(3) })
test.skip('is left out', () => {})
`

const runners: Record<string, () => Report> = {
  'node:test': () => {
    const file = write(
      'sums.mjs',
      `import test from 'node:test'\nimport assert from 'node:assert'\nconst expect = (a) => ({ toBe: (b) => assert.equal(a, b, 'Expected: ' + b + '\\nReceived: ' + a) })\n${TESTS}`,
    )
    const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], {
      encoding: 'utf8',
      env: { ...process.env, NODE_TEST_CONTEXT: undefined },
    })
    return readTap(stdout)
  },
  Vitest: () => {
    const report = join(folder, 'vitest.json')
    write('sums.test.mjs', `import { expect, test } from 'vitest'\n${TESTS}`)
    write('vitest.config.mjs', 'export default {}')
    spawnSync(
      process.execPath,
      [
        join(root, 'node_modules/vitest/vitest.mjs'),
        'run',
        '--root',
        folder,
        '--reporter=json',
        `--outputFile=${report}`,
      ],
      { env: { ...process.env, VITEST: undefined } },
    )
    return readVitest(readFileSync(report, 'utf8'))
  },
  Playwright: () => {
    const report = join(folder, 'playwright.json')
    write('sums.spec.mjs', `import { expect, test } from '@playwright/test'\n${TESTS}`)
    const config = write(
      'playwright.config.mjs',
      `export default { testMatch: '*.spec.mjs', outputDir: 'out' }`,
    )
    spawnSync(
      process.execPath,
      [join(root, 'node_modules/@playwright/test/cli.js'), 'test', '--config', config, '--reporter=json'],
      { env: { ...process.env, PLAYWRIGHT_JSON_OUTPUT_FILE: report } },
    )
    return readPlaywright(readFileSync(report, 'utf8'))
  },
}

for (const [runner, read] of Object.entries(runners)) {
  test(`the report of ${runner} gives the failed test and the reason`, () => {
    const { passed, failed, skipped, failures } = read()
    expect({ passed, failed, skipped }).toEqual({ passed: 1, failed: 1, skipped: 1 })
    expect(failures.map(({ name }) => name)).toEqual([expect.stringContaining('adds wrongly')])
    expect(failures[0]?.message).toMatch(/expected.*3/is)
    expect(failures[0]?.message).not.toContain(String.fromCharCode(27))
  })
}

test('a soak report counts its checks and names those that failed', () => {
  const failures = [{ what: 'workers are still there', holds: false }]
  const log = JSON.stringify({ passed: 12, failed: 1, failures, samples: [] })
  expect(readSoak(log)).toEqual({
    passed: 12,
    failed: 1,
    skipped: 0,
    failures: [{ name: 'the soak', message: 'workers are still there' }],
  })
})

test('each fuzz target counts as a test that fails if there are findings', () => {
  const fault = { kind: 'hang', message: 'it took more than 5 s', signature: 'hang' }
  const reports = [
    { target: 'gguf', findings: [] },
    { target: 'hbm', findings: [{ at: '1:7', fault }] },
  ]
  expect(readFuzz(JSON.stringify(reports))).toEqual({
    passed: 1,
    failed: 1,
    skipped: 0,
    failures: [{ name: 'hbm at 1:7', message: 'hang: it took more than 5 s' }],
  })
})
