// Simulates a slow core: the worker computes every tile three times.

/**
 * (module (type (func (param i32 i32 i32))) (import "e" "f" (func (type 0))) (func (export "g") (type 0)
 * ...)): g calls f
 * `times` times with its own parameters.
 */
function repeater(times: number): WebAssembly.Module {
  const call = [0x20, 0, 0x20, 1, 0x20, 2, 0x10, 0]
  const code = [0, ...Array<number[]>(times).fill(call).flat(), 0x0b]
  return new WebAssembly.Module(
    new Uint8Array([
      0,
      0x61,
      0x73,
      0x6d,
      1,
      0,
      0,
      0,
      1,
      7,
      1,
      0x60,
      3,
      0x7f,
      0x7f,
      0x7f,
      0,
      2,
      7,
      1,
      1,
      0x65,
      1,
      0x66,
      0,
      0,
      3,
      2,
      1,
      0,
      7,
      5,
      1,
      1,
      0x67,
      0,
      1,
      10,
      code.length + 2,
      1,
      code.length,
      ...code,
    ]),
  )
}

/** Kernels are called through the table; only tiles have three parameters and no result. */
function slowDown(times: number): void {
  const { Instance } = WebAssembly
  const module = repeater(times)
  WebAssembly.Instance = class extends Instance {
    constructor(of: WebAssembly.Module, imports?: WebAssembly.Imports) {
      super(of, imports)
      const table = this.exports['__indirect_function_table'] as WebAssembly.Table | undefined
      for (let index = 0; table !== undefined && index < table.length; index++) {
        const f = table.get(index)
        if (f === null) continue
        try {
          table.set(index, new Instance(module, { e: { f } }).exports['g'])
        } catch (error) {
          // A function with a different signature is not a tile.
          if (!(error instanceof WebAssembly.LinkError)) throw error
        }
      }
    }
  } as typeof WebAssembly.Instance
}

slowDown(3)
