// Browser. In: nothing. Out: what a smoke test asks of a browser, whatever drives it.

export interface Browser {
  /** The engine's own version, as it reports it. */
  readonly version: string
  open(url: string): Promise<void>
  /** Runs `task` inside the page; it must refer to nothing but its argument, and both ends must survive JSON. */
  evaluate<T, A = undefined>(task: (argument: A) => T | Promise<T>, argument?: A): Promise<T>
  /** Keys pressed in the first element that matches. */
  type(selector: string, text: string): Promise<void>
  click(selector: string): Promise<void>
  close(): Promise<void>
}

/** A browser that this machine may or may not have. */
export interface Engine {
  readonly name: string
  /** What is missing here, as the reason of a skipped test; undefined when it can run. */
  readonly lacks?: string
  launch(): Promise<Browser>
}
