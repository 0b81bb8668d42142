// `halfbyte serve`: answers OpenAI's API over HTTP from models on this machine, until Ctrl-C.
import { once } from 'node:events'
import { Command } from 'commander'
import type { Embedder } from '../../../encoders/embedder/embedder.ts'
import type { Engine } from '../../../engine/api/engine.ts'
import { openEmbedder } from '../command-embedder.ts'
import { openEngine } from '../command-engine.ts'
import {
  type EngineFlags,
  MODEL,
  repeated,
  type VisionFlags,
  visionOption,
  whole,
  withContextOption,
  withEngineOptions,
} from '../options.ts'
import { interruptible, visibleLine } from '../terminal/failure.ts'
import { isLoopback, type RequestLine, serveEngine } from './http-server.ts'

interface ServeFlags extends EngineFlags, VisionFlags {
  readonly port: number
  readonly host: string
  readonly apiKey?: string
  readonly allowOrigin?: readonly string[]
  readonly maxRequests: number
  readonly quiet?: true
  readonly embedder?: string
  readonly reranker?: string
}

const MOST_PORT = 65_535

export function serveCommand(): Command {
  const command = new Command('serve')
    .description("Answer OpenAI's API over HTTP, for programs on this machine, until Ctrl-C.")
    .argument('[model]', `chat model: ${MODEL}; none with --embedder or --reranker alone`)
    .addOption(visionOption())
    .option('--embedder <model>', 'encoder for /v1/embeddings, as of "halfbyte embed"; default: <model>')
    .option('--reranker <model>', 'reranker for /v1/rerank, as of "halfbyte rerank"; default: no reranking')
    .option('--port <n>', 'port; 0 picks a free one', whole(0, MOST_PORT), 8080)
    .option(
      '--host <address>',
      'address to listen on; anything but 127.0.0.1 opens it to the network',
      '127.0.0.1',
    )
    .option('--api-key <key>', 'reject requests without this key; default: no key is needed')
    .option(
      '--allow-origin <origin>',
      'allow requests from pages of this origin, like http://localhost:5173, or * for all; repeatable',
      repeated,
    )
    .option('--max-requests <n>', 'maximum concurrent requests; more get status 429', whole(1), 64)
    .option('--quiet', "don't log requests")
    .action((model: string | undefined, flags: ServeFlags) => {
      if (model === undefined && flags.embedder === undefined && flags.reranker === undefined)
        command.error('error: there is no model; name one, or give --embedder or --reranker', { exitCode: 2 })
      return interruptible((signal) => serve(model, flags, signal))
    })
  return withContextOption(withEngineOptions(command))
}

async function serve(model: string | undefined, flags: ServeFlags, signal: AbortSignal): Promise<void> {
  const encoder = (place: string | undefined) => place && openEmbedder(place, flags, signal)
  await using engine = model === undefined ? undefined : await openEngine(model, flags, signal)
  await using embedder = (await encoder(flags.embedder)) || undefined
  await using reranker = (await encoder(flags.reranker)) || undefined
  const first = (engine ?? embedder ?? reranker) as Engine | Embedder
  const log = (line: string) => process.stderr.write(`${visibleLine(line)}\n`)
  const serving = await serveEngine(first, {
    embedder,
    reranker,
    host: flags.host,
    port: flags.port,
    apiKey: flags.apiKey,
    origins: flags.allowOrigin,
    mostRequests: flags.maxRequests,
    onRequest: flags.quiet ? undefined : (request) => log(requestLine(request)),
    onWarning: log,
  })
  if (!isLoopback(flags.host) && flags.apiKey === undefined)
    log(`anyone who can reach ${flags.host} can use this server; set --api-key to prevent that`)
  process.stdout.write(`${first.model.id} answers at ${serving.address}\n`)
  try {
    await once(signal, 'abort')
  } finally {
    await serving.close()
  }
  signal.throwIfAborted()
}

const requestLine = ({ method, path, status, milliseconds }: RequestLine): string =>
  `${method} ${path} ${status} ${(milliseconds / 1000).toFixed(2)} s`
