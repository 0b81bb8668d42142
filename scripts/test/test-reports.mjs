// Reads the reports of Vitest, Playwright, node:test, the soak and the fuzzers: how many tests passed, failed
// and were skipped, and which failed.

/** ANSI colours and cursor moves, which runners include in messages. */
const ESCAPES = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*[A-Za-z]`, 'g')
/** Maximum lines of a failure's message: enough to see the difference, few enough to show many failures. */
const MESSAGE_LINES = 12

const failure = (name, message) => ({
  name,
  message: message.replace(ESCAPES, '').trim().split('\n').slice(0, MESSAGE_LINES).join('\n'),
})

/** Vitest's and Jest's JSON. A file that could not run has a message but no tests. */
export const readVitest = (text) => {
  const report = JSON.parse(text)
  const failures = report.testResults.flatMap(({ name, message, status, assertionResults }) => {
    const tests = assertionResults.filter((test) => test.status === 'failed')
    if (tests.length === 0 && status === 'failed') return [failure(name, message)]
    return tests.map((test) => failure(`${name} > ${test.fullName}`, test.failureMessages.join('\n')))
  })
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests,
    skipped: report.numPendingTests + report.numTodoTests,
    failures,
  }
}

const playwrightFailures = ({ suites = [], specs = [] }) => [
  ...suites.flatMap(playwrightFailures),
  ...specs.flatMap(({ file, line, title, tests }) =>
    tests
      .filter(({ status }) => status === 'unexpected')
      .map(({ projectName, results }) =>
        failure(
          `[${projectName}] ${file}:${line} > ${title}`,
          results.flatMap(({ errors }) => errors.map(({ message }) => message ?? '')).join('\n'),
        ),
      ),
  ),
]

/** Playwright's JSON. Errors outside tests, such as a server that did not start, are failures too. */
export const readPlaywright = (text) => {
  const report = JSON.parse(text)
  const { stats, errors = [] } = report
  return {
    passed: stats.expected + stats.flaky,
    failed: stats.unexpected,
    skipped: stats.skipped,
    failures: [
      ...playwrightFailures(report),
      ...errors.map(({ message }) => failure('outside the tests', message ?? '')),
    ],
  }
}

/** The soak's JSON; each of its checks counts as a test. */
export const readSoak = (text) => {
  const { passed, failed, failures } = JSON.parse(text)
  return { passed, failed, skipped: 0, failures: failures.map(({ what }) => failure('the soak', what)) }
}

/** node:test's TAP: an indented YAML block follows each line that reports a failure. */
export const readTap = (text) => {
  const count = (name) => Number(text.match(new RegExp(`^# ${name} (\\d+)$`, 'm'))?.[1] ?? 0)
  const failures = [...text.matchAll(/^not ok \d+ - (.*)\n((?: {2}.*\n)*)/gm)].map(([, name, details]) =>
    failure(name, details.match(/^ {2}error: ([\s\S]*?)(?=^ {2}\w+:|$(?![\s\S]))/m)?.[1] ?? details),
  )
  return {
    passed: count('pass'),
    failed: count('fail') + count('cancelled'),
    skipped: count('skipped') + count('todo'),
    failures,
  }
}

/** The fuzzers' report: each target counts as a test that fails if it has findings. */
export const readFuzz = (text) => {
  const reports = JSON.parse(text)
  const failures = reports.flatMap(({ target, findings }) =>
    findings.map(({ at, fault }) =>
      failure(`${target} at ${at}`, `${fault.kind}: ${fault.message}\n${fault.stack ?? ''}`),
    ),
  )
  const failed = reports.filter(({ findings }) => findings.length > 0).length
  return { passed: reports.length - failed, failed, skipped: 0, failures }
}
