// Access control: hosts, page origins and keys, and the CORS headers that let pages read the answer.
import type { IncomingMessage } from 'node:http'
import type { ApiKeys } from './api-keys.ts'
import { type Refusal, refusal } from './refusal.ts'

const LOOPBACK = ['127.0.0.1', '[::1]', 'localhost']

export const shownHost = (host: string): string => (host.includes(':') ? `[${host}]` : host)
export const isLoopback = (host: string): boolean => LOOPBACK.includes(shownHost(host))

interface AccessRules {
  /** The address that the server listens on. */
  readonly host: string
  /** Origins whose pages may send requests; `*` for all. */
  readonly origins: readonly string[]
  readonly keys: ApiKeys
}

export class Access {
  readonly #rules: AccessRules

  constructor(rules: AccessRules) {
    this.#rules = rules
  }

  /** Headers that let a page of an allowed origin read the answer. */
  sharing({ headers }: IncomingMessage): Record<string, string> {
    if (headers.origin === undefined || !this.#isAllowed(headers.origin)) return {}
    return {
      'access-control-allow-origin': headers.origin,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': headers['access-control-request-headers'] ?? '*',
      'access-control-allow-private-network': 'true',
      vary: 'origin',
    }
  }

  /** Rejects a request by its host name or by the origin of its page. */
  refuseSource({ headers }: IncomingMessage): Refusal | undefined {
    const { host } = this.#rules
    const { origin } = headers
    // If a page's own host name resolves to this machine, browsers see the same origin and do not ask for
    // permission.
    const name = headers.host?.replace(/:\d+$/, '') ?? ''
    if (isLoopback(host) && !LOOPBACK.includes(name))
      return refusal(403, `the host ${name} is not this machine; use http://${shownHost(host)}`, 'wrong_host')
    if (origin === undefined || this.#isAllowed(origin)) return undefined
    return refusal(
      403,
      `pages of ${origin} are not allowed; start with --allow-origin ${origin}`,
      'wrong_origin',
    )
  }

  refuseKey({ headers }: IncomingMessage): Refusal | undefined {
    if (this.#rules.keys.allow(headers.authorization)) return undefined
    const sentence = 'the key is missing or wrong; send one of the keys of this server as "Bearer KEY"'
    return refusal(401, sentence, 'invalid_api_key', { 'www-authenticate': 'Bearer' })
  }

  #isAllowed(origin: string): boolean {
    const { origins } = this.#rules
    return origins.includes('*') || origins.includes(origin)
  }
}
