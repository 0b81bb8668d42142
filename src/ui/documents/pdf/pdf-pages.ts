// Reads the text of a PDF page by page. It runs in a worker, which the page terminates if a file takes too
// long, and in tests.
import { getDocument } from 'unpdf/pdfjs'
import { MAX_LETTERS, MAX_PAGES } from '../kinds.ts'

/** `locked`: it asks for a password. `scanned`: its pages are pictures. `damaged`: or it isn't a PDF. */
export type PdfReply =
  | { readonly pages: readonly string[] }
  | { readonly done: number; readonly all: number }
  | { readonly fault: 'locked' | 'scanned' | 'long' | 'damaged'; readonly why: string }

type Item = { readonly str?: string; readonly hasEOL?: boolean; readonly transform?: readonly number[] }

/** Calls `onReply` with the progress, and once with the result. It never rejects. */
export async function readPdf(
  data: Uint8Array<ArrayBuffer>,
  onReply: (reply: PdfReply) => void,
): Promise<void> {
  // Nothing is drawn, compiled or requested.
  const task = getDocument({
    data,
    disableFontFace: true,
    useSystemFonts: false,
    verbosity: 0,
  })
  try {
    const pdf = await task.promise
    const { numPages: all } = pdf
    if (all > MAX_PAGES) return onReply({ fault: 'long', why: `${all} pages` })
    const pages: string[] = []
    let letters = 0
    for (let number = 1; number <= all; number++) {
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent()
      pages.push(pageText(items as readonly Item[]))
      letters += pages.at(-1)?.length ?? 0
      if (letters > MAX_LETTERS)
        return onReply({ fault: 'long', why: `${letters} characters in ${number} pages` })
      page.cleanup()
      onReply({ done: number, all })
    }
    onReply(letters === 0 ? { fault: 'scanned', why: `${all} pages without text` } : { pages })
  } catch (error) {
    const { name = '', message = String(error) } = Object(error)
    onReply({ fault: name === 'PasswordException' ? 'locked' : 'damaged', why: message })
  } finally {
    void task.destroy().catch(() => undefined)
  }
}

/** A gap between lines of more than this many times the median begins a paragraph. */
const PARAGRAPH_GAP = 1.35

/** Lines are joined into paragraphs, which are recognized by the distances between lines. */
function pageText(items: readonly Item[]): string {
  const lines: { text: string; y: number }[] = []
  let text = ''
  let y = 0
  for (const { str = '', hasEOL = false, transform } of items) {
    if (text === '') y = transform?.[5] ?? y
    text += str
    if (!hasEOL) continue
    if (text.trim() !== '') lines.push({ text: text.trim(), y })
    text = ''
  }
  if (text.trim() !== '') lines.push({ text: text.trim(), y })
  const gaps = lines.slice(1).map((line, index) => Math.abs((lines[index]?.y ?? 0) - line.y))
  const usual = gaps.filter((gap) => gap > 0).sort((a, b) => a - b)[gaps.length >> 1] ?? 0
  return lines
    .map((line, index) => {
      const gap = gaps[index - 1] ?? 0
      return index === 0 ? line.text : `${gap > usual * PARAGRAPH_GAP ? '\n\n' : '\n'}${line.text}`
    })
    .join('')
    .replaceAll(/(\p{L})-\n(?=\p{Ll})/gu, '$1')
    .replaceAll(/([^\n.:!?])\n(?=[^\n\s•–-])/gu, '$1 ')
    .trim()
}
