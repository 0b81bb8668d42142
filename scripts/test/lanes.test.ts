// The lanes of npm test, with real processes: their order, their output, failures, and what an interrupted
// run leaves behind.
import { spawn, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runCommand, runSteps } from './lanes.mjs'
import type { Report } from './test-reports.mjs'

const PASSED: Report = { passed: 1, failed: 0, skipped: 0, failures: [] }
type Print = ((piece: Uint8Array | string) => void) | undefined

/** A suite that passes if this script exits with 0. */
const script = (code: string) => async (print: Print) => {
  const hasPassed = await runCommand(process.execPath, ['-e', code], { print: print ?? (() => undefined) })
  return hasPassed ? PASSED : { ...PASSED, passed: 0, failed: 1, failures: [{ name: 'one', message: 'no' }] }
}

test('lanes run in parallel, steps one after another, and a suite’s output is not interleaved', async () => {
  const order: string[] = []
  const written: string[] = []
  const named = (name: string, suite: (print: Print) => Promise<Report>) => async (print: Print) => {
    order.push(`${name} begins`)
    const report = await suite(print)
    order.push(`${name} ends`)
    return report
  }
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const suites = {
    build: named('build', script('')),
    // Exits only after the other lane's suite, so the two must run in parallel.
    long: named('long', async () => released.then(() => PASSED)),
    loud: named('loud', script('console.log(1); console.error(2); console.log(3)')),
    last: named('last', async (print) => {
      print?.('4\n')
      release()
      return PASSED
    }),
    alone: named('alone', script('')),
  }
  const steps = [[['build']], [['long'], ['loud', 'last']], [['alone']]]
  const { total, lines } = await runSteps(steps, suites, (piece) => written.push(String(piece)))
  expect(total).toEqual({ passed: 5, failed: 0, skipped: 0 })
  expect(lines.map((line) => line.split(' ')[0])).toEqual(['build', 'long', 'loud', 'last', 'alone'])
  expect(order.slice(0, 2)).toEqual(['build begins', 'build ends'])
  expect(order.indexOf('last ends')).toBeLessThan(order.indexOf('long ends'))
  expect(order.slice(-2)).toEqual(['alone begins', 'alone ends'])
  const output = written.join('')
  expect(output).toMatch(/\n=== loud\n(1\n3\n2\n|1\n2\n3\n|2\n1\n3\n)\n=== last\n4\n/)
  expect(output.indexOf('=== long')).toBeLessThan(output.indexOf('=== loud'))
})

test('a suite that fails, throws, does not start or runs no test fails the run, while the others continue', async () => {
  const suites = {
    fails: script('process.exit(3)'),
    throws: async () => Promise.reject(new Error('no report')),
    missing: async (print: Print) => ({
      ...PASSED,
      passed: Number(await runCommand('no-such-command', [], { print })),
    }),
    empty: async () => ({ ...PASSED, passed: 0 }),
    passes: script(''),
  }
  const steps = [
    [['passes'], ['fails', 'throws']],
    [['missing', 'empty'], ['passes']],
  ]
  const { total, lines, failing } = await runSteps(steps, suites, () => undefined)
  expect(total).toEqual({ passed: 2, failed: 4, skipped: 0 })
  expect(failing[0]).toBe('fails: one\nno')
  expect(failing[1]).toBe('throws: did not run\nno report')
  expect(failing[2]).toMatch(/^missing: did not run\n.*ENOENT/)
  expect(lines.find((line) => line.startsWith('empty'))).toContain('1 failing')
  expect(lines.find((line) => line.startsWith('empty'))).toContain('(ran no test)')
})

test('a command that exceeds its time limit is killed', async () => {
  const endless = ['-e', 'setInterval(() => undefined, 1000)']
  expect(await runCommand(process.execPath, endless, { limitMs: 200 })).toBe(false)
})

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)(
  'on %s, a run stops the processes of all lanes and starts no other suite',
  async (signal, status) => {
    // Each suite starts its own process, like test runners do.
    const child = `console.log('pid', process.pid); setInterval(() => undefined, 1000)`
    const suite = `const { spawn } = require('node:child_process')
    console.log('pid', process.pid)
    spawn(process.execPath, ['-e', ${JSON.stringify(child)}], { stdio: 'inherit' })
    setInterval(() => undefined, 1000)`
    const run = `import { endWithRun, runCommand, runSteps } from ${JSON.stringify(new URL('lanes.mjs', import.meta.url))}
    const suite = async () => {
      await runCommand(process.execPath, ['-e', ${JSON.stringify(suite)}], { print: (piece) => process.stdout.write(piece) })
      return { passed: 1, failed: 0, skipped: 0, failures: [] }
    }
    endWithRun()
    await runSteps([[['a', 'next'], ['b']]], { a: suite, b: suite, next: async () => console.log('went on') }, () => undefined)`
    const it = spawn(process.execPath, ['--input-type=module', '-e', run], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const closed = new Promise((resolve) => it.on('close', resolve))
    let output = ''
    it.stdout.setEncoding('utf8').on('data', (piece) => {
      output += piece
      if (output.match(/pid \d+\n/g)?.length === 4) it.kill(signal)
    })
    expect(await closed).toBe(status)
    expect(output).not.toContain('went on')
    for (const [, pid] of output.matchAll(/pid (\d+)/g)) expect(isRunning(Number(pid)), pid).toBe(false)
  },
)

/** A process that has exited may stay a zombie until its new parent reaps it. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' })
  return /^[^Z]/.test(stdout.trim())
}
