// The real engine worker, whose garbage is collected during each read of a Blob's stream.
import '../../workers/engine.worker.ts'

const { gc } = globalThis as unknown as { gc(options: object): void }
const { prototype } = ReadableStreamBYOBReader
const { read } = prototype

prototype.read = function (this: ReadableStreamBYOBReader, ...args: Parameters<typeof read>) {
  const reading = read.apply(this, args)
  // In a task of its own, without the stack of the reader.
  gc({ type: 'major', execution: 'async' })
  return reading
} as typeof read
