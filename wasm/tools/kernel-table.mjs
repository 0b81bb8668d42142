// Writes the header build/generated/kernels.h from lines of the C files that say which op a kernel computes
// and which function defines it. run.c and wasm/testing/reference.c make their tables from it.
//
//   /* kernel: OP_ADD add_rows plain */             the kernel of the op and its forms of the dot
//   /* second round: OP_ROUTE route_sort plain */   its second round, where it has one
//   /* definition: OP_ADD */                        the next line begins the op's scalar definition
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { engineSources, sourcesIn } from './sources.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The contents of `kernels.h`. */
export const GENERATED = join(root, 'build/generated')
const KINDS = ['plain', 'dots', 'dense']

/** The codes of `enum op_code`, in their order. */
const opCodes = () => {
  const header = readFileSync(join(root, 'wasm/core/abi.h'), 'utf8')
  const [, body] = /enum op_code \{([^}]*)\}/.exec(header)
  return [...body.matchAll(/(OP_\w+) =/g)].map(([, code]) => code).filter((code) => code !== 'OP_COUNT')
}

/** `plain(OP_ADD, add_rows)` for each line of one kind, in the order of the codes. */
const entries = (texts, kind, codes) => {
  const found = new Map()
  for (const [file, text] of texts) {
    for (const [line, code, name, form] of text.matchAll(
      new RegExp(`^/\\* ${kind}: (\\S+) (\\S+) (\\S+) \\*/$`, 'gm'),
    )) {
      if (!KINDS.includes(form)) throw new Error(`${file}: "${line}" must end with ${KINDS.join(', ')}`)
      if (!codes.includes(code)) throw new Error(`${file}: "${line}" names no op of wasm/core/abi.h`)
      if (found.has(code)) throw new Error(`${file}: ${code} already has a ${kind}`)
      found.set(code, `${form}(${code}, ${name})`)
    }
  }
  return found
}

/**
 * The prototype and the call of each definition. Its parameter names determine how it is called: with `m` for
 * each row, with `s` for each sequence, otherwise once.
 */
const definitions = (texts) =>
  texts.flatMap(([, text]) =>
    [...text.matchAll(/^\/\* definition: (.+) \*\/\n(void .*\)) \{/gm)].map(([, listed, signature]) => {
      const prototype = signature.replace(/DOTS\((\w+)\)/, '$1')
      const [, name, parameters] = /^void (\w+)\((.*)\)$/.exec(prototype)
      const names = parameters
        .split(', ')
        .map((each) => (each.startsWith('const struct op_') ? 'op' : /\w+$/.exec(each)[0]))
      const call = `${name}(${names.join(', ')});`
      const cases = listed.split(', ').map((code) => `    case ${code}:`)
      const loop = names.includes('m')
        ? 'for (uint32_t m = 0; m < row_count(op, step); m++) '
        : names.includes('s')
          ? 'for (uint32_t s = 0; s < step->sequences; s++) '
          : ''
      return { prototype: `${prototype};`, cases: `${cases.join('\n')} ${loop}${call} return;` }
    }),
  )

/** The header's text. Throws for an op without a kernel, and for an invalid line. */
const kernelHeader = () => {
  const read = (path) => [basename(path), readFileSync(path, 'utf8')]
  const texts = engineSources().map(read)
  const codes = opCodes()
  const kernels = entries(texts, 'kernel', codes)
  const seconds = entries(texts, 'second round', codes)
  const missing = codes.find((code) => !kernels.has(code))
  if (missing !== undefined) {
    throw new Error(`${missing} has no kernel: a C file needs the line /* kernel: ${missing} NAME plain */`)
  }
  const list = (found) => codes.filter((code) => found.has(code)).map((code) => found.get(code))
  const defined = definitions([...texts, ...sourcesIn('testing').map(read)])
  return `/* kernels.h: written by wasm/tools/kernel-table.mjs from the C files; do not edit. */
#define EACH_KERNEL(plain, dots, dense) \\
    ${list(kernels).join(' \\\n    ')}
#define EACH_SECOND_ROUND(plain, dots) \\
    ${list(seconds).join(' \\\n    ')}

#ifdef DEFINITIONS
${defined.map(({ prototype }) => prototype).join('\n')}
/* The result that run() must match bit for bit, for one op. */
static void define(const void *op, const struct step *step) {
    switch (((const struct op *)op)->code) {
${defined.map(({ cases }) => cases).join('\n')}
    default: __builtin_trap();
    }
}
#endif
`
}

/** Writes the header if it changed, and returns its path. */
export const writeKernelHeader = () => {
  const path = join(GENERATED, 'kernels.h')
  const text = kernelHeader()
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return path
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return path
}
