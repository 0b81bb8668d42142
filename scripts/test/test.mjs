// Runs a clone's checks and suites, then prints the failures with their reasons. The last line is "N passed,
// N failed, N skipped". A suite that runs no test counts as failed.
//
// npm test runs the suites that every change must pass, npm run test:all runs everything, and npm test --
// NAME... runs only the named suites.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { requirePinnedNode, root } from '../pinned-node.mjs'
import { setUp } from '../setup.mjs'
import { endWithRun, runCommand, runSteps } from './lanes.mjs'
import { readFuzz, readPlaywright, readSoak, readTap, readVitest } from './test-reports.mjs'

requirePinnedNode()

const reports = join(root, 'build/reports')
const bin = (name) => join(root, 'node_modules/.bin', name)

/** The data that the suites `fetched` and `models` need. */
const FETCHED = [
  ...['onnx-node-tests', 'llama-vocabularies'],
  ...['minimind2', 'minilm', 'smollm2', 'gemma3-270m', 'qwen2.5-coder-0.5b'],
]
/** 947 MB at 1 MB/s. */
const FETCH_MS = 947_000

/** Tests start the command a few hundred times; caching its compiled scripts halves the time. */
const COMPILED = { NODE_COMPILE_CACHE: join(root, 'build/compile-cache') }
/** The built command halves the time again, but may come from older sources if this run does not build. */
const BUILT = { HALFBYTE_COMMAND: 'dist/cli.js' }

