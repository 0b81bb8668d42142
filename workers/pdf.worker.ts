// PDF worker. In: the bytes of a PDF and a port. Out, through the port: its progress, and its text or why it
// has none.
import { readPdf } from '../src/ui/documents/pdf/pdf-pages.ts'
import type { PdfRequest } from '../src/ui/documents/pdf/pdf-text.ts'

// The library also sends messages from a worker, and ignores those that are not for it.
self.addEventListener('message', ({ data }: MessageEvent<Partial<PdfRequest>>) => {
  const { bytes, port } = data
  if (bytes !== undefined && port !== undefined) void readPdf(bytes, (reply) => port.postMessage(reply))
})
