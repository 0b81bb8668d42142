// Lists the phones of an adb server, and forwards a port of this machine to a device. Playwright's client
// does everything else.
import { connect, type Socket } from 'node:net'

export interface AdbServer {
  readonly host: string
  readonly port: number
}

export interface ListedPhone {
  readonly serial: string
  /** adb's word: "device" if it can be used, otherwise "unauthorized", "offline" and others. */
  readonly state: string
}

/**
 * Returns undefined if no adb server is listening, in which case Playwright's client would end the process.
 * That client also omits unusable phones, so users would not learn why.
 */
export async function listPhones({ host, port }: AdbServer): Promise<readonly ListedPhone[] | undefined> {
  const socket = connect(port, host)
  const isConnected = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  if (!isConnected) return undefined
  socket.write(encode('host:devices'))
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part)
  // "OKAY", four digits of length, then a line for each phone.
  const lines = Buffer.concat(parts).subarray(8).toString().split('\n')
  return lines.flatMap((line) => {
    const [serial = '', state = ''] = line.trim().split('\t')
    return state === '' ? [] : [{ serial, state }]
  })
}

/** How often to check for the phone. */
const LOOK_MS = 500

interface PhoneWatch {
  /** Rejects when the server no longer lists the phone as usable. */
  readonly gone: Promise<never>
  stop(): void
}

/**
 * Playwright's client waits forever for a phone whose cable was pulled, so calls to it have to race with
 * this.
 */
export function watchPhone(adb: AdbServer, serial: string): PhoneWatch {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isStopped = false
  const gone = new Promise<never>((_, reject) => {
    const look = async () => {
      const phones = await listPhones(adb).catch(() => undefined)
      if (isStopped) return
      if (phones?.some((phone) => phone.serial === serial && phone.state === 'device') !== true) {
        reject(new Error('the device is gone'))
      } else timer = setTimeout(look, LOOK_MS)
    }
    void look()
  })
  gone.catch(() => undefined)
  return {
    gone,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}

/** Lets the device reach this machine's `port` as its own. Throws adb's message if it refuses. */
export async function reversePort(
  { host, port: at }: AdbServer,
  serial: string,
  port: number,
): Promise<void> {
  const socket = connect(at, host)
  try {
    await ask(socket, `host:transport:${serial}`)
    await ask(socket, `reverse:forward:tcp:${port};tcp:${port}`)
  } finally {
    socket.destroy()
  }
}

/** A message is its length as four hexadecimal digits, followed by its bytes. */
export function encode(message: string): Buffer {
  const bytes = Buffer.from(message)
  return Buffer.concat([Buffer.from(bytes.length.toString(16).padStart(4, '0')), bytes])
}

function ask(socket: Socket, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`adb closed the connection after ${message}`)))
    socket.once('data', (answer) => {
      socket.removeAllListeners()
      if (answer.subarray(0, 4).toString() === 'OKAY') resolve()
      else reject(new Error(`adb refused ${message}: ${answer.subarray(8).toString()}`))
    })
    socket.write(encode(message))
  })
}