const readReport = (name) => {
  const path = join(reports, name)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

const run = (command, args, print, env = {}) => {
  const built = names.includes('build') ? BUILT : {}
  return runCommand(command, args, {
    cwd: root,
    env: { ...process.env, ...COMPILED, ...built, ...env },
    print,
  })
}

/** A check that either passes or fails. */
const check = (command, args) => async (print) => {
  const passed = await run(command, args, print)
  return { passed: passed ? 1 : 0, failed: passed ? 0 : 1, skipped: 0, failures: [] }
}

/** A runner whose report is counted. A failed run without a failed test counts as one failure. */
const suite = (report, read, command, args, env) => async (print) => {
  rmSync(join(reports, report), { force: true })
  const hasPassed = await run(command, args, print, env)
  const text = readReport(report)
  const counts = text === undefined ? { passed: 0, failed: 0, skipped: 0, failures: [] } : read(text)
  if (!hasPassed && counts.failed === 0) counts.failed = 1
  return counts
}

const vitest = (project, reporter = 'default') =>
  suite(`${project}.json`, readVitest, bin('vitest'), [
    'run',
    '--project',
    project,
    `--reporter=${reporter}`,
    '--reporter=json',
    `--outputFile.json=build/reports/${project}.json`,
  ])

const playwright = (name, projects) =>
  suite(
    `${name}.json`,
    readPlaywright,
    bin('playwright'),
    ['test', '--reporter=list,json', '--output', `build/test-results/${name}`, ...projects],
    { PLAYWRIGHT_JSON_OUTPUT_FILE: join(reports, `${name}.json`) },
  )

/**
 * Downloads in a separate process, so that a slow connection does not delay other tests. Resolves once every
 * download has succeeded or failed; tests with missing data fail and name the command that downloads it.
 */
const fetchAll = () =>
  runCommand(process.execPath, ['scripts/setup.mjs', ...FETCHED], { cwd: root, limitMs: FETCH_MS })

/** A suite that needs downloaded data. */
const afterFetching = (suite) => async (print) => {
  await fetching
  return suite(print)
}

/** The Playwright projects in `folder`, which installs its own packages first. */
const installed = (name) =>
  suite(
    `${name}.json`,
    readPlaywright,
    process.execPath,
    [`scripts/${name}.mjs`, '--reporter=list,json', '--output', join(root, `build/test-results/${name}`)],
    { PLAYWRIGHT_JSON_OUTPUT_FILE: join(reports, `${name}.json`) },
  )

const SUITES = {
  build: check(process.execPath, ['scripts/build.mjs']),
  typecheck: check(bin('tsc'), ['--noEmit']),
  lint: check(bin('biome'), ['check']),
  size: check(process.execPath, ['scripts/size.mjs']),
  unit: vitest('unit'),
  conformance: vitest('conformance'),
  long: vitest('long'),
  fetched: afterFetching(vitest('fetched')),
  // Verbose, so that each skipped test says what it lacks.
  python: vitest('python', 'verbose'),
  fuzz: suite('fuzz.json', readFuzz, process.execPath, [
    'test/fuzz/main.ts',
    'all',
    '--minutes',
    process.env.HALFBYTE_FUZZ_MINUTES ?? '0.15',
    '--jobs',
    '1',
    '--seed',
    '20261122',
    '--report',
    'build/reports/fuzz.json',
  ]),
  sanitizers: suite('sanitizers.json', readVitest, process.execPath, ['scripts/test/sanitizers.mjs']),
  browser: playwright('browser', ['--project', 'main', '--project', 'desktop', '--workers', '2']),
  pages: playwright('pages', ['--project', 'phone', '--workers', '2']),
  models: afterFetching(playwright('models', ['--project', 'models'])),
  bundlers: installed('bundlers'),
  clients: installed('clients'),
  timed: playwright('timed', ['--project', 'timed']),
  engines: vitest('engines'),
  soak: suite('soak.json', readSoak, process.execPath, [
    'test/soak/main.ts',
    '--minutes',
    '2',
    '--folder',
    'build/reports',
  ]),
  'soak-serve': suite('serve.json', readSoak, process.execPath, [
    'test/soak/serve/main.ts',
    '--rounds',
    '150',
    '--folder',
    'build/reports',
  ]),
  jsc: suite('jsc.tap', readTap, process.execPath, ['scripts/jsc/main.mjs']),
  arm: suite('arm.tap', readTap, process.execPath, ['scripts/arm/arm.mjs']),
}

/** What every change must pass; `npm test` runs it. */
const MAIN = ['build', 'typecheck', 'lint', 'size', 'unit', 'conformance', 'browser']

/**
 * The order of suites. A step's lanes run in parallel. In the first lane each suite has two workers; in the
 * second, one core is enough, so at most three test processes share the memory. The browser suite comes
 * first, because it leaves a sixth of two cores idle when it runs alone, more than the other suites of its
 * lane. `models` is not in the same step as the other page suites, because it uses their ports.
 *
 * `timed` and `engines` run alone, because they measure or wait.
 */
const STEPS = [
  [['build']],
  [
    ['browser', 'unit', 'conformance', 'pages'],
    [
      'typecheck',
      'lint',
      'size',
      'fuzz',
      'sanitizers',
      'jsc',
      'arm',
      'soak',
      'soak-serve',
      'clients',
      'bundlers',
    ],
  ],
  [['long'], ['fetched', 'models', 'python']],
  [['timed']],
  [['engines']],
]

const args = process.argv.slice(2)
const everything = Object.keys(SUITES)
const asked = args.includes('all') ? everything : args.length > 0 ? args : MAIN
const unknown = asked.filter((name) => SUITES[name] === undefined)
if (unknown.length > 0) {
  console.error(`npm test knows all, ${everything.join(', ')}; not ${unknown.join(', ')}`)
  process.exit(2)
}
const names = everything.filter((name) => asked.includes(name))
const isAnyOf = (...suites) => suites.some((name) => names.includes(name))

endWithRun()
mkdirSync(reports, { recursive: true })
const parts = ['emscripten']
if (isAnyOf('browser', 'pages', 'models', 'bundlers', 'timed', 'engines')) parts.push('chromium')
if (names.includes('engines')) parts.push('firefox', 'webkit')
if (isAnyOf('arm', 'jsc')) parts.push('arm')
// The package's own tests also use these.
if (names.includes('long')) parts.push('bun', 'deno')
if (names.includes('jsc')) parts.push('jsc')
if (names.includes('sanitizers')) parts.push('simde')
// If a part cannot be installed, a suite fails or skips its tests.
setUp(parts)
// Downloads while suites that do not need the data run.
const fetching = isAnyOf('fetched', 'models') ? fetchAll() : undefined

const steps = STEPS.map((lanes) => lanes.map((lane) => lane.filter((name) => names.includes(name))))
const { total, lines, failing } = await runSteps(steps, SUITES, (piece) => process.stdout.write(piece))
if (failing.length > 0) console.log(`\n=== failing\n${failing.join('\n\n')}`)
console.log(`\n${lines.join('\n')}\n`)
console.log(`${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped`)
process.exit(total.failed === 0 && total.passed > 0 ? 0 : 1)
