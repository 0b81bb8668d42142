// The server's own metrics, for `/metrics`.
import type { RequestUsage } from '../../../adapters/openai.ts'
import type { MemoryUse } from '../../../engine/api/types.ts'
import { Counter, Histogram, prometheusText, readings } from './prometheus.ts'

/** How one request ended. */
export interface RequestLine {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly milliseconds: number
}

/** Values read at each scrape. */
export interface Load {
  readonly running: number
  readonly receiving: number
  readonly maxRequests: number
  readonly connections: number
  readonly memory: readonly { readonly model: string; readonly use: MemoryUse }[]
}

/** Bucket bounds in seconds per request, from a rejection to the longest reply. */
const REQUEST_BOUNDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
/** Bucket bounds in seconds to the first token. */
const FIRST_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
/** Bucket bounds in seconds per token after the first. */
const TOKEN_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]

/** Paths with their own label. All others share one, because clients can make up any path. */
const ROUTES =
  /(?:\/v1)?\/(?:chat\/completions|completions|responses|embeddings|rerank|models|health|metrics)$/
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])

export class ServerMetrics {
  readonly #requests = new Counter('halfbyte_http_requests_total', 'Requests that have ended.')
  readonly #durations = new Histogram(
    'halfbyte_http_request_duration_seconds',
    'Time from the headers of a request to the end of its answer.',
    REQUEST_BOUNDS,
  )
  readonly #promptTokens = new Counter(
    'halfbyte_prompt_tokens_total',
    'Prompt tokens of complete replies, vectors and scores.',
  )
  readonly #cachedTokens = new Counter(
    'halfbyte_prompt_tokens_cached_total',
    'Of these, tokens whose state was cached.',
  )
  readonly #generatedTokens = new Counter(
    'halfbyte_generation_tokens_total',
    'Generated tokens of complete replies.',
  )
  readonly #firstTokens = new Histogram(
    'halfbyte_time_to_first_token_seconds',
    'Time from the start of a reply to its first token.',
    FIRST_BOUNDS,
  )
  readonly #tokenTimes = new Histogram(
    'halfbyte_time_per_output_token_seconds',
    'Mean time per token of a reply, after the first.',
    TOKEN_BOUNDS,
  )

  ended({ method, path, status, milliseconds }: RequestLine): void {
    const route = ROUTES.exec(path.split('?', 1)[0] as string)?.[0] ?? 'other'
    const known = METHODS.has(method) ? method : 'other'
    this.#requests.add({ method: known, route, status: String(status) })
    this.#durations.observe({ route }, milliseconds / 1000)
  }

  used({ model, promptTokens, cachedTokens, completionTokens, timings }: RequestUsage): void {
    this.#promptTokens.add({ model }, promptTokens)
    this.#cachedTokens.add({ model }, cachedTokens)
    this.#generatedTokens.add({ model }, completionTokens)
    if (timings === undefined || completionTokens === 0) return
    this.#firstTokens.observe({ model }, timings.firstTokenMs / 1000)
    if (completionTokens > 1)
      this.#tokenTimes.observe({ model }, timings.decodeMs / 1000 / (completionTokens - 1))
  }

  text(load: Load): string {
    return prometheusText([
      this.#requests,
      this.#durations,
      ...gauges(load),
      this.#promptTokens,
      this.#cachedTokens,
      this.#generatedTokens,
      this.#firstTokens,
      this.#tokenTimes,
      ...processFamilies(),
    ])
  }
}

const gauges = ({ running, receiving, maxRequests, connections, memory }: Load) => [
  readings('gauge', 'halfbyte_requests_running', 'Requests that are being answered.', () => running),
  readings('gauge', 'halfbyte_requests_receiving', 'Requests whose body is being received.', () => receiving),
  readings('gauge', 'halfbyte_requests_limit', 'Maximum concurrent requests.', () => maxRequests),
  readings('gauge', 'halfbyte_connections', 'Open connections.', () => connections),
  readings('gauge', 'halfbyte_model_memory_bytes', 'Linear memory of a model, by content.', () =>
    memory.flatMap(({ model, use: { weightsBytes, stateBytes, keptBytes, arenaBytes } }) => [
      [{ model, holds: 'weights' }, weightsBytes] as const,
      [{ model, holds: 'running_state' }, stateBytes] as const,
      [{ model, holds: 'cached_state' }, keptBytes] as const,
      [{ model, holds: 'activations' }, arenaBytes] as const,
    ]),
  ),
]

/** Under the names that Prometheus's own clients use. */
function processFamilies() {
  const { user, system } = process.cpuUsage()
  return [
    readings('counter', 'process_cpu_seconds_total', 'CPU time of the process.', () => (user + system) / 1e6),
    readings('gauge', 'process_resident_memory_bytes', 'Resident memory of the process.', () =>
      process.memoryUsage.rss(),
    ),
    readings('gauge', 'process_start_time_seconds', 'Start time of the process, in seconds since 1970.', () =>
      Math.round(performance.timeOrigin / 1000),
    ),
  ]
}
