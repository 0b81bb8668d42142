// Writes an answer at the client's pace.
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

/** Maximum unsent bytes for one client before its reply pauses. Most replies are shorter. */
export const MAX_UNSENT_BYTES = 256 << 10
/** Size of the pieces in which a complete answer is sent. */
const PIECE_BYTES = 64 << 10

/**
 * Resolves when the answer is sent, and rejects if the client disconnects. Calls `onRead` once all of the
 * answer has been generated, which may be long before. A client that reads nothing for `stallMilliseconds` is
 * disconnected.
 */
export async function send(
  response: ServerResponse,
  { status, headers, body }: Response,
  stallMilliseconds: number,
  onRead: () => void = () => undefined,
): Promise<void> {
  response.writeHead(status, Object.fromEntries(headers))
  const pieces = piecesOf(body, (isWaiting) =>
    // Node restarts this timer whenever the client reads something.
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

/** Calls `setWaiting(true)` while the answer waits for the client alone. */
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
