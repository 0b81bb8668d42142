// Servers for tests: in this process on a test's engine, or as the real command.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, expect } from 'vitest'
import { type ServeOptions, type Serving, serveEngine } from '../serve/http-server.ts'
import { start } from './program.ts'

type Serve = (models: Parameters<typeof serveEngine>[0], options?: Partial<ServeOptions>) => Promise<Serving>

/** Starts servers in this process, and closes them after each test of the calling file. */
export function testServers(): Serve {
  const open: Serving[] = []
  afterEach(async () => {
    for (const serving of open.splice(0)) await serving.close()
  })
  return async (models, options) => {
    const serving = await serveEngine(models, { port: 0, maxRequests: 64, ...options })
    open.push(serving)
    return serving
  }
}

/** "NAME answers at", or "NAME, NAME answer at". */
const ADDRESS = /^(?:[^,\n]+ answers|[^,\n]+, .+ answer) at (http:\/\/127\.0\.0\.1:\d+\/v1)\n$/

export interface Started {
  readonly child: ChildProcess
  readonly address: string
}

/** `halfbyte serve` on a free port, once it has printed its address. */
export async function startServer(...args: readonly string[]): Promise<Started> {
  const child = start('serve', ...args, '--port', '0', '--threads', '1')
  const [line] = await once(child.stdout!, 'data')
  expect(String(line)).toMatch(ADDRESS)
  return { child, address: ADDRESS.exec(String(line))![1]! }
}
