// Answers to requests that fail, in the form of OpenAI's errors.
import { HalfbyteError, isHalfbyteError, reasonOf } from '../../core/base/errors.ts'

interface ErrorAnswer {
  readonly status: number
  readonly body: {
    readonly error: {
      readonly message: string
      readonly type: string
      /** The wrong field, if there is one. */
      readonly param: string | null
      readonly code: string
    }
  }
}

/** The error for a request whose `model` is not one of several. */
export class UnknownModel extends HalfbyteError {
  constructor(name: string, known: readonly string[]) {
    super('unsupported', `the model ${name} is not served here; use ${known.join(' or ')}`, { name: 'model' })
  }
}

/** Status 400 for requests that can be corrected, otherwise 500. */
export function errorAnswer(error: unknown): ErrorAnswer {
  const code = isHalfbyteError(error) ? error.code : 'internal'
  if (error instanceof UnknownModel) return errorOf(404, error.message, 'model_not_found', 'model')
  if (code === 'context-overflow')
    return errorOf(400, overflowText(error), 'context_length_exceeded', fieldOf(error))
  if (code === 'unsupported') return errorOf(400, reasonOf(error), code, fieldOf(error))
  if (isDamagedPicture(error)) return errorOf(400, reasonOf(error), code, 'messages')
  return errorOf(500, reasonOf(error), code)
}

/** LiteLLM and others recognize this error only by the beginning of OpenAI's sentence. */
function overflowText(error: unknown): string {
  const length = isHalfbyteError(error) ? error.detail['contextLength'] : undefined
  const start = length === undefined ? '' : `This model's maximum context length is ${length} tokens: `
  return start + reasonOf(error)
}

/** Other format errors are about the model's own files. */
const isDamagedPicture = (error: unknown): boolean =>
  isHalfbyteError(error) && error.code === 'format' && error.detail['part'] === 'image'

/** The last word of the name, which may be a phrase such as `a text in stop`. */
function fieldOf(error: unknown): string | null {
  const name = isHalfbyteError(error) ? error.detail['name'] : undefined
  return /[\w.]+$/.exec(typeof name === 'string' ? name : '')?.[0] ?? null
}

/** The error of a request, or from status 500 of the server. */
export function errorOf(
  status: number,
  message: string,
  code: string,
  param: string | null = null,
): ErrorAnswer {
  const type = status >= 500 ? 'server_error' : 'invalid_request_error'
  return { status, body: { error: { message, type, param, code } } }
}

/** Clients repeat requests after a status of 500 or more, but an engine would fail in the same way again. */
export const failure = ({ status, body }: ErrorAnswer): Response =>
  Response.json(body, { status, headers: { 'x-should-retry': 'false' } })
