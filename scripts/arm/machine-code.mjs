// Reads what V8 prints for --print-wasm-code on arm64 or x64: functions, their loops, and the instructions of
// a loop.

/** Arguments of a Node command that compiles a module with TurboFan only and prints its code. */
export const printArguments = (module) => [
  '--no-liftoff',
  '--no-wasm-lazy-compilation',
  '--print-wasm-code',
  '-e',
  'new WebAssembly.Module(fs.readFileSync(process.argv[1]))',
  module,
]

const LINE = /^(0x[0-9a-f]+) +([0-9a-f]+) {2}[0-9a-f]+ +(.*?) *$/
const BRANCH = /^(?:b|b\.\w+|cbn?z|tbn?z|j\w+) .*?(0x[0-9a-f]{6,})/

/** The instructions of one function: offset, text, and a branch's target offset. */
const instructionsOf = (section) => {
  const instructions = []
  let base
  for (const line of section.split('\n')) {
    const match = LINE.exec(line)
    if (match === null) continue
    const [, address, offset, text] = match
    base ??= BigInt(address) - BigInt(`0x${offset}`)
    const target = BRANCH.exec(text)?.[1]
    instructions.push({
      offset: Number.parseInt(offset, 16),
      text: text.replace(/^REX\.W /, ''),
      target: target === undefined ? undefined : Number(BigInt(target) - base),
    })
  }
  return instructions
}

/**
 * Loops without calls, outer before inner. V8 keeps a loop's code together and puts rare calls after all
 * loops; the jumps back from these calls would look like loops.
 */
const loopsOf = (instructions) => {
  const loops = []
  for (const { offset, target } of instructions) {
    if (target === undefined || target > offset || target < 0) continue
    const body = instructions.filter((each) => each.offset >= target && each.offset <= offset)
    if (body.some(({ text }) => /^(ret|retl|bl|blr|call)\b/.test(text))) continue
    loops.push({ from: target, to: offset, body })
  }
  loops.sort((a, b) => a.from - b.from || b.to - a.to)
  for (const loop of loops) {
    loop.inner = loops.filter((each) => each !== loop && each.from >= loop.from && each.to <= loop.to)
    loop.parent = loops.findLast((each) => each !== loop && each.from <= loop.from && each.to >= loop.to)
  }
  return loops
}

/**
 * The functions that V8 printed, in order; names come from the module's name section and need not be unique.
 */
export const readCode = (text) =>
  text
    .split('--- WebAssembly code ---')
    .slice(1)
    .map((section) => ({
      name: /^name: (.*)$/m.exec(section)?.[1] ?? '',
      // Computed on demand, because most functions are never inspected and a test runs this under emulation,
      // which is slow.
      get loops() {
        return loopsOf(instructionsOf(section))
      },
    }))

const ARM64 = {
  dot: /^sdot /,
  pairDot: /(?!)/,
  wideDot: /^(?:smull2|smlal2) /,
  multiply: /^fmul v\d+\.4s/,
  load: /^(ldr|ldur) q\d+, \[x/,
  splat: /^ld1r /,
  vector: /^\w+ v\d+\./,
  logic: /^(and|bic|orr|eor|shl|ushr|sshr) v/,
  spillLoad: /^(ldr|ldur|ldp) q.*\[(sp|fp)/,
  spillStore: /^(str|stur|stp) q.*\[(sp|fp)/,
  scalarSpill: /^(ldr|ldur|ldp|str|stur|stp) [wxsd]\d.*\[(sp|fp)/,
  register: /\b[qv](\d+)\b/g,
}
const X64 = {
  dot: /^vpdpbusd /,
  pairDot: /^vpmaddubsw /,
  wideDot: /^vpmaddwd /,
  multiply: /^vmulps /,
  load: /^v(movdqu|movups|movdqa|movaps|lddqu) xmm\d+,\[r(?!bp|sp)/,
  splat: /^v(broadcastss|pbroadcastd) xmm\d+,\[/,
  vector: /^v(?!mov\w+ .*\[|(?:p?broadcast)\w+ xmm\d+,\[)/,
  logic: /^v(pand|pandn|por|pxor|andps|psrl[wd]|psra[wd]|psll[wd]) /,
  spillLoad: /^v\w+ xmm.*\[(rbp|rsp)/,
  spillStore: /^v\w+ \[(rbp|rsp)/,
  scalarSpill: /^(?!v)\w+ .*\[rbp-/,
  register: /\bxmm(\d+)\b/g,
}

/** Counts a loop's instructions, excluding nested loops. */
export const countLoop = (loop, arch) => {
  const kinds = arch === 'arm64' ? ARM64 : X64
  const own = loop.body.filter(
    ({ offset }) => !loop.inner.some((inner) => offset >= inner.from && offset <= inner.to),
  )
  const count = (kind) => own.filter(({ text }) => kind.test(text)).length
  const registers = new Set(
    own.flatMap(({ text }) => [...text.matchAll(kinds.register)].map((match) => match[1])),
  )
  // Wide dots with ones complete the pairwise sums.
  const pairDots = count(kinds.pairDot)
  return {
    instructions: own.length,
    dots: pairDots || count(kinds.dot) + count(kinds.wideDot),
    pairDots,
    multiplies: count(kinds.multiply),
    vector: count(kinds.vector),
    loads: count(kinds.load),
    splats: count(kinds.splat),
    logic: count(kinds.logic),
    spills: count(kinds.spillLoad) + count(kinds.spillStore),
    scalarSpills: count(kinds.scalarSpill),
    registers: registers.size,
  }
}
