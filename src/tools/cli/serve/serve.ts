// `halfbyte serve`: answers OpenAI's API over HTTP from models on this machine, until it is stopped.
import { once } from 'node:events'
import { Command } from 'commander'
import { reasonOf } from '../../../core/base/errors.ts'
import { MODEL, repeated, visionOption, whole, withContextOption, withEngineOptions } from '../options.ts'
import { visibleLine } from '../terminal/failure.ts'
import { isLoopback } from './access.ts'
import { ApiKeys, readApiKeys } from './api-keys.ts'
import { type Serving, serveEngine } from './http-server.ts'
import type { RequestLine } from './metrics.ts'
import { loadModels, loadStored, type ModelFlags, namedModel } from './served-models.ts'
import { StopSignals } from './stop-signals.ts'

interface ServeFlags extends ModelFlags {
  readonly port: number
  readonly host: string
  readonly apiKey?: string
  readonly apiKeyFile?: string
  readonly allowOrigin?: readonly string[]
  readonly maxRequests: number
  readonly maxConnections: number
  readonly stopTimeout: number
  readonly quiet?: true
}

const MAX_PORT = 65_535
const MAX_STOP_SECONDS = 3600

export function serveCommand(): Command {
  const command = new Command('serve')
    .description(
      "Answer OpenAI's API over HTTP, until SIGINT (Ctrl-C) or SIGTERM. GET /health and /metrics report its state.",
    )
    .argument(
      '[models...]',
      `chat models, all loaded at the start: each is a ${MODEL}; default: those of the store, each loaded when a request names it; none with --embedder or --reranker alone`,
    )
    .option(
      '--model <name=model>',
      'another chat model, with the name by which requests select it; repeatable',
      namedModel,
    )
    .addOption(visionOption())
    .option('--embedder <model>', 'encoder for /v1/embeddings, as for "halfbyte embed"; default: <model>')
    .option('--reranker <model>', 'reranker for /v1/rerank, as for "halfbyte rerank"; default: no reranking')
    .option('--port <n>', 'port; 0 picks a free one', whole(0, MAX_PORT), 8080)
    .option(
      '--host <address>',
      'address to listen on; anything but 127.0.0.1 opens it to the network',
      '127.0.0.1',
    )
    .option('--api-key <key>', 'reject requests without this key; default: no key is needed')
    .option(
      '--api-key-file <file>',
      'reject requests without a key from this file, one per line; SIGHUP reloads it',
    )
    .option(
      '--allow-origin <origin>',
      'allow requests from pages of this origin, like http://localhost:5173, or * for all; repeatable',
      repeated,
    )
    .option('--max-requests <n>', 'maximum concurrent requests; more get status 429', whole(1), 64)
    .option('--max-connections <n>', 'maximum open connections; more get status 503', whole(1), 1024)
    .option(
      '--stop-timeout <seconds>',
      'how long running replies may continue after SIGINT or SIGTERM; a second signal ends them at once',
      whole(0, MAX_STOP_SECONDS),
      8,
    )
    .option('--quiet', "don't log requests")
    .action(async (models: readonly string[], flags: ServeFlags) => {
      using signals = new StopSignals()
      try {
        await serve(models, flags, signals.signal, command)
      } catch (error) {
        // SIGTERM is a normal exit; Ctrl-C is an interruption, as in other commands.
        if (!signals.signal.aborted || error !== signals.signal.reason || signals.name === 'SIGINT')
          throw error
      }
    })
  return withContextOption(withEngineOptions(command))
}

/** Runs until the server has stopped, and then rejects with the signal's reason. */
async function serve(
  models: readonly string[],
  flags: ServeFlags,
  signal: AbortSignal,
  command: Command,
): Promise<void> {
  const log = (line: string) => process.stderr.write(`${visibleLine(line)}\n`)
  const keys = new ApiKeys(await keysOf(flags, log))
  const isNamed = [...models, ...(flags.model ?? []), flags.embedder, flags.reranker].some(
    (each) => each !== undefined,
  )
  await using loaded = isNamed
    ? await loadModels(models, flags, signal, log)
    : ((await loadStored(flags, log)) ??
      command.error(
        'error: there is no model, and none is stored; name one, fetch one with "halfbyte pull", or give --embedder or --reranker',
        { exitCode: 2 },
      ))
  const serving = await serveEngine(loaded.models, {
    embedder: loaded.embedder,
    reranker: loaded.reranker,
    host: flags.host,
    port: flags.port,
    keys,
    origins: flags.allowOrigin,
    maxRequests: flags.maxRequests,
    maxConnections: flags.maxConnections,
    onRequest: flags.quiet ? undefined : (request) => log(requestLine(request)),
    onWarning: log,
  })
  if (!isLoopback(flags.host) && flags.apiKey === undefined && flags.apiKeyFile === undefined)
    log(`anyone who can reach ${flags.host} can use this server; set --api-key-file to prevent that`)
  using _reloading = reloadKeys(keys, flags, log)
  const { names } = loaded
  process.stdout.write(
    `${names.join(', ')} ${names.length > 1 ? 'answer' : 'answers'} at ${serving.address}\n`,
  )
  try {
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await stop(serving, flags.stopTimeout, log)
  }
  signal.throwIfAborted()
}

async function stop(serving: Serving, seconds: number, log: (line: string) => void): Promise<void> {
  if (serving.open > 0)
    log(`stopping: ${counted(serving.open)} may take ${seconds} s more; a second signal ends all at once`)
  const cut = await serving.stop(seconds * 1000)
  if (cut > 0) log(`ended ${counted(cut)} after ${seconds} s`)
}

const counted = (requests: number): string => `${requests} request${requests === 1 ? '' : 's'}`

async function keysOf(
  { apiKey, apiKeyFile }: ServeFlags,
  log: (line: string) => void,
): Promise<readonly string[]> {
  const given = apiKey === undefined ? [] : [apiKey]
  return apiKeyFile === undefined ? given : [...given, ...(await readApiKeys(apiKeyFile, log))]
}

/** Rereads the keys at each SIGHUP, which would otherwise end the process. */
function reloadKeys(keys: ApiKeys, flags: ServeFlags, log: (line: string) => void): Disposable {
  const reload = async () => {
    try {
      const found = await keysOf(flags, log)
      keys.replace(found)
      log(`the keys were reloaded: ${found.length}`)
    } catch (error) {
      log(`the keys were not reloaded: ${reasonOf(error)}`)
    }
  }
  if (flags.apiKeyFile !== undefined) process.on('SIGHUP', reload)
  return { [Symbol.dispose]: () => void process.off('SIGHUP', reload) }
}

const requestLine = ({ method, path, status, milliseconds }: RequestLine): string =>
  `${method} ${path} ${status} ${(milliseconds / 1000).toFixed(2)} s`
