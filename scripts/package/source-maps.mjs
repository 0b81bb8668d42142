// Converts scripts to ASCII, with source maps that stay correct.
import { decode, encode } from '@jridgewell/sourcemap-codec'

const NOT_ASCII = /(\\*)([^\t\n\r -~])/g

/**
 * Escapes the non-ASCII characters of a script and its map. Browsers keep a script's source for the page's
 * lifetime, with two bytes per character if any is not Latin-1.
 */
export function escaped({ code, map }) {
  const lines = code.split('\n')
  const mappings = decode(map.mappings).map((segments, line) => shifted(segments, lines[line]))
  return {
    code: lines.map((line) => line.replaceAll(NOT_ASCII, inAscii)).join('\n'),
    map: { ...map, mappings: encode(mappings) },
  }
}

function inAscii(_whole, slashes, character) {
  if (slashes.length % 2 === 1) throw new Error(`a backslash before ${character} cannot be escaped`)
  return `${slashes}\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** One character becomes six, so everything after it on its line moves by five columns. */
function shifted(segments, line) {
  const columns = [...line.matchAll(NOT_ASCII)].map(({ index, 1: slashes }) => index + slashes.length)
  let passed = 0
  return segments.map(([column, ...origin]) => {
    while (columns[passed] < column) passed++
    return [column + 5 * passed, ...origin]
  })
}
