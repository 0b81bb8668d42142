// Helpers for plots: the SVG document, texts, and coordinates with one decimal.

/** Pixels. */
export const WIDTH = 720

/** A complete SVG. Screen readers read `title`. */
export const svgDocument = (title: string, height: number, content: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" ` +
  `font-family="system-ui, sans-serif" font-size="12"><title>${escaped(title)}</title>` +
  `<rect width="100%" height="100%" fill="#fff"/>${content.join('')}</svg>\n`

/** `attributes` position it, e.g. `x="8" y="18"`. */
export const svgText = (attributes: string, text: string): string =>
  `<text ${attributes}>${escaped(text)}</text>`

export const fixed = (value: number): string => value.toFixed(1)

/** For the text and the attributes of SVG and HTML. */
export const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)
