// In: PDFs of real programs, damaged ones, one of 500 pages. Out: their pages, or a typed error; a stop ends
// the worker.
import { expect, test, vi } from 'vitest'
import { pdfFile } from '../../../../e2e/chat/files/pdf-file.ts'
import { startPdf } from '../../../../test/conformance/testing/documents/questions.ts'
import { fixture } from '../../../../test/helpers/fixture.ts'
import type { PdfReply } from './pdf-pages.ts'
import { type PdfRequest, pdfText } from './pdf-text.ts'

const read = (bytes: Uint8Array, options = {}, start = startPdf) =>
  pdfText('a.pdf', Uint8Array.from(bytes), start, options)
const fault = (document: string) => ({ name: 'HalfbyteError', detail: { document, name: 'a.pdf' } })

test('pages are separated, paragraphs are joined, and progress is reported', async () => {
  const onPages = vi.fn()
  const pages = (await read(fixture('documents/du-fu.pdf'), { onPages })).split('\f')
  expect(pages.length).toBe(14)
  expect(pages[0]).toMatch(/^Du Fu\n\nDu Fu \(Wade – Giles: Tu Fu; .* unrest\.\n\nAlthough initially/)
  expect(onPages.mock.calls.at(-1)).toEqual([14, 14])
})

test('locked, scanned, damaged and long files are rejected with their next step', async () => {
  await expect(read(fixture('documents/locked.pdf'))).rejects.toMatchObject(fault('locked'))
  await expect(read(fixture('documents/scanned.pdf'))).rejects.toMatchObject(fault('scanned'))
  for (const bytes of [pdfFile(['Hello']).subarray(0, 60), Buffer.from('no PDF'), Buffer.alloc(0)])
    await expect(read(bytes)).rejects.toMatchObject(fault('damaged'))
  await expect(read(pdfFile(Array(2001).fill('x')))).rejects.toMatchObject(fault('long'))
})

test('a truncated file of a real program gives text or a typed error', async () => {
  const whole = fixture('documents/du-fu.pdf')
  for (const share of [0.2, 0.5, 0.9, 0.99]) {
    const outcome = await read(whole.subarray(0, whole.length * share)).catch(
      (error) => error.detail.document,
    )
    expect(outcome).toMatch(/^(damaged|scanned|Du Fu[\s\S]*)$/)
  }
})

test('500 pages are read, and a stop in between ends the worker', async () => {
  const book = pdfFile(Array.from({ length: 500 }, (_, index) => `Page ${index + 1}`))
  expect((await read(book)).split('\f').at(-1)).toBe('Page 500')
  const stop = new AbortController()
  const terminate = vi.fn()
  const started = () => Object.assign(startPdf(), { terminate })
  const onPages = (done: number) => {
    if (done === 3) stop.abort(new Error('stopped'))
  }
  await expect(read(book, { signal: stop.signal, onPages }, started)).rejects.toThrow('stopped')
  expect(terminate).toHaveBeenCalledOnce()
})

test('a worker that does not start or does not reply is ended', async () => {
  const terminate = vi.fn()
  const broken = { terminate, onerror: (_: unknown) => undefined, postMessage: () => undefined }
  const missing = { ...broken, postMessage: () => missing.onerror({ message: 'missing' }) }
  const reading = read(pdfFile(['x']), {}, () => missing as unknown as Worker)
  await expect(reading).rejects.toMatchObject(fault('part'))
  vi.useFakeTimers()
  const silent = read(pdfFile(['x']), {}, () => broken as unknown as Worker)
  const outcome = expect(silent).rejects.toMatchObject(fault('long'))
  await vi.advanceTimersByTimeAsync(60_000)
  await outcome
  vi.useRealTimers()
  const busy = ({ port }: PdfRequest) => port.postMessage({ pages: ['one', 'two'] } satisfies PdfReply)
  const quick = { terminate, postMessage: busy } as unknown as Worker
  expect(await read(pdfFile(['x']), {}, () => quick)).toBe('one\ftwo')
  expect(terminate).toHaveBeenCalledTimes(3)
})
