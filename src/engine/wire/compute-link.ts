// Compute links. In: nothing. Out: the messages by which an engine worker gets compute workers from its page.
//
//   engine worker                          page                        compute worker
//   start: number, script, port  ------->  new Worker, port  ------->  serves the port
//   end: number                  ------->  terminate
//   <-------  failed: number, why          its error events
//
// An engine worker does not start compute workers itself. In Firefox `new Worker` inside a worker waits on
// the new worker's own condition variable for a signal from the main thread, which may wake the new worker
// instead. Then nothing ends the wait, not even closing the page.

/** From an engine worker. `script` is an absolute address; absent: the script that came with the library. */
export type ToPage =
  | {
      readonly type: 'compute-start'
      readonly number: number
      readonly script: string | undefined
      readonly port: MessagePort
    }
  | { readonly type: 'compute-end'; readonly number: number }

/** From the engine worker's page. */
export type ToEngine = { readonly type: 'compute-failed'; readonly number: number; readonly why: string }

/** The first and only message from the page to a compute worker. */
export interface ComputeStart {
  readonly port: MessagePort
}
