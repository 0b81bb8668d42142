// An adb server for tests, on a free port. Its phone's shell gives prepared answers, and its Chrome is this
// machine's Chromium.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium } from '@playwright/test'
import { chromiumOptions } from '../../../../../e2e/chromium.ts'
import { encode } from '../adb.ts'

export interface FakePhone {
  readonly port: number
  /** Requested commands and services, in order. */
  readonly asked: readonly string[]
  /**
   * Pulls the cable: every connection ends (default) or is reset, and the server no longer knows the device.
   */
  unplug(how?: 'end' | 'reset'): void
  close(): Promise<void>
}

const SERIAL = 'FAKE0001'

/** The shell output of a phone that can be measured, by the start of the command. */
export const PHONE = {
  'getprop ro.product.model': 'Test Phone\n',
  'getprop ro.soc.model': 'TEST888\n',
  'getprop ro.build.version.release': '15\n',
  'dumpsys package com.android.chrome': '  Packages:\n    versionName=156.0.1\n',
  'cat /sys/devices/system/cpu/cpu0': 'schedutil\n',
  'dumpsys battery': '  AC powered: false\n  level: 80\n  temperature: 312\n  voltage: 4000\n',
  'cat /sys/class/power_supply/battery/current_now': '-500000\n',
}

export interface FakePhoneOptions {
  /** What the shell prints, by the beginning of the command; other commands print nothing. */
  readonly answers: Readonly<Record<string, string>>
  /** adb's state of the phone; undefined: none is connected. Default: "device". */
  readonly state?: string | undefined
  /** Called before a message is answered. */
  readonly onMessage?: (message: string, phone: FakePhone) => void
}

export async function fakePhone(options: FakePhoneOptions): Promise<FakePhone> {
  const { answers, onMessage } = options
  const state = 'state' in options ? options.state : 'device'
  const asked: string[] = []
  const sockets = new Set<Socket>()
  const folder = await mkdtemp(join(tmpdir(), 'halfbyte-phone-'))
  let browser: ChildProcess | undefined
  let isUnplugged = false

  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => sockets.delete(socket))
    let waiting = Buffer.alloc(0)
    const take = (data: Buffer) => {
      waiting = Buffer.concat([waiting, data])
      const length = Number.parseInt(waiting.subarray(0, 4).toString(), 16)
      if (waiting.length < 4 || waiting.length < 4 + length) return
      const message = waiting.subarray(4, 4 + length).toString()
      waiting = waiting.subarray(4 + length)
      void serve(message, socket, () => socket.off('data', take)).catch(() => socket.destroy())
    }
    socket.on('data', take)
  })

  async function serve(message: string, socket: Socket, endMessages: () => void): Promise<void> {
    asked.push(message)
    onMessage?.(message, phone)
    if (socket.destroyed) return
    if (message === 'host:devices') {
      socket.end(
        Buffer.concat([
          Buffer.from('OKAY'),
          encode(isUnplugged || state === undefined ? '' : `${SERIAL}\t${state}\n`),
        ]),
      )
    } else if (message.startsWith('host:transport:')) {
      socket.write(
        message.endsWith(SERIAL) && !isUnplugged
          ? 'OKAY'
          : Buffer.concat([Buffer.from('FAIL'), encode('device not found')]),
      )
    } else if (message.startsWith('reverse:forward:')) {
      // The phone's loopback is this machine's.
      socket.write('OKAYOKAY')
    } else if (message.startsWith('localabstract:')) {
      endMessages()
      await bridge(socket)
    } else if (message.startsWith('shell:')) {
      socket.end(`OKAY${await run(message.slice('shell:'.length))}`)
    } else socket.destroy()
  }

  async function run(command: string): Promise<string> {
    if (command.startsWith('am start')) await start()
    if (command.startsWith('am force-stop')) browser?.kill('SIGKILL')
    const known = Object.keys(answers).find((beginning) => command.startsWith(beginning))
    return known === undefined ? '' : (answers[known] ?? '')
  }

  async function start(): Promise<void> {
    const { executablePath = chromium.executablePath(), args = [] } = chromiumOptions()
    await rm(join(folder, 'DevToolsActivePort'), { force: true })
    const flags = ['--headless', '--remote-debugging-port=0', `--user-data-dir=${folder}`, 'about:blank']
    browser = spawn(executablePath, [...args, ...flags], { stdio: 'ignore' })
  }

  /** Joins a connection to Chromium's DevTools, which listens a moment after the browser has started. */
  async function bridge(socket: Socket): Promise<void> {
    const text = await readFile(join(folder, 'DevToolsActivePort'), 'utf8').catch(() => '')
    const [port = '', path = ''] = text.split('\n')
    if (path === '') {
      socket.end(Buffer.concat([Buffer.from('FAIL'), encode('no such socket')]))
      return
    }
    const inside = connect(Number(port), '127.0.0.1')
    sockets.add(inside)
    inside.on('error', () => socket.destroy())
    inside.on('close', () => socket.destroy())
    socket.on('close', () => inside.destroy())
    inside.once('connect', () => {
      // A phone's Chrome has one browser at this address; Chromium's has its name in it.
      socket.once('data', (upgrade) => {
        inside.write(upgrade.toString('latin1').replace('/devtools/browser ', `${path} `), 'latin1')
        socket.pipe(inside)
      })
      inside.pipe(socket)
      socket.write('OKAY')
    })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  const phone: FakePhone = {
    port: address.port,
    asked,
    unplug(how = 'end') {
      isUnplugged = true
      for (const socket of sockets) {
        if (how === 'reset') socket.resetAndDestroy()
        else endGently(socket)
      }
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
      const ended = new Promise((resolve) => browser?.once('exit', resolve))
      if (browser?.exitCode === null && browser.signalCode === null) {
        browser.kill('SIGKILL')
        await ended
      }
      await rm(folder, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return phone
}

/** A socket destroyed while it has unread data is reset, which the other side sees as an error. */
function endGently(socket: Socket): void {
  for (const event of ['data', 'close']) socket.removeAllListeners(event)
  socket.unpipe()
  socket.resume()
  socket.end()
}
