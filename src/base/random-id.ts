// Random ids. In: nothing. Out: a unique name.
import { hex } from './sha256.ts'

/**
 * 128 random bits as 32 hex digits. `crypto.randomUUID` exists only on secure pages, and a phone may open a
 * page over plain HTTP.
 */
export function randomId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)))
}
