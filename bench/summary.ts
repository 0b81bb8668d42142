// Summaries. In: samples of several rounds. Out: medians with their spread, and a Markdown table with ratios to the peer.

/** One engine, one round, one prompt length. Rates in tokens per second. */
export interface Row {
  readonly engine: string
  readonly threads: number
  readonly prompt: number
  readonly prefill: number
  readonly decode: number
  readonly loadMs: number
  readonly memoryBytes: number | undefined
}

export interface Spread {
  readonly median: number
  readonly min: number
  readonly max: number
}

export interface Summary {
  readonly engine: string
  readonly threads: number
  readonly prompt: number
  readonly samples: number
  readonly prefill: Spread
  readonly decode: Spread
  readonly loadMs: Spread
  readonly memoryBytes: number | undefined
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  const lower = sorted[sorted.length % 2 === 0 ? middle - 1 : middle] ?? Number.NaN
  return { median: (lower + upper) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** One summary for each engine, thread count and prompt, in the order in which they first appear. */
export function summarise(rows: readonly Row[]): Summary[] {
  const groups = Map.groupBy(rows, ({ engine, threads, prompt }) => `${threads} ${prompt} ${engine}`)
  return [...groups.values()].flatMap((group) => {
    const first = group[0]
    if (first === undefined) return []
    const { engine, threads, prompt, memoryBytes } = first
    return [
      {
        engine,
        threads,
        prompt,
        memoryBytes,
        samples: group.length,
        prefill: spread(group.map((row) => row.prefill)),
        decode: spread(group.map((row) => row.decode)),
        loadMs: spread(group.map((row) => row.loadMs)),
      },
    ]
  })
}

/** The figures and, on Halfbyte's rows, how many times as fast they are as the peer's. */
export function table(summaries: readonly Summary[]): string {
  const lines = [
    '| engine | threads | prompt | prefill tok/s | decode tok/s | load ms | memory MB | prefill ratio | decode ratio |',
    '|---|---|---|---|---|---|---|---|---|',
  ]
  const ordered = [...summaries].sort(
    (a, b) => a.threads - b.threads || a.prompt - b.prompt || a.engine.localeCompare(b.engine),
  )
  for (const one of ordered) {
    const peer = ordered.find(
      (other) => other.threads === one.threads && other.prompt === one.prompt && other.engine !== one.engine,
    )
    const ratio = (kind: 'prefill' | 'decode') =>
      peer === undefined || one.engine !== 'halfbyte'
        ? ''
        : `${(one[kind].median / peer[kind].median).toFixed(1)}x`
    const memory = one.memoryBytes === undefined ? '' : (one.memoryBytes / 1e6).toFixed(0)
    lines.push(
      `| ${one.engine} | ${one.threads} | ${one.prompt} | ${show(one.prefill)} | ${show(one.decode)} | ` +
        `${one.loadMs.median.toFixed(0)} | ${memory} | ${ratio('prefill')} | ${ratio('decode')} |`,
    )
  }
  return lines.join('\n')
}

function show({ median, min, max }: Spread): string {
  return `${median.toFixed(1)} (${min.toFixed(1)}-${max.toFixed(1)})`
}
