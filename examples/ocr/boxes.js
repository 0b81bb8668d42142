// Finds lines of text in the map of a PP-OCR detector: connected pixels that probably belong to a text.

const LEAST_PROBABILITY = 0.3
const LEAST_HEIGHT = 3
// The detector was trained to mark the inner part of a line.
const MARGIN = 0.5

/**
 * Boxes in pixels of the picture, from top to bottom. `map` has the dims [1, 1, height, width], and `scale` is that of
 * `pictureTensor`. Lines are taken as horizontal.
 */
export function boxesIn({ dims, data }, scale, picture) {
  const [, , height, width] = dims
  const seen = new Uint8Array(width * height)
  const boxes = []
  for (let first = 0; first < seen.length; first++) {
    if (seen[first] || data[first] < LEAST_PROBABILITY) continue
    const { left, top, right, bottom } = regionAt(first, data, seen, width)
    if (bottom - top < LEAST_HEIGHT) continue
    const margin = (bottom - top) * MARGIN
    const [x, y] = [(left - margin) / scale[0], (top - margin) / scale[1]].map((at) =>
      Math.max(0, Math.floor(at)),
    )
    const end = Math.min(picture.width, Math.ceil((right + margin) / scale[0]))
    const low = Math.min(picture.height, Math.ceil((bottom + margin) / scale[1]))
    boxes.push({ left: x, top: y, width: end - x, height: low - y })
  }
  return boxes
}

/** The bounds of the pixels that are connected with `first`, which become seen. */
function regionAt(first, data, seen, width) {
  const box = { left: width, top: Number.POSITIVE_INFINITY, right: 0, bottom: 0 }
  const open = [first]
  seen[first] = 1
  while (open.length > 0) {
    const at = open.pop()
    const x = at % width
    const y = (at - x) / width
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x + 1)
    box.top = Math.min(box.top, y)
    box.bottom = Math.max(box.bottom, y + 1)
    const next = [at - width, at + width, ...(x > 0 ? [at - 1] : []), ...(x < width - 1 ? [at + 1] : [])]
    for (const each of next) {
      if (seen[each] !== 0 || data[each] < LEAST_PROBABILITY) continue
      seen[each] = 1
      open.push(each)
    }
  }
  return box
}
