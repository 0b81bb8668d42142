// Replies as server-sent events.
import { errorAnswer } from './error-answer.ts'

/** Tells proxies not to cache, compress or buffer the events. */
const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/**
 * Starts a reply and streams its chunks, then `[DONE]`. Chunks with a type become events of that name,
 * without `[DONE]`. Rejects with the error of its first token. A later error becomes the last event. The
 * reply ends early when the reader cancels, or with `outer`'s reason.
 */
export async function eventStream(
  start: (signal: AbortSignal) => AsyncIterable<object>,
  outer: AbortSignal | undefined,
): Promise<Response> {
  const cancelled = new AbortController()
  const signal = outer === undefined ? cancelled.signal : AbortSignal.any([outer, cancelled.signal])
  const chunks = start(signal)[Symbol.asyncIterator]()
  // The first chunk only names the role. Waits for the second one, so that a request that the engine rejects
  // still gets its own status.
  const ready = [await chunks.next(), await chunks.next()]
  const encoder = new TextEncoder()
  let isNamed = false
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const end = () => {
        controller.error(signal.reason)
        // Frees the session of an abandoned reply.
        chunks.return?.().catch(() => undefined)
      }
      signal.addEventListener('abort', end, { once: true })
    },
    async pull(controller) {
      const send = (data: string, event = '') =>
        controller.enqueue(encoder.encode(`${event}data: ${data}\n\n`))
      try {
        const { done, value } = ready.shift() ?? (await chunks.next())
        if (done !== true) {
          const { type } = value as { readonly type?: string }
          isNamed = type !== undefined
          send(JSON.stringify(value), isNamed ? `event: ${type}\n` : '')
        } else {
          if (!isNamed) send('[DONE]')
          controller.close()
        }
      } catch (error) {
        if (signal.aborted) return
        send(JSON.stringify(errorAnswer(error).body))
        controller.close()
      }
    },
    cancel: (reason) => cancelled.abort(reason),
  })
  return new Response(body, { headers: HEADERS })
}
