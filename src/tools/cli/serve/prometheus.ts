// Metrics in Prometheus's text format (version 0.0.4): counters, histograms, and gauges that are read at each
// scrape.

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export type Labels = Readonly<Record<string, string>>

interface Sample {
  readonly name: string
  readonly labels: Labels
  readonly value: number
}

interface Family {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  samples(): Iterable<Sample>
}

/** The families, each with its help, type and samples. */
export const prometheusText = (families: readonly Family[]): string =>
  families
    .map((family) => {
      const samples = [...family.samples()].map(lineOf).join('')
      return `# HELP ${family.name} ${family.help}\n# TYPE ${family.name} ${family.type}\n${samples}`
    })
    .join('')

function lineOf({ name, labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${numberText(value)}\n`
}

const escaped = (text: string): string =>
  text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const numberText = (value: number): string => (value === Number.POSITIVE_INFINITY ? '+Inf' : String(value))

/** Values by their labels, in the order of first use. */
class ByLabels<Value> {
  readonly #entries = new Map<string, { readonly labels: Labels; readonly value: Value }>()

  at(labels: Labels, make: () => Value): Value {
    const key = JSON.stringify(labels)
    const entry = this.#entries.get(key) ?? { labels, value: make() }
    this.#entries.set(key, entry)
    return entry.value
  }

  [Symbol.iterator]() {
    return this.#entries.values()
  }
}

export class Counter implements Family {
  readonly type = 'counter'
  readonly name: string
  readonly help: string
  readonly #counts = new ByLabels<{ count: number }>()

  constructor(name: string, help: string) {
    this.name = name
    this.help = help
  }

  add(labels: Labels, count = 1): void {
    this.#counts.at(labels, () => ({ count: 0 })).count += count
  }

  *samples(): Iterable<Sample> {
    for (const { labels, value } of this.#counts) yield { name: this.name, labels, value: value.count }
  }
}

export class Histogram implements Family {
  readonly type = 'histogram'
  readonly name: string
  readonly help: string
  /** Upper bounds, ascending. */
  readonly #bounds: readonly number[]
  readonly #series = new ByLabels<{ readonly counts: number[]; sum: number }>()

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name
    this.help = help
    this.#bounds = [...bounds, Number.POSITIVE_INFINITY]
  }

  observe(labels: Labels, value: number): void {
    const series = this.#series.at(labels, () => ({ counts: this.#bounds.map(() => 0), sum: 0 }))
    series.counts[this.#bounds.findIndex((bound) => value <= bound)]! += 1
    series.sum += value
  }

  *samples(): Iterable<Sample> {
    const { name } = this
    for (const { labels, value } of this.#series) {
      let count = 0
      for (const [index, bound] of this.#bounds.entries()) {
        count += value.counts[index]!
        yield { name: `${name}_bucket`, labels: { ...labels, le: numberText(bound) }, value: count }
      }
      yield { name: `${name}_sum`, labels, value: value.sum }
      yield { name: `${name}_count`, labels, value: count }
    }
  }
}

/** `read` returns values with their labels, or a number without labels. */
export const readings = (
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  read: () => number | Iterable<readonly [Labels, number]>,
): Family => ({
  type,
  name,
  help,
  *samples() {
    const values = read()
    if (typeof values === 'number') return yield { name, labels: {}, value: values }
    for (const [labels, value] of values) yield { name, labels, value }
  },
})
