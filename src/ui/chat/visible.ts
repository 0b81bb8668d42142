// Visible text. In: what a user typed. Out: whether anybody would see it.

/** Control and format characters, spaces, and letters without a shape. */
const INVISIBLE = /^[\p{Cc}\p{Cf}\p{Z}\u115f\u1160\u2800\u3164\uffa0]*$/u

/** The trimmed text; empty if it has no visible character, for example only zero-width spaces. */
export const visibleText = (text: string): string => (INVISIBLE.test(text) ? '' : text.trim())
