// Decodes the bytes of a text: UTF-8 and UTF-16, with or without a mark, and Windows-1252 otherwise.

/** Characters at the beginning of a web page in which it may declare its encoding. */
const DECLARED_WITHIN = 1024
/** Number of bytes examined to recognize UTF-16 without a mark. */
const SAMPLE = 4096

/** Undefined for bytes that are not text. */
export function decodeText(bytes: Uint8Array): string | undefined {
  const marked = encodingByMark(bytes) ?? utf16Order(bytes)
  const text =
    marked === undefined
      ? (decoded(bytes, 'utf-8') ?? decoded(bytes, declared(bytes) ?? 'windows-1252'))
      : decoded(bytes, marked)
  return text === undefined || hasControls(text) ? undefined : text
}

function encodingByMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

/** Spaces and line ends have a zero byte on the same side in every script. */
function utf16Order(bytes: Uint8Array): string | undefined {
  if (bytes.length < 2 || bytes.length % 2 !== 0) return undefined
  const zeros = [0, 0]
  const spaces = [0, 0]
  const end = Math.min(SAMPLE, bytes.length)
  for (let at = 0; at < end; at++) {
    const side = at % 2
    if (bytes[at] === 0) zeros[side]!++
    const isSpace = bytes[at] === 0x20 || bytes[at] === 0x0a
    if (isSpace && bytes[at ^ 1] === 0) spaces[side]!++
  }
  if (zeros[0] === 0 && spaces[0]! > 0) return 'utf-16le'
  return zeros[1] === 0 && spaces[1]! > 0 ? 'utf-16be' : undefined
}

function decoded(bytes: Uint8Array, encoding: string): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** The encoding that a web page declares, if this browser knows it. */
function declared(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder('windows-1252').decode(bytes.subarray(0, DECLARED_WITHIN))
  const [, name] = /<meta[^>]+charset\s*=\s*["']?\s*([\w-]+)/i.exec(start) ?? []
  try {
    return name === undefined ? undefined : new TextDecoder(name).encoding
  } catch {
    return undefined
  }
}

/**
 * Text contains none of these, except for escapes in logs. Unassigned bytes of Windows-1252 become them too.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const hasControls = (text: string): boolean => /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text)
