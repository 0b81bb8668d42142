// OpenAI's errors. In: an error of ours. Out: the status and the JSON under which OpenAI's clients know it.
import { isHalfbyteError, reasonOf } from '../../../base/errors.ts'

export interface ErrorAnswer {
  readonly status: number
  readonly body: {
    readonly error: {
      readonly message: string
      readonly type: string
      /** The field that is wrong, if one is. */
      readonly param: string | null
      readonly code: string
    }
  }
}

/** Status 400 for requests that can be mended, else 500. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const code = isHalfbyteError(error) ? error.code : 'internal'
  if (code === 'context-overflow') return refusal(400, reasonOf(error), 'context_length_exceeded')
  if (code === 'unsupported') return refusal(400, reasonOf(error), code, fieldOf(error))
  return { status: 500, body: body(reasonOf(error), 'server_error', code) }
}

/** The last word of the name, which may be `a text in stop`. */
function fieldOf(error: unknown): string | null {
  const name = isHalfbyteError(error) ? error.detail['name'] : undefined
  return /[\w.]+$/.exec(typeof name === 'string' ? name : '')?.[0] ?? null
}

/** For a request that is itself wrong. */
export const refusal = (
  status: number,
  message: string,
  code: string,
  param: string | null = null,
): ErrorAnswer => ({ status, body: body(message, 'invalid_request_error', code, param) })

const body = (
  message: string,
  type: string,
  code: string,
  param: string | null = null,
): ErrorAnswer['body'] => ({ error: { message, type, param, code } })
