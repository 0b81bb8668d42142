// Writes the results of each side of bench:real as Markdown.

/**
 * One greedy token: the reference's choice, and whether Halfbyte makes the same choice after the same
 * history.
 */
export interface Place {
  readonly prompt: number
  readonly token: number
  readonly isSame: boolean
  /** How much more the reference prefers its choice to the other candidate, as a logarithm. */
  readonly margin: number
  /** How much Halfbyte's margin between the reference's first two tokens differs from the reference's. */
  readonly shift: number
  /** The reference's choice, and Halfbyte's. */
  readonly pieces: readonly string[]
}
export interface Side {
  readonly name: string
  readonly prompts: number
  readonly places: readonly Place[]
  readonly windows: number
  readonly perplexity: number
  /** llama.cpp's perplexity on the same windows. */
  readonly reference: number
}

export function perplexityTable(sides: readonly Side[]): string {
  return [
    '| side | windows | perplexity | llama.cpp | difference |',
    '| --- | --: | --: | --: | --: |',
    ...sides.map(({ name, windows, perplexity, reference }) => {
      const percent = ((perplexity / reference - 1) * 100).toFixed(2)
      return `| ${name} | ${windows} | ${perplexity.toFixed(4)} | ${reference.toFixed(4)} | ${percent} % |`
    }),
  ].join('\n')
}

export function greedyTable(sides: readonly Side[]): string {
  return [
    '| side | identical replies | same tokens | rms shift of a margin | largest margin that was reversed |',
    '| --- | --: | --: | --: | --- |',
    ...sides.map(({ name, prompts, places }) => {
      const others = places.filter(({ isSame }) => !isSame)
      const whole = prompts - new Set(others.map(({ prompt }) => prompt)).size
      const rms = Math.sqrt(places.reduce((sum, { shift }) => sum + shift ** 2, 0) / places.length)
      const [widest] = others.toSorted((left, right) => right.margin - left.margin)
      const told =
        widest === undefined
          ? ''
          : `${widest.margin.toFixed(3)}: ${widest.pieces.map((piece) => JSON.stringify(piece)).join(' or ')}`
      const same = `${places.length - others.length} of ${places.length}`
      return `| ${name} | ${whole} of ${prompts} | ${same} | ${rms.toFixed(3)} | ${told} |`
    }),
  ].join('\n')
}
