export interface PrintedFunction {
  readonly name: string
}
export function printArguments(module: string): string[]
export function readCode(text: string): PrintedFunction[]
