// halfbyte models. In: nothing. Out: the models of the catalogue, with what a person needs to choose one.
import { Command } from 'commander'
import { CATALOGUE } from '../../store/catalogue.ts'
import { bytesText } from '../fit.ts'

export function modelsCommand(): Command {
  return new Command('models')
    .description(
      'List small open models that "halfbyte chat NAME" fetches. "halfbyte inspect NAME --fit" says how one would run here.',
    )
    .action(() => void process.stdout.write(`${list()}\n`))
}

function list(): string {
  const width = Math.max(...CATALOGUE.map(({ id }) => id.length))
  return CATALOGUE.map(({ id, sizeBytes, licence, contextLength, address, about }) =>
    [
      `${id.padEnd(width)}  ${bytesText(sizeBytes)}, ${licence}, context ${contextLength}`,
      ...[about, address].map((line) => `${' '.repeat(width)}  ${line}`),
    ].join('\n'),
  ).join('\n')
}
