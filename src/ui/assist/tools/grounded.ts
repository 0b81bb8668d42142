// Whether a call's arguments come from its message: small models make up numbers, factors and dates.
import type { ToolCall } from '../../../engine/api/types.ts'
import { inFigures } from '../exact/numbers.ts'

/** Numbers that people need not say: 1, and those of percent, clock, calendar and metric units. */
const KNOWN: ReadonlySet<number> = new Set([1, 7, 12, 24, 30, 52, 60, 100, 365, 1000])

const numbersIn = (text: string): readonly number[] => (text.match(/\d+(?:\.\d+)?/g) ?? []).map(Number)

/** The numbers of a message, and each as a percentage: 15 % is 0.15, 1.15 and 0.85. */
function numbersOf(message: string): ReadonlySet<number> {
  const numbers = numbersIn(inFigures(message))
  const shares = numbers.flatMap((number) => [number / 100, 1 + number / 100, 1 - number / 100])
  return new Set([...numbers, ...shares.map((share) => Number(share.toFixed(10)))])
}

/** Whether each number, date and place of a call of an assist tool is in the message, or is a known constant. */
export function isGrounded({ name, arguments: given }: ToolCall, message: string): boolean {
  const said = numbersOf(message)
  const isSaid = (number: number) => said.has(number)
  const isDate = (value: unknown) => {
    const [year, , day] = String(value).split('-').map(Number)
    return value === 'today' || (isSaid(day!) && (isSaid(year!) || !/\b\d{4}\b/.test(message)))
  }
  switch (name) {
    case 'calculate': {
      const numbers = numbersIn(String(given['expression']))
      return numbers.some(isSaid) && numbers.every((number) => isSaid(number) || KNOWN.has(number))
    }
    case 'convert_units':
      return isSaid(Math.abs(Number(given['value']))) || given['value'] === 1
    case 'time_in':
      return message.toLowerCase().includes(String(given['place']).toLowerCase().replace(/,.*/, ''))
    case 'days_between':
      return given['from'] !== given['to'] && isDate(given['from']) && isDate(given['to'])
    default:
      return true
  }
}
