// Writes an answer to a client at the client's pace.
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

/** Bytes for one client that wait to be sent, before its reply waits too. Most replies are shorter. */
export const MOST_UNSENT_BYTES = 256 << 10
/** What is passed on at a time of an answer that is there as a whole. */
const PIECE_BYTES = 64 << 10

/**
 * Resolves when the answer is sent. `onRead` is called once all of it has been made, which may be long before
 * that. A client that takes nothing for `stallMilliseconds` is disconnected. Rejects if it disconnects.
 */
export async function send(
  response: ServerResponse,
  { status, headers, body }: Response,
  stallMilliseconds: number,
  onRead: () => void = () => undefined,
): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers))
  const pieces = piecesOf(body, (isWaiting) =>
    // Node's own timer: it is restarted whenever the client takes a part of what is written.
    response.socket?.setTimeout(isWaiting ? stallMilliseconds : 0),
  )
  const read = async function* () {
    try {
      yield* pieces
    } finally {
      onRead()
    }
  }
  await pipeline(read, response)
}

/** `setWaiting(true)` is called when only the client is waited for. */
async function* piecesOf(
  body: ReadableStream<Uint8Array> | null,
  setWaiting: (isWaiting: boolean) => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of body ?? []) {
    for (let start = 0; start < chunk.byteLength; start += PIECE_BYTES) {
      setWaiting(true)
      yield chunk.subarray(start, start + PIECE_BYTES)
    }
    setWaiting(false)
  }
  setWaiting(true)
}
