// A pack's contents that count their bytes as they are read, to show how much of a file has been written.
import type { PackContents } from '../../../core/formats/hbm/hbm-writer.ts'
import { shareProgress, writingText } from '../terminal/output.ts'

/** Shows the share of the bytes that have been written, and the time left. */
export function writingProgress(): (done: number, total: number) => void {
  const show = shareProgress()
  return (done, total) => show(writingText(done, total), done / total)
}

/**
 * `passes`: how often the writer reads each tensor. `onBytes` gets the bytes that were read, out of the
 * total of all passes.
 */
export function countedContents(
  contents: PackContents,
  passes: number,
  onBytes: (done: number, total: number) => void,
): PackContents {
  const total = passes * contents.tensors.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  const tensors = contents.tensors.map((tensor) => ({
    ...tensor,
    async *data() {
      for await (const chunk of tensor.data()) {
        done += chunk.length
        onBytes(done, total)
        yield chunk
      }
    },
  }))
  return { ...contents, tensors }
}

/** Chunks that report how many bytes of `total` have been passed on. */
export async function* countedChunks(
  chunks: AsyncIterable<Uint8Array>,
  total: number,
  onBytes: (done: number, total: number) => void,
): AsyncGenerator<Uint8Array> {
  let done = 0
  for await (const chunk of chunks) {
    yield chunk
    done += chunk.length
    onBytes(Math.min(done, total), total)
  }
}
