// In: the functions that V8 printed of a test module. Out: the inner loops of its main kernels, named, counted, and with
// the bytes of weights (or of keys, or of values) that one pass reads.
import { countLoop } from './machine-code.mjs'

/** Bytes of one block of a panel: 32 inputs of 8 outputs; and four panels are read side by side. */
const BLOCKS = {
  linear_w4a8_product: { kernel: 'linear w4', bytes: 144 },
  linear_w4ma8_product: { kernel: 'linear w4m', bytes: 160 },
  linear_w8a8_product: { kernel: 'linear w8', bytes: 272 },
}
const STREAMS = 4
const SCORES = /^score_(floats|codes)_([1-4])$/

/** Of nested loops with dots only the innermost: a loop inside it that widens activations has none. */
const dotLoops = ({ name, loops }, arch, build) => {
  const counted = loops.map((loop) => ({ loop, counts: countLoop(loop, arch) }))
  const found = counted.filter(
    ({ loop, counts }) => counts.dots > 0 && !loop.inner.some((inner) => countLoop(inner, arch).dots > 0),
  )
  // Dots of one token: four panels of 8 vectors, each split in low and high nibbles, or bytes.
  const { kernel, bytes } = BLOCKS[name]
  const perToken = STREAMS * 8 * (kernel === 'linear w8' ? 4 : build === 'relaxed' ? 2 : 4)
  return found.map(({ counts }) => ({
    // Activations are splats; where the weights are, they were laid out once for many rows.
    kernel: counts.splats > 0 ? kernel : `${kernel}, laid out`,
    tokens: counts.dots / perToken,
    bytes: STREAMS * bytes,
    ...counts,
  }))
}

/** V8 may unroll these loops; what tells them apart is how many weight vectors meet how many activations. */
const floatLoops = ({ name, loops }, arch) => {
  const perPanel = name === 'tile_f32' ? 2 : 1
  return loops
    .filter((loop) => loop.inner.length === 0)
    .map((loop) => countLoop(loop, arch))
    .filter((counts) => counts.splats > 0 && counts.loads > 0)
    .map((counts) => {
      const perSplat = counts.splats / (counts.loads / perPanel)
      const tokens = perSplat === 1 / 4 ? 1 : perSplat === 1 ? 2 : perSplat
      return { kernel: name.replace('tile_', 'linear '), tokens, bytes: counts.loads * 16, ...counts }
    })
}

/** Keys: one loop in the loop over positions. Values: a loop over four positions and one over the rest, side by side. */
const attentionLoops = ({ loops }, arch) => {
  const rows = []
  for (const loop of loops) {
    if (loop.inner.length > 0 || loop.parent === undefined) continue
    const counts = countLoop(loop, arch)
    const vectors = counts.splats > 0 ? counts.multiplies / counts.splats : 0
    const queries = counts.loads > 0 ? counts.multiplies / counts.loads : 0
    const isWhole = counts.splats === 4 * queries && vectors === (queries === 1 ? 4 : 2)
    if (!isWhole) continue
    const kernel = loop.parent.inner.length === 1 ? 'attention K' : 'attention V'
    const isKnown = rows.some((row) => row.kernel === kernel && row.tokens === queries)
    if (!isKnown) rows.push({ kernel, tokens: queries, bytes: counts.loads * 16, ...counts })
  }
  return rows
}

/** Keys have a function of their own for each number of queries; the loop that reads most is the main one. */
const scoreLoops = ({ name, loops }, arch) => {
  const [, stored, queries] = SCORES.exec(name)
  const [counts] = loops.map((loop) => countLoop(loop, arch)).sort((a, b) => b.loads - a.loads)
  const kernel = stored === 'floats' ? 'attention K' : 'attention K, int8'
  return [{ kernel, tokens: Number(queries), bytes: counts.loads * 16, ...counts }]
}

/** The rows of the table. `tokens` is the number of tokens, or of queries, that share what is read. */
export const mainLoops = (functions, arch, build) =>
  functions
    .flatMap((each) => {
      if (BLOCKS[each.name] !== undefined) return dotLoops(each, arch, build)
      if (['tile_f32', 'tile_f16', 'tile_bf16'].includes(each.name)) return floatLoops(each, arch)
      if (SCORES.test(each.name)) return scoreLoops(each, arch)
      return each.name === 'tile_attention' ? attentionLoops(each, arch) : []
    })
    .sort((a, b) => a.kernel.localeCompare(b.kernel) || a.tokens - b.tokens)
