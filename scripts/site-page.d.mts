export function sitePage(text: string, from: string, places: ReadonlyMap<string, string>): string
