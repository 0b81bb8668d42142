// Converts bytes to base64 and back.

/** Bytes per call of `String.fromCharCode`; JavaScript engines limit the number of arguments. */
const CHUNK = 1 << 15

export function toBase64(bytes: Uint8Array | Uint8ClampedArray): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  }
  return btoa(text)
}

/** Throws a DOMException if the text is not valid base64. */
export const fromBase64 = (base64: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
