// Makes training text from answers. In: multiple-choice datasets, as `halfbyte eval` reads them. Out: a line
// of JSON per item: its question with the right choice as the answer, in the format that `halfbyte eval`
// scores.
//
//   npx node lab/train/compress/answers.ts arc=ARC-Easy-Dev.jsonl piqa=valid.jsonl,labels.lst@919 --to
//     TEXT.jsonl
// @919 omits the first 919 items, so that a model can be scored on them. --seed shuffles the lines.
// Never train on items that are used for scoring.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Command, InvalidArgumentError } from 'commander'
import {
  arc,
  boolq,
  type ChoiceTask,
  hellaswag,
  ownChoices,
  piqa,
  winogrande,
} from '../../../src/tools/evaluate/tasks/choices.ts'
import { drawn } from '../../../src/tools/evaluate/tasks/order.ts'
import type { DataFile } from '../../../src/tools/evaluate/tasks/read.ts'

const FORMS: ReadonlyMap<string, (file: DataFile, labels?: DataFile) => ChoiceTask> = new Map(
  Object.entries({
    arc: (file: DataFile) => arc('arc_easy', file),
    boolq: (file: DataFile) => boolq(file),
    choices: (file: DataFile) => ownChoices(file),
    hellaswag: (file: DataFile) => hellaswag(file),
    piqa,
    winogrande: (file: DataFile) => winogrande(file),
  }),
)

interface DataSet {
  readonly form: string
  readonly paths: readonly string[]
  /** Number of items to omit at the beginning. */
  readonly first: number
}

interface Answer {
  readonly text: string
  /** The end of the text. */
  readonly answer: string
}

function dataSet(given: string, before: readonly DataSet[] = []): readonly DataSet[] {
  const [, form = '', paths = '', first = '0'] = /^(\w+)=([^@]+)(?:@(\d+))?$/.exec(given) ?? []
  if (!FORMS.has(form))
    throw new InvalidArgumentError(`give FORM=FILE with one of the forms ${[...FORMS.keys()].join(', ')}.`)
  return [...before, { form, paths: form === 'piqa' ? paths.split(',') : [paths], first: Number(first) }]
}

async function answersOf({ form, paths, first }: DataSet): Promise<Answer[]> {
  const [file, labels] = await Promise.all(
    paths.map(async (name) => ({ name, text: await readFile(name, 'utf8') })),
  )
  const { items } = FORMS.get(form)!(file!, labels)
  if (first >= items.length)
    throw new Error(
      `${paths[0]} has ${items.length} items, so none is left after ${first}; give a smaller number after @`,
    )
  return items.slice(first).map(({ pairs, gold }) => {
    const [context, answer] = pairs[gold]!
    return { text: context + answer, answer }
  })
}

const command = new Command('answers')
  .argument('<form=file[,labels][@first]...>', `data sets; forms: ${[...FORMS.keys()].join(', ')}`, dataSet)
  .requiredOption('--to <file>', 'lines for compress.folder --text')
  .option('--seed <n>', 'seed for the order of the lines', Number, 1)
  .parse()
const { to, seed } = command.opts<{ to: string; seed: number }>()
const [sets] = command.processedArgs as [readonly DataSet[]]
try {
  const lines = drawn((await Promise.all(sets.map(answersOf))).flat(), seed)
  await mkdir(dirname(to), { recursive: true })
  await writeFile(to, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  console.log(`${to}: ${lines.length} answers`)
} catch (error) {
  command.error(error instanceof Error ? error.message : String(error))
}
