// The browser interface that smoke tests need, independent of the driver.

export interface Browser {
  /** The browser's version, as the browser reports it. */
  readonly version: string
  open(url: string): Promise<void>
  /**
   * Runs `task` in the page. It may use only its argument; the argument and the result must be
   * JSON-serializable.
   */
  evaluate<T, A = undefined>(task: (argument: A) => T | Promise<T>, argument?: A): Promise<T>
  /** Types into the first matching element. */
  type(selector: string, text: string): Promise<void>
  click(selector: string): Promise<void>
  close(): Promise<void>
}

/** A browser that may be installed on this machine. */
export interface Engine {
  readonly name: string
  /** The reason for skipping: what this machine lacks. Undefined if the browser can run. */
  readonly lacks?: string
  launch(): Promise<Browser>
}
