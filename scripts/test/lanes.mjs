// Runs suites in steps, each step in parallel lanes, and counts their results. Interrupting a run stops the
// processes of all suites.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** This run's processes, each the leader of a process group. */
const running = new Set()
let isEnding = false

const signalAll = (signal) => {
  for (const { pid } of running) {
    try {
      process.kill(-pid, signal)
    } catch (error) {
      // The process has exited in the meantime.
      if (error.code !== 'ESRCH') throw error
    }
  }
}

/** Passes a termination signal on to all suites, which get five seconds to clean up. */
export const endWithRun = () => {
  for (const [signal, status] of Object.entries({ SIGHUP: 129, SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, async () => {
      isEnding = true
      signalAll('SIGTERM')
      const closed = [...running].map((child) => once(child, 'close'))
      await Promise.race([Promise.all(closed), sleep(5000)])
      process.exit(status)
    })
  }
  process.on('exit', () => signalAll('SIGKILL'))
}

/**
 * Runs a command, and kills it after `limitMs`. Resolves to whether it exited with 0. `print` receives its
 * output in pieces; without `print`, the output is inherited.
 */
export const runCommand = async (command, args, { limitMs, print, ...options }) => {
  const output = print === undefined ? 'inherit' : 'pipe'
  const child = spawn(command, args, { ...options, detached: true, stdio: ['ignore', output, output] })
  if (child.pid !== undefined) running.add(child)
  child.stdout?.on('data', print)
  child.stderr?.on('data', print)
  const timer = limitMs === undefined ? undefined : setTimeout(() => process.kill(-child.pid), limitMs)
  try {
    const [status] = await once(child, 'close')
    return status === 0
  } finally {
    clearTimeout(timer)
    running.delete(child)
  }
}

/** A suite's counts, and a line about it. A suite fails if it throws or runs no test. */
const runSuite = async (name, suite, print) => {
  const start = performance.now()
  let counts
  try {
    counts = await suite(print)
  } catch (error) {
    counts = { passed: 0, failed: 1, skipped: 0, failures: [{ name: 'did not run', message: error.message }] }
  }
  const hasRun = counts.passed + counts.failed + counts.skipped > 0
  const failed = hasRun ? counts.failed : 1
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  const note = hasRun ? '' : ' (ran no test)'
  const { passed, skipped } = counts
  const line = `${name.padEnd(12)} ${passed} ok, ${failed} failing, ${skipped} skipped, ${seconds} s${note}`
  return { ...counts, failed, line }
}

/**
 * Runs the steps in order, a step's lanes in parallel and a lane's suites in order. The first lane prints
 * immediately; the others print a suite's output all at once when it has ended.
 *
 * @param steps names of suites, by step and lane
 * @param suites functions by name, each called with `print` or undefined and resolving to counts
 * @param write receives all titles, and the output of all lanes but the first
 */
export const runSteps = async (steps, suites, write) => {
  const results = new Map()
  const runLane = async (names, index) => {
    for (const name of names) {
      // The process is about to exit, so nothing new may start.
      if (isEnding) await new Promise(() => {})
      const pieces = []
      const print = index === 0 ? undefined : (piece) => void pieces.push(piece)
      if (index === 0) write(`\n=== ${name}\n`)
      results.set(name, await runSuite(name, suites[name], print))
      if (index > 0) for (const piece of [`\n=== ${name}\n`, ...pieces]) write(piece)
    }
  }
  for (const lanes of steps) await Promise.all(lanes.filter(({ length }) => length > 0).map(runLane))
  const total = { passed: 0, failed: 0, skipped: 0 }
  const found = steps.flat(2).map((name) => [name, results.get(name)])
  for (const [, counts] of found) for (const key of Object.keys(total)) total[key] += counts[key]
  return {
    total,
    lines: found.map(([, { line }]) => line),
    failing: found.flatMap(([name, { failures }]) =>
      failures.map(({ name: test, message }) => `${name}: ${test}\n${message}`),
    ),
  }
}
