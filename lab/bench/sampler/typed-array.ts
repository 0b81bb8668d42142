// Finds the best ids of a row of logits with a heap in JavaScript, for comparison with the kernel.

const MAX_VOCAB = 2 ** 21
const float = new Float32Array(1)
const word = new Uint32Array(float.buffer)
let keys = new Float64Array()

/** Sorts the best `most` ids to the end of an array of keys, which contain logit and id, and returns it. */
export function selectTop(logits: Float32Array, most: number): Float64Array {
  if (keys.length !== most) keys = new Float64Array(most)
  for (let id = 0; id < most; id++) keys[id] = keyOf(logits[id]!, id)
  for (let parent = (most >> 1) - 1; parent >= 0; parent--) siftDown(parent)
  let least = logitOf(keys[0]!)
  for (let id = most; id < logits.length; id++) {
    const logit = logits[id]!
    if (logit <= least) continue
    keys[0] = keyOf(logit, id)
    siftDown(0)
    least = logitOf(keys[0]!)
  }
  return keys.sort()
}

/** A key that orders by logit, then by descending id, in the 53 bits that a double represents exactly. */
function keyOf(logit: number, id: number): number {
  float[0] = logit
  const bits = word[0]!
  const ordered = bits >= 0x80000000 ? 0xffffffff - bits : bits + 0x80000000
  return ordered * MAX_VOCAB + (MAX_VOCAB - 1 - id)
}

function logitOf(key: number): number {
  const ordered = Math.floor(key / MAX_VOCAB)
  word[0] = ordered >= 0x80000000 ? ordered - 0x80000000 : 0xffffffff - ordered
  return float[0]!
}

function siftDown(root: number): void {
  const key = keys[root]!
  let hole = root
  for (;;) {
    let child = 2 * hole + 1
    if (child >= keys.length) break
    if (child + 1 < keys.length && keys[child + 1]! < keys[child]!) child++
    if (keys[child]! >= key) break
    keys[hole] = keys[child]!
    hole = child
  }
  keys[hole] = key
}
