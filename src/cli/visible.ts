// Visible text. In: what a file or a model wrote. Out: the same without what a terminal would obey: its control characters as escapes.

/** All but line breaks and tabs, and what turns the direction of text. */
const OBEYED = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu

/** Escapes as JSON has them, so JSON stays the same JSON. */
export const visible = (text: string): string =>
  text.replaceAll(OBEYED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)

/** Of a name, which must not look like the next line. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '\\n')

/** A model's text: pipes and files get it as it is. */
export const visibleReply = (text: string): string => (process.stdout.isTTY ? visible(text) : text)
