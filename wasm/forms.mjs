// In: a C file of wasm/. Out: the forms of the dot that it is built in, as it says itself, for all that compiles kernels.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'

/** What makes a form, see wasm/dot-relaxed.h. The simd128 build has quads alone. */
export const FORM_DEFINES = { quads: [], pairs: ['-DDOT_PAIRS'], wide: ['-DDOT_WIDE'] }

/** Read from a line of its own, `forms: quads, pairs` in a comment. Without that line a source has one form, quads. */
export const formsOf = (source) => {
  const [, listed = 'quads'] = /^\/\* forms: (.*) \*\/$/m.exec(readFileSync(source, 'utf8')) ?? []
  const forms = listed.split(', ')
  const unknown = forms.find((form) => FORM_DEFINES[form] === undefined)
  if (unknown === undefined) return forms
  const known = Object.keys(FORM_DEFINES).join(', ')
  throw new Error(`${basename(source)} asks for the form "${unknown}"; there are ${known}`)
}
