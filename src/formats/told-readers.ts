// Told readers. In: a reader, from its own script. Out: the same, to the engine that has loaded the script.
//
// Some bundlers drop the exports of a script that is imported by its address (Parcel), so a reader tells
// itself to the one global object that both have.
const KEY = Symbol.for('halfbyte.readers')

type Told = Map<string, unknown>
const told = (): Told => {
  const scope = globalThis as { [KEY]?: Told }
  scope[KEY] ??= new Map()
  return scope[KEY]
}

export function tellReader(format: string, reader: unknown): void {
  told().set(format, reader)
}

/** Undefined where no script has told one. */
export const toldReader = (format: string): unknown => told().get(format)
