// The server's own answers to requests that it rejects, in the form of OpenAI's errors.
import { errorOf } from '../../../adapters/openai-server/error-answer.ts'

type RefusedStatus = 400 | 401 | 403 | 408 | 429 | 500 | 503

/** Thrown to reject a request with this answer. */
export class Refusal extends Error {
  override readonly name = 'Refusal'

  readonly status: RefusedStatus
  readonly code: string
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: RefusedStatus,
    sentence: string,
    code: string,
    headers: Readonly<Record<string, string>>,
  ) {
    super(sentence)
    this.status = status
    this.code = code
    this.headers = headers
  }

  response(): Response {
    const { status, message, code, headers } = this
    return Response.json(errorOf(status, message, code).body, { status, headers })
  }
}

export const refusal = (
  status: RefusedStatus,
  sentence: string,
  code: string,
  headers: Readonly<Record<string, string>> = {},
): Refusal => new Refusal(status, sentence, code, headers)

/** Seconds after which a client may retry. */
const RETRY = { 'retry-after': '1' }

export const busy = (what: string): Refusal =>
  refusal(429, `${what}; ask again later`, 'too_many_requests', RETRY)

/** Also closes the connection. */
export const unavailable = (what: string): Refusal =>
  refusal(503, `${what}; ask again later`, 'unavailable', { ...RETRY, connection: 'close' })
