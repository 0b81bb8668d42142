// Random ids. In: nothing. Out: a name that nobody else has.

/** 128 random bits as 32 hex digits. `crypto.randomUUID` is only there on secure pages; a phone may open one over plain HTTP. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
