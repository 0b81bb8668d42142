// adb. In: an adb server and a device. Out: whether the server is there, and a port of this machine as the
// device's own. Playwright's client has everything else.
import { connect, type Socket } from 'node:net'

export interface AdbServer {
  readonly host: string
  readonly port: number
}

/** False if no adb server listens. Playwright's client would end the process. */
export function isRunning({ host, port }: AdbServer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host)
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

/** Lets the device reach this machine's `port` as its own. Throws with adb's words if it refuses. */
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

/** A message is its length as four hexadecimal digits, and its bytes. */
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
