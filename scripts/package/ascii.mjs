// Converts scripts to ASCII.

const NOT_ASCII = /(\\*)([^\t\n\r -~])/g

/**
 * Escapes the non-ASCII characters of a script. Browsers keep a script's source for the page's lifetime, with
 * two bytes per character if any is not Latin-1.
 */
export const escaped = (code) => code.replaceAll(NOT_ASCII, inAscii)

function inAscii(_whole, slashes, character) {
  if (slashes.length % 2 === 1) throw new Error(`a backslash before ${character} cannot be escaped`)
  return `${slashes}\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
