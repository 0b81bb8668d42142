// Parses HTML and XML in parts, so that the page can draw in between. The parser reports tags and does not
// build a document, for which Trusted Types would need a policy. It runs no scripts and makes no requests.
import { Parser } from 'htmlparser2'

/** Characters parsed at a time. */
const AT_ONCE = 250_000

/** What a parser reports. Names are in lower case in HTML. */
export interface MarkupSink {
  open(name: string, attributes: Readonly<Record<string, string>>): void
  text(text: string): void
  close(name: string): void
}

interface MarkupOptions {
  readonly isXml?: boolean
  readonly signal?: AbortSignal | undefined
  /** Called after each part; may throw. */
  readonly check?: () => void
}

/** Rejects with the signal's reason once it is aborted. Unclosed elements are closed at the end. */
export async function parseMarkup(
  source: string,
  sink: MarkupSink,
  { isXml = false, signal, check }: MarkupOptions = {},
): Promise<void> {
  const parser = new Parser(
    {
      onopentag: (name, attributes) => sink.open(name, attributes),
      ontext: (text) => sink.text(text),
      onclosetag: (name) => sink.close(name),
    },
    // Entities that a document defines itself are not expanded.
    { xmlMode: isXml },
  )
  for (let at = 0; at < source.length; at += AT_ONCE) {
    if (at > 0) await new Promise<void>((resolve) => setTimeout(resolve))
    signal?.throwIfAborted()
    parser.write(source.slice(at, at + AT_ONCE))
    check?.()
  }
  parser.end()
}
