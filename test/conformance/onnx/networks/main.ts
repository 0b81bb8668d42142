// Exported networks. In: a folder filled by torch_networks.py, and parts of names to select. Out: a Markdown
// table of which ones compile, and how far their outputs are from onnxruntime-web's. `npm run
// conformance:networks -- FOLDER [NAME...]`
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { judgeNetwork } from './judge.ts'

const [folder, ...wanted] = process.argv.slice(2)
if (folder === undefined)
  throw new RangeError('name a folder of networks: npm run conformance:networks -- FOLDER')
const names = readdirSync(folder)
  .filter((name) => existsSync(join(folder, name, 'sizes.json')))
  .filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)))
  .sort()
if (names.length === 0) throw new RangeError(`${folder} has no networks of that name`)
console.log('| network | verdict | runs | greatest difference |')
console.log('| --- | --- | --: | --: |')
for (const name of names) {
  const read = (file: string) => readFileSync(join(folder, name, file))
  const verdict = await judgeNetwork(new Uint8Array(read('model.onnx')), JSON.parse(`${read('sizes.json')}`))
  if (verdict.is === 'different') process.exitCode = 1
  const cells =
    verdict.is === 'refused'
      ? ['refused', '', verdict.why.replaceAll('|', '\\|')]
      : [
          verdict.is,
          verdict.runs,
          `${verdict.worst.toExponential(1)} ${verdict.is === 'equal' ? '' : verdict.at}`,
        ]
  console.log(`| ${[name, ...cells].join(' | ')} |`)
}
