// Random ids. In: nothing. Out: a name that nobody else has.
import { hex } from './sha256.ts'

/** 128 random bits as 32 hex digits. `crypto.randomUUID` is only there on secure pages; a phone may open one over plain HTTP. */
export function randomId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)))
}
