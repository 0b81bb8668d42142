// The text of a PDF. This code and its library load with the first PDF.
import { HalfbyteError } from '../../../../src/index.ts'
import { t } from '../../words/later-words.ts'
import type { PdfReply, PdfRequest } from './pdf.worker.ts'

/** A forged file can keep a reader busy forever. */
const MOST_MS = 60_000
const SENTENCES = {
  password: 'pdfPassword',
  empty: 'pdfEmpty',
  long: 'pdfLong',
  format: 'pdfDamaged',
} as const

/**
 * The text of a PDF, with pages separated by form feeds. Throws `format` with a sentence for people if it is
 * damaged, locked, a scan, too long, or takes longer than a minute.
 */
export async function pdfText(name: string, bytes: ArrayBuffer): Promise<string> {
  const worker = new Worker(new URL('./pdf.worker.ts', import.meta.url), { type: 'module' })
  const replied = Promise.withResolvers<PdfReply>()
  const { port1, port2: port } = new MessageChannel()
  port1.onmessage = ({ data }: MessageEvent<PdfReply>) => replied.resolve(data)
  worker.onerror = ({ message }) => replied.reject(new HalfbyteError('worker', t('partMissing'), { message }))
  const timer = setTimeout(() => replied.resolve({ failed: 'long', why: `${MOST_MS} ms` }), MOST_MS)
  try {
    const request: PdfRequest = { bytes: new Uint8Array(bytes), port }
    worker.postMessage(request, [bytes, port])
    const reply = await replied.promise
    if ('text' in reply) return reply.text
    const { failed, why } = reply
    throw new HalfbyteError('format', t(SENTENCES[failed], { name }), { why })
  } finally {
    clearTimeout(timer)
    port1.close()
    worker.terminate()
  }
}
