// An image in which all parts differ, from a formula that is easy to reproduce in other languages.

/** Red, green and blue, from 0 to 255. */
export const patternAt = (x: number, y: number): readonly [number, number, number] => [
  (x * x * 7 + y * 13) % 256,
  (x * 5 + y * y * 3 + x * y) % 256,
  (Math.floor(x / 3) * 31 + Math.floor(y / 5) * 57) % 256,
]
