// Boxes and how much they overlap, for the operator NonMaxSuppression and the helper of that name.
export type Box = readonly [top: number, left: number, bottom: number, right: number]

export function boxOf(read: (index: number) => number, at: number, isCentred: boolean): Box {
  const [a, b, c, d] = [read(at), read(at + 1), read(at + 2), read(at + 3)]
  // Centre x and y, width, height; or two opposite corners, y before x.
  if (isCentred) return [b - d / 2, a - c / 2, b + d / 2, a + c / 2]
  return [Math.min(a, c), Math.min(b, d), Math.max(a, c), Math.max(b, d)]
}

const areaOf = ([top, left, bottom, right]: Box): number => (bottom - top) * (right - left)

/** Intersection over union: the area that two boxes share, divided by the area that they cover. */
export function overlap(a: Box, b: Box): number {
  const height = Math.min(a[2], b[2]) - Math.max(a[0], b[0])
  const width = Math.min(a[3], b[3]) - Math.max(a[1], b[1])
  if (height <= 0 || width <= 0) return 0
  return (height * width) / (areaOf(a) + areaOf(b) - height * width)
}
