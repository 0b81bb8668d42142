// Finds the inner loops of the main kernels among the functions that V8 printed, names them and counts their
// instructions.
import { countLoop } from './machine-code.mjs'

/** Bytes of one block of a panel: 32 inputs of 8 outputs. Four panels are read in parallel. */
const BLOCKS = {
  linear_w4a8_product: { kernel: 'linear w4', bytes: 144 },
  linear_w4ma8_product: { kernel: 'linear w4m', bytes: 160 },
  linear_w8a8_product: { kernel: 'linear w8', bytes: 272 },
  linear_w4a8_channel_product: { kernel: 'linear w4 per channel', bytes: 128 },
}
const STREAMS = 4
/** Keys and values have a function for each storage format and number of queries. */
const ATTENTION = /^(?:score_floats|score_codes|accumulate_f32|accumulate_codes|accumulate_fp8)_([1-4])$/
const ATTENTION_KERNELS = {
  score_floats: 'attention K',
  score_codes: 'attention K, int8',
  accumulate_f32: 'attention V',
  accumulate_codes: 'attention V, int8',
  accumulate_fp8: 'attention V, fp8',
}
/** The relaxed build's other form of dot products, for x64 without AVX-VNNI. */
const PAIRS = '__pairs'
/** The simd128 build's other form, for arm64. */
const PRODUCTS = '__products'
/** The arm64 form has a function for each tile. A tile that reads bytes directly does so without a copy. */
const WIDE = /^add_(w4|w4m|w8|laid|laid_m)_([1-4])$/
const WIDE_KERNELS = {
  w4: { kernel: 'linear w4', bytes: 144 },
  w4m: { kernel: 'linear w4m', bytes: 160 },
  w8: { kernel: 'linear w8', bytes: 272 },
  laid: { kernel: 'linear w4 and w8, laid out', bytes: 288 },
  laid_m: { kernel: 'linear w4m, laid out', bytes: 320 },
}

/**
 * The tiles of many rows on x64 with AVX-VNNI: four panels by five tokens. V8 also inlines them into the
 * functions of BLOCKS.
 */
const TILE = /^add_tile_(w4|w4m|w8)$/
const TILE_DOTS = 16 * STREAMS * 5

/**
 * Of nested loops with dot products, only the innermost counts. An inner loop that widens activations has no
 * dot products.
 */
const dotLoops = (name, loops, arch, build, isProducts) => {
  const counted = loops.map((loop) => ({ loop, counts: countLoop(loop, arch) }))
  const found = counted.filter(
    ({ loop, counts }) =>
      counts.dots > 0 &&
      counts.dots !== TILE_DOTS &&
      !loop.inner.some((inner) => countLoop(inner, arch).dots > 0),
  )
  const { kernel, bytes } = BLOCKS[name]
  // Dots of one token and panel: 8 vectors of nibbles or 16 of bytes, split further if a dot takes fewer.
  const isWhole = build === 'relaxed' ? kernel !== 'linear w8' : isProducts
  const perPanel = (isWhole ? 2 : 4) * 8
  return found.map(({ counts }) => {
    // Unpacked codes need no bit operations, and their loops process one panel at a time.
    const panels = counts.logic * 10 < counts.dots ? 1 : STREAMS
    return {
      kernel: panels === 1 ? `${kernel}, laid out` : kernel,
      tokens: counts.dots / (panels * perPanel),
      bytes: panels * bytes,
      ...counts,
    }
  })
}

/** A single loop over groups, with 16 dot products for each panel and token. */
const wideLoop = (name, loops, arch) => {
  const [, form, rows] = WIDE.exec(name)
  const tokens = Number(rows)
  const { kernel, bytes } = WIDE_KERNELS[form]
  return loops
    .map((loop) => countLoop(loop, arch))
    .filter((counts) => counts.dots > 0)
    .map((counts) => ({ kernel, tokens, bytes: (counts.dots / (16 * tokens)) * bytes, ...counts }))
}

/** A single loop over groups. */
const tileLoop = (name, loops, arch) => {
  const { kernel, bytes } = WIDE_KERNELS[TILE.exec(name)[1]]
  return loops
    .map((loop) => countLoop(loop, arch))
    .filter((counts) => counts.dots > 0)
    .map((counts) => ({
      kernel: `${kernel}, many rows`,
      tokens: counts.dots / (16 * STREAMS),
      bytes: STREAMS * bytes,
      ...counts,
    }))
}

/** V8 may unroll these loops. The number of weight vectors per activation tells them apart. */
const floatLoops = (name, loops, arch) => {
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

/** The loop with the most products; the others handle odd dims and the last positions. */
const attentionLoop = (name, loops, arch) => {
  const [, queries] = ATTENTION.exec(name)
  const [counts] = loops
    .filter((loop) => loop.inner.length === 0)
    .map((loop) => countLoop(loop, arch))
    .sort((a, b) => b.dots + b.multiplies - (a.dots + a.multiplies))
  const kernel = ATTENTION_KERNELS[name.replace(/_\d$/, '')]
  return { kernel, tokens: Number(queries), bytes: counts.loads * 16, ...counts }
}

/**
 * The functions that a machine runs, of those built in several forms of the dot product. On arm64 this is the
 * wide form or products, with quads as the fallback; elsewhere it is quads, or pairs if V8 compiled the quads
 * to pairs. Always includes functions with a single form.
 */
const takenFunctions = (functions, arch) => {
  const names = new Set(functions.map(({ name }) => name))
  if (arch === 'arm64') {
    return functions.filter(
      ({ name }) =>
        !(
          name.endsWith(PAIRS) ||
          TILE.test(name) ||
          names.has(`${name}__wide`) ||
          names.has(name + PRODUCTS)
        ),
    )
  }
  const quads = functions.find(({ name }) => name === 'linear_w4a8_product')
  const takesPairs = quads?.loops.some((loop) => countLoop(loop, arch).pairDots > 0) ?? false
  return functions.filter(({ name }) =>
    name.endsWith(PAIRS)
      ? takesPairs
      : !(
          WIDE.test(name) ||
          name.endsWith(PRODUCTS) ||
          (takesPairs && (TILE.test(name) || names.has(name + PAIRS)))
        ),
  )
}

/** The rows of the table. `tokens` is the number of tokens, or of queries, that share the loaded data. */
export const mainLoops = (functions, arch, build) =>
  takenFunctions(functions, arch)
    .flatMap((each) => {
      const name = each.name.replace(PAIRS, '').replace(PRODUCTS, '')
      const isProducts = each.name.endsWith(PRODUCTS)
      if (WIDE.test(name)) return wideLoop(name, each.loops, arch)
      if (TILE.test(name)) return tileLoop(name, each.loops, arch)
      if (BLOCKS[name] !== undefined) return dotLoops(name, each.loops, arch, build, isProducts)
      if (['tile_f32', 'tile_f16', 'tile_bf16'].includes(name)) return floatLoops(name, each.loops, arch)
      return ATTENTION.test(name) ? [attentionLoop(name, each.loops, arch)] : []
    })
    .sort((a, b) => a.kernel.localeCompare(b.kernel) || a.tokens - b.tokens)
