// halfbyte models. In: nothing. Out: the embedded models and those of the catalogue, with what a person needs
// to choose one.
import { Command } from 'commander'
import { CATALOGUE } from '../../store/catalogue.ts'
import { EMBEDDED } from '../embedded.ts'
import { bytesText } from '../fit.ts'

export function modelsCommand(): Command {
  return new Command('models')
    .description(
      'List the embedded models and small open ones that "halfbyte chat NAME" fetches. "halfbyte inspect NAME --fit" says how one would run here.',
    )
    .action(() => void process.stdout.write(`${list()}\n`))
}

function list(): string {
  const embedded = EMBEDDED.map(({ id, about }) => ({ id, lines: ['embedded, nothing to fetch', about] }))
  const fetched = CATALOGUE.map(({ id, sizeBytes, licence, contextLength, address, about, checked }) => ({
    id,
    lines: [
      `${bytesText(sizeBytes)}, ${licence}, context ${contextLength}`,
      about,
      address,
      ...(checked === undefined ? [] : [`compared with llama.cpp in ${checked}`]),
    ],
  }))
  const all = [...embedded, ...fetched]
  const width = Math.max(...all.map(({ id }) => id.length))
  const entry = (id: string, lines: readonly string[]) =>
    lines.map((line, index) => `${(index === 0 ? id : '').padEnd(width)}  ${line}`).join('\n')
  return all.map(({ id, lines }) => entry(id, lines)).join('\n')
}
