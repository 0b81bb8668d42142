// What `halfbyte eval` asks of a data set. In: a task's name and its files. Out: a line of JSON for each
// item, with the texts of its choices, each after its question.
//
// npx node train/compress/asked.mjs piqa VALID.jsonl LABELS.lst
import { readFileSync } from 'node:fs'
import { arc, hellaswag, piqa } from '../../src/evaluate/tasks/choices.ts'

const [, , name, ...paths] = process.argv
const files = paths.map((path) => ({ name: path, text: readFileSync(path, 'utf8') }))
const task = { piqa, hellaswag, arc: (file) => arc('arc_easy', file) }[name](...files)
const { signal } = new AbortController()

/** The texts that a task encodes. Nothing is scored: the first score stops the item. */
async function asked(index) {
  const texts = []
  const stop = new Error('asked')
  const encode = (text) => {
    texts.push(text)
    return [...text].map((letter) => letter.codePointAt(0))
  }
  const model = {
    tokenizer: { encode },
    addBos: false,
    get maxTokens() {
      throw stop
    },
  }
  await task.score(model, index, signal).catch((error) => {
    if (error !== stop) throw error
  })
  // Each choice is encoded after its question, and then the question alone.
  return texts.filter((_, at) => at % 2 === 0)
}

for (let index = 0; index < task.count; index++) console.log(JSON.stringify(await asked(index)))
