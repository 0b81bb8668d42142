// Candidates. In: a row of logits. Out: the ids still in the race, best first, without allocating per token.
import { HalfbyteError } from '../../base/errors.ts'

/** Largest vocabulary whose ids fit in a sort key beside 32 bits of logit. */
const MAX_VOCAB = 2 ** 21

/**
 * The ids a stage may keep or drop, sorted by falling logit, the lower id first among equals. Stages shrink `count`
 * or scale `logits`; `probabilities` hold what `softmax` left there. All arrays are as long as the capacity.
 */
export interface Candidates {
  readonly ids: Uint32Array
  readonly logits: Float32Array
  readonly probabilities: Float32Array
  /** Live entries, at the front of the arrays. */
  count: number
  /** Sort keys; scratch between calls. */
  readonly keys: Float64Array
}

/** Room for `capacity` candidates. */
export function createCandidates(capacity: number): Candidates {
  return {
    ids: new Uint32Array(capacity),
    logits: new Float32Array(capacity),
    probabilities: new Float32Array(capacity),
    count: 0,
    keys: new Float64Array(capacity),
  }
}

/**
 * Fills `set` with the largest logits, as many as it has room for. An id at -Infinity is banned and never enters.
 * Throws `internal` on NaN, +Infinity, or when every id is banned.
 */
export function selectTop(logits: Float32Array, set: Candidates): void {
  // hot
  const { keys } = set
  const capacity = keys.length
  const n = logits.length
  let count = 0
  let i = 0
  for (; i < n && count < capacity; i++) {
    const logit = logits[i] as number
    if (logit === -Infinity) continue
    keys[count++] = sortKey(logit, i)
  }
  if (count === 0) throw allBanned(n)
  if (i < n) {
    for (let parent = (count >> 1) - 1; parent >= 0; parent--) siftDown(keys, parent, count)
    let least = keyLogit(keys[0] as number)
    for (; i < n; i++) {
      const logit = logits[i] as number
      // Written so that NaN takes the branch too and is caught by sortKey. An equal logit has a higher id and loses.
      if (!(logit <= least)) {
        keys[0] = sortKey(logit, i)
        siftDown(keys, 0, count)
        least = keyLogit(keys[0] as number)
      }
    }
  }
  keys.fill(Infinity, count)
  keys.sort()
  for (let j = 0; j < count; j++) {
    const key = keys[count - 1 - j] as number
    set.ids[j] = keyId(key)
    set.logits[j] = keyLogit(key)
  }
  set.count = count
}

/** Writes the probabilities of the live entries. */
export function softmax(set: Candidates): void {
  // hot
  const { logits, probabilities, count } = set
  const max = logits[0] as number
  let sum = 0
  for (let i = 0; i < count; i++) sum += probabilities[i] = Math.exp((logits[i] as number) - max)
  for (let i = 0; i < count; i++) probabilities[i] = (probabilities[i] as number) / sum
}

/** The id that the uniform number `u` in [0, 1) falls on, by the probabilities in `set`. */
export function draw(set: Candidates, u: number): number {
  // hot
  const { ids, probabilities, count } = set
  let total = 0
  for (let i = 0; i < count; i++) total += probabilities[i] as number
  let rest = u * total
  for (let i = 0; i < count - 1; i++) {
    rest -= probabilities[i] as number
    if (rest < 0) return ids[i] as number
  }
  return ids[count - 1] as number
}

const float = new Float32Array(1)
const word = new Uint32Array(float.buffer)

/** Orders by logit, then by falling id, in the 53 bits that a double holds exactly. */
function sortKey(logit: number, id: number): number {
  checkFinite(logit, id)
  // Adding 0 makes -0 equal to 0.
  float[0] = logit + 0
  const bits = word[0] as number
  const ordered = bits >= 0x80000000 ? 0xffffffff - bits : bits + 0x80000000
  return ordered * MAX_VOCAB + (MAX_VOCAB - 1 - id)
}

function keyLogit(key: number): number {
  const ordered = Math.floor(key / MAX_VOCAB)
  word[0] = ordered >= 0x80000000 ? ordered - 0x80000000 : 0xffffffff - ordered
  return float[0] as number
}

const keyId = (key: number): number => MAX_VOCAB - 1 - (key % MAX_VOCAB)

/** Moves the key at `root` down until both of its children are larger: the least key ends at the front. */
function siftDown(keys: Float64Array, root: number, count: number): void {
  // hot
  const key = keys[root] as number
  let hole = root
  for (;;) {
    let child = 2 * hole + 1
    if (child >= count) break
    if (child + 1 < count && (keys[child + 1] as number) < (keys[child] as number)) child++
    if ((keys[child] as number) >= key) break
    keys[hole] = keys[child] as number
    hole = child
  }
  keys[hole] = key
}

function checkFinite(logit: number, id: number): void {
  if (logit - logit === 0) return
  throw new HalfbyteError(
    'internal',
    `the logit of id ${id} is ${logit}; the weights or a kernel are broken, so check the file and report this`,
    { id, logit: String(logit) },
  )
}

function allBanned(vocab: number): HalfbyteError {
  return new HalfbyteError(
    'internal',
    `all ${vocab} ids are banned, so none can be next; loosen the bias or the mask`,
    {
      vocab,
    },
  )
}
