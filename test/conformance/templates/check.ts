// A check of templates. In: a folder of templates and the file that make.py wrote for it. Out: the
// differences.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareTemplates } from './compare.ts'

const [folder = '', golden = ''] = process.argv.slice(2)
const { alike, refused, different } = compareTemplates(JSON.parse(readFileSync(golden, 'utf8')), (name) =>
  readFileSync(join(folder, `${name}.jinja`), 'utf8'),
)
for (const each of different) console.log(JSON.stringify(each))
console.log(`${alike} equal, ${refused} rejected by both, ${different.length} different`)
