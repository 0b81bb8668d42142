// `halfbyte serve`: answers OpenAI's API over HTTP from a model on this machine, until Ctrl-C.
import { once } from 'node:events'
import { Command } from 'commander'
import { openEngine } from '../command-engine.ts'
import { type EngineFlags, MODEL, whole, withContextOption, withEngineOptions } from '../options.ts'
import { interruptible, visibleLine } from '../terminal/failure.ts'
import { isLoopback, type RequestLine, serveEngine } from './http-server.ts'

interface ServeFlags extends EngineFlags {
  readonly port: number
  readonly host: string
  readonly apiKey?: string
  readonly allowOrigin?: readonly string[]
  readonly maxRequests: number
  readonly quiet?: true
}

const MOST_PORT = 65_535

export function serveCommand(): Command {
  const command = new Command('serve')
    .description("Answer OpenAI's API over HTTP, for programs on this machine, until Ctrl-C.")
    .argument('<model>', MODEL)
    .option('--port <n>', 'port; 0 takes a free one', whole(0, MOST_PORT), 8080)
    .option(
      '--host <address>',
      'address to listen on; others than 127.0.0.1 open it to the network',
      '127.0.0.1',
    )
    .option('--api-key <key>', 'refuse requests without this key; default: no key is needed')
    .option(
      '--allow-origin <origin>',
      'let pages of this origin ask, like http://localhost:5173, or * for all; may be given again',
      (origin, origins: string[] = []) => [...origins, origin],
    )
    .option('--max-requests <n>', 'most requests at the same time; more get status 429', whole(1), 64)
    .option('--quiet', 'print no line for each request')
    .action((model: string, flags: ServeFlags) => interruptible((signal) => serve(model, flags, signal)))
  return withContextOption(withEngineOptions(command))
}

async function serve(model: string, flags: ServeFlags, signal: AbortSignal): Promise<void> {
  await using engine = await openEngine(model, flags, signal)
  const log = (line: string) => process.stderr.write(`${visibleLine(line)}\n`)
  const serving = await serveEngine(engine, {
    host: flags.host,
    port: flags.port,
    apiKey: flags.apiKey,
    origins: flags.allowOrigin,
    mostRequests: flags.maxRequests,
    onRequest: flags.quiet ? undefined : (request) => log(requestLine(request)),
    onWarning: log,
  })
  if (!isLoopback(flags.host) && flags.apiKey === undefined)
    log(`everyone who reaches ${flags.host} can use this server; give --api-key to prevent that`)
  process.stdout.write(`${engine.model.id} answers at ${serving.address}\n`)
  try {
    await once(signal, 'abort')
  } finally {
    await serving.close()
  }
  signal.throwIfAborted()
}

const requestLine = ({ method, path, status, milliseconds }: RequestLine): string =>
  `${method} ${path} ${status} ${(milliseconds / 1000).toFixed(2)} s`
