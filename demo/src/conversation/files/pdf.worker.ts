// Reads the text of a PDF in its own thread, which the page terminates if a file takes too long.
import { getDocument } from 'unpdf/pdfjs'

/** Maximum pages of one file, and characters of its text. */
const MOST_PAGES = 2000
const MOST_LETTERS = 1_000_000

export type PdfReply =
  | { readonly text: string; readonly pages: number }
  /** `password`: it asks for one. `empty`: its pages are pictures. `format`: it is damaged or not a PDF. */
  | { readonly failed: 'password' | 'empty' | 'long' | 'format'; readonly why: string }

export interface PdfRequest {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly port: MessagePort
}

// The library also sends messages from a worker, and ignores those that are not for it.
self.addEventListener('message', async ({ data }: MessageEvent<PdfRequest>) => {
  if (data.port !== undefined) data.port.postMessage(await read(data.bytes))
})

async function read(data: Uint8Array<ArrayBuffer>): Promise<PdfReply> {
  try {
    // No fonts are drawn.
    const pdf = await getDocument({ data, disableFontFace: true, verbosity: 0 }).promise
    if (pdf.numPages > MOST_PAGES) return { failed: 'long', why: `${pdf.numPages} pages` }
    const pages: string[] = []
    let letters = 0
    for (let number = 1; number <= pdf.numPages; number++) {
      const page = await pdf.getPage(number)
      const { items } = await page.getTextContent()
      const text = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join('')
      pages.push(inParagraphs(text))
      letters += text.length
      if (letters > MOST_LETTERS) return { failed: 'long', why: `${letters} characters in ${number} pages` }
      page.cleanup()
    }
    if (letters === 0) return { failed: 'empty', why: `${pages.length} pages without text` }
    return { text: pages.join('\f'), pages: pages.length }
  } catch (error) {
    const { name = '', message = String(error) } = Object(error)
    return { failed: name === 'PasswordException' ? 'password' : 'format', why: message }
  }
}

/** Joins the lines of a paragraph. A line that ends with a hyphen continues the next one. */
const inParagraphs = (text: string): string =>
  text
    .replaceAll(/(\p{L})-\n(?=\p{Ll})/gu, '$1')
    .replaceAll(/([^\n.:!?])\n(?=[^\n\s•–-])/gu, '$1 ')
    .trim()
