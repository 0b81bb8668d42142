// Scripts of ASCII characters only, with source maps that stay true.
import { decode, encode } from '@jridgewell/sourcemap-codec'

const NOT_ASCII = /(\\*)([^\t\n\r -~])/g

/**
 * A script and its map with other characters written as escapes. Browsers keep the source of a script as long
 * as the page lives, in two bytes a character if one of them is not Latin-1.
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
  if (slashes.length % 2 === 1) throw new Error(`a backslash before ${character} cannot be kept`)
  return `${slashes}\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** A character becomes six, so what stands behind it on its line moves by five columns. */
function shifted(segments, line) {
  const columns = [...line.matchAll(NOT_ASCII)].map(({ index, 1: slashes }) => index + slashes.length)
  let passed = 0
  return segments.map(([column, ...origin]) => {
    while (columns[passed] < column) passed++
    return [column + 5 * passed, ...origin]
  })
}
