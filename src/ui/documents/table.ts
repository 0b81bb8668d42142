// Tables of text: comma-separated values and their relatives, with quoted cells (RFC 4180).

const DELIMITERS = [',', ';', '\t', '|'] as const
/** Number of characters examined to find the delimiter. */
const SAMPLE = 10_000

interface TableRow {
  readonly cells: readonly string[]
  /** Its number as in a spreadsheet, from 1: a cell may have several lines. */
  readonly number: number
}

/** The rows, without empty ones. An unclosed quote ends with the text. */
export function tableRows(text: string): readonly TableRow[] {
  const delimiter = delimiterOf(text)
  const rows: TableRow[] = []
  let cells: string[] = []
  let cell = ''
  let number = 1
  let isQuoted = false
  const endRow = () => {
    cells.push(cell)
    if (cells.some((each) => each.trim() !== '')) rows.push({ cells, number })
    number++
    cells = []
    cell = ''
  }
  for (let at = 0; at < text.length; at++) {
    const letter = text[at]!
    if (isQuoted) {
      if (letter !== '"') cell += letter
      else if (text[at + 1] === '"') {
        cell += '"'
        at++
      } else isQuoted = false
    } else if (letter === '"' && cell === '') isQuoted = true
    else if (letter === delimiter) {
      cells.push(cell)
      cell = ''
    } else if (letter === '\n') endRow()
    else cell += letter
  }
  if (cell !== '' || cells.length > 0) endRow()
  return rows
}

/** The delimiter that divides the first lines most often, outside of quotes. */
function delimiterOf(text: string): string {
  const sample = text.slice(0, SAMPLE).replaceAll(/"[^"]*"/g, '')
  const counts = DELIMITERS.map((delimiter) => sample.split(delimiter).length)
  return DELIMITERS[counts.indexOf(Math.max(...counts))] ?? ','
}
