export declare function sizeTexts(sizes: {
  readonly wasm: readonly number[]
  readonly library: number
  readonly later: number
  readonly readers: Readonly<Record<string, number>>
  readonly widgetScript: number
  readonly widgetWorkers: number
  readonly widget: number
  readonly widgetBudget: number
}): Record<'README.md' | 'docs/guide/widget.md', string>
export declare function isAbout(written: string, measured: string): boolean
export declare function textBetween(page: string): string
export declare function writeSizes(root: string, texts: Readonly<Record<string, string>>): void
export declare function wrongSizes(root: string, texts: Readonly<Record<string, string>>): string[]
