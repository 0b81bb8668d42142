// WebKitGTK. In: Debian's WebKitWebDriver and MiniBrowser. Out: the engine as shipped by Debian, and with
// shared memory.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/helpers/http-server.ts'
import type { Browser, Engine } from './browser.ts'
import { openSession } from './webdriver.ts'

const DRIVER = '/usr/bin/WebKitWebDriver'
const DISPLAY_SERVER = '/usr/bin/Xvfb'
const HAS_DISPLAY = process.env.DISPLAY !== undefined || process.env.WAYLAND_DISPLAY !== undefined

function lacks(): string | undefined {
  if (!existsSync(DRIVER)) return 'no WebKitWebDriver is installed (npm run setup webkit)'
  if (!HAS_DISPLAY && !existsSync(DISPLAY_SERVER))
    return 'there is no display and no Xvfb (npm run setup webkit)'
  return undefined
}

/** MiniBrowser needs a display. Xvfb picks a free display number and writes it to fd 3. */
async function startDisplay(): Promise<{ readonly name: string; readonly process: ChildProcess }> {
  const child = spawn(
    DISPLAY_SERVER,
    ['-displayfd', '3', '-screen', '0', '1280x800x24', '-nolisten', 'tcp'],
    {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
    },
  )
  const number = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`Xvfb exited with ${code} before it opened a display`)))
    child.stdio[3]?.once('data', (data: Buffer) => resolve(data.toString().trim()))
  })
  return { name: `:${number}`, process: child }
}

async function listening(server: string, driver: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (driver.exitCode !== null) throw new Error(`WebKitWebDriver exited with ${driver.exitCode}`)
    const answered = await fetch(`${server}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (answered) return
    await sleep(50)
  }
  throw new Error('WebKitWebDriver did not answer within 10 s')
}

async function launch(variables: Record<string, string>, args: readonly string[]): Promise<Browser> {
  const display = HAS_DISPLAY ? undefined : await startDisplay()
  const port = await freePort()
  const driver = spawn(DRIVER, [`--port=${port}`], {
    stdio: ['ignore', 'ignore', 'ignore'],
    env: { ...process.env, ...(display && { DISPLAY: display.name }), ...variables },
  })
  const stop = () => {
    driver.kill()
    display?.process.kill()
  }
  process.once('exit', stop)
  try {
    const server = `http://127.0.0.1:${port}`
    await listening(server, driver)
    const options = args.length > 0 && { 'webkitgtk:browserOptions': { args: ['--automation', ...args] } }
    const browser = await openSession(server, { ...options })
    return {
      ...browser,
      close: async () => {
        await browser.close().finally(stop)
      },
    }
  } catch (error) {
    stop()
    throw error
  }
}

const reason = lacks()
const availability = reason === undefined ? {} : { lacks: reason }

export const webkitEngine: Engine = {
  name: 'WebKitGTK',
  ...availability,
  launch: () => launch({}, []),
}

/**
 * Enables features that Safari has but Debian's build disables: shared memory and the origin private file
 * system.
 */
export const webkitSharedEngine: Engine = {
  name: 'WebKitGTK with shared memory',
  ...availability,
  launch: () =>
    launch({ JSC_useSharedArrayBuffer: '1' }, [
      '--features=+StorageAPI,+FileSystem,+FileSystemWritableStream,+AccessHandle',
    ]),
}
