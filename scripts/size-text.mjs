// Writes measured sizes into README.md and the widget's guide, and finds documents whose sizes are out of
// date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const BEGIN = '<!-- Written by npm run size -- --write: begin -->\n'
const END = '\n<!-- Written by npm run size -- --write: end -->'

const kB = (bytes) => Math.round(bytes / 1000)

/** The text between the markers of each document. All sizes are gzipped bytes. */
export function sizeTexts({
  wasm,
  library,
  later,
  readers,
  widgetScript,
  widgetWorkers,
  widget,
  widgetBudget,
}) {
  const least = Math.min(...wasm)
  const most = Math.max(...wasm)
  return {
    'README.md': `**Size, gzipped:** ${kB(least)} to ${kB(most)} kB of WebAssembly (a page loads one of four modules) and ${kB(library)} kB of JavaScript, excluding
the tokenizer library. GGUF models load ${kB(readers['gguf.js'])} kB more, safetensors ${kB(readers['safetensors.js'])} kB, ONNX models ${kB(readers['onnx.js'])} kB, and constrained replies ${kB(later)} kB.
The widget is ${kB(widget)} kB in all.`,
    'docs/guide/widget.md': `Gzipped, without a model: ${kB(widgetScript)} kB for \`widget.js\`, ${kB(widgetWorkers)} kB for the workers, and for one of four wasm modules ${kB(least)} to
${kB(most)} kB: ${kB(widget)} kB with the largest. \`npm run size\` fails above ${kB(widgetBudget)} kB.`,
  }
}

const NUMBER = /\d+/g

/** Whether two texts differ only in their numbers, and each number by at most 1 or 3 %. */
export function isAbout(written, measured) {
  const numbers = (text) => [...text.matchAll(NUMBER)].map(Number)
  const words = (text) => text.replaceAll(NUMBER, '#').trim()
  if (words(written) !== words(measured)) return false
  const right = numbers(measured)
  return numbers(written).every((each, at) => Math.abs(each - right[at]) <= Math.max(1, 0.03 * right[at]))
}

/** The text between the markers of a page. Throws unless it has exactly one pair. */
export function textBetween(page) {
  const parts = page.split(BEGIN)
  const [text, after, ...more] = parts[1]?.split(END) ?? []
  if (parts.length !== 2 || after === undefined || more.length > 0)
    throw new Error(`the page must have exactly one line ${BEGIN.trim()} followed by one line ${END.trim()}`)
  return text
}

/** Replaces the texts in the documents below `root`. */
export function writeSizes(root, texts) {
  for (const [path, text] of Object.entries(texts)) {
    const page = readFileSync(join(root, path), 'utf8')
    writeFileSync(
      join(root, path),
      page.replace(textBetween(page), () => text),
    )
  }
}

/** The documents below `root` whose sizes differ noticeably. */
export const wrongSizes = (root, texts) =>
  Object.entries(texts)
    .filter(([path, text]) => !isAbout(textBetween(readFileSync(join(root, path), 'utf8')), text))
    .map(([path]) => path)
