// Lists the C files of wasm/, or of one folder, and the forms of the dot in which each is built, for all
// scripts that compile kernels.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const WASM = fileURLToPath(new URL('..', import.meta.url))
/** Folders whose sources are not part of the engine. */
const ASIDE = ['testing', 'limits', 'native', 'solve']

/** Every file of wasm/, or of one folder of it. */
export const filesIn = (folder = '') =>
  readdirSync(join(WASM, folder), { recursive: true }).map((name) => join(WASM, folder, name))

/**
 * The C files of a folder at any depth, sorted by name so that moving a file does not change a module's
 * bytes.
 */
export const sourcesIn = (folder = '') => {
  const nameOf = (path) => basename(path, '.c').replaceAll('-', '_')
  return filesIn(folder)
    .filter((path) => path.endsWith('.c'))
    .sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1))
}

/** The sources of the engine. */
export const engineSources = () =>
  sourcesIn().filter((path) => !ASIDE.includes(relative(WASM, path).split(sep)[0]))

/** The flags of each form: see wasm/simd/dot-relaxed.h and dot-simd128.h. */
export const FORM_DEFINES = {
  quads: [],
  pairs: ['-DDOT_PAIRS'],
  wide: ['-DDOT_WIDE'],
  products: ['-DDOT_PRODUCTS'],
}
/** The forms of each build. */
export const FORMS_OF_BUILD = {
  relaxed: ['quads', 'pairs', 'wide'],
  simd128: ['quads', 'products'],
}

/** Reads the line `forms: quads, pairs` of a comment. A source without that line has one form, quads. */
export const formsOf = (source) => {
  const [, listed = 'quads'] = /^\/\* forms: (.*) \*\/$/m.exec(readFileSync(source, 'utf8')) ?? []
  const forms = listed.split(', ')
  const unknown = forms.find((form) => FORM_DEFINES[form] === undefined)
  if (unknown === undefined) return forms
  const known = Object.keys(FORM_DEFINES).join(', ')
  throw new Error(`${basename(source)} asks for the form "${unknown}"; known forms are ${known}`)
}

/** The table of ops that TypeScript and C share. It states the version of the records, for both. */
export const OPS = fileURLToPath(new URL('../../src/core/abi/ops.ts', import.meta.url))
const [, version] = /^export const ABI_VERSION = (\d+)$/m.exec(readFileSync(OPS, 'utf8')) ?? []
if (version === undefined) throw new Error(`${OPS} does not state ABI_VERSION`)
export const ABI_DEFINE = `-DABI_VERSION=${version}`
