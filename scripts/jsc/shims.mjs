// The parts of Node that the kernel tests need, for JavaScriptCore's shell, which has neither Node's modules
// nor URL. In: paths from the repository's root. Out: tests that run one after another and print TAP.

/** main.mjs sets it in the script's first line. */
export const { processor } = globalThis.HALFBYTE
globalThis.process = { arch: processor, env: {}, platform: 'linux' }
globalThis.URL = class {
  constructor(path) {
    this.path = path.replace(/^(?:\.\.\/)+/, '')
  }
}
globalThis.Buffer = {
  compare: (left, right) => {
    const at = left.findIndex((byte, index) => byte !== right[index])
    return at >= 0 || left.length !== right.length ? 1 : 0
  },
}

export const existsSync = () => true
export const readFileSync = ({ path }) => globalThis.readFile(path, 'binary')

const deepEqual = (actual, expected, message = '') => {
  const [left, right] = [actual, expected].map((value) =>
    JSON.stringify(ArrayBuffer.isView(value) ? [...value] : value),
  )
  if (left !== right) throw new Error(`${left} instead of ${right} ${message}`)
}
export const strict = {
  deepEqual,
  equal: deepEqual,
  ok: (value, message) => deepEqual(Boolean(value), true, message),
}

let count = 0
globalThis.failed = 0
export const test = (title, run) => {
  count++
  try {
    run()
    globalThis.print(`ok ${count} - ${title}`)
  } catch (error) {
    globalThis.failed++
    globalThis.print(`not ok ${count} - ${title}\n# ${error.message}\n# ${error.stack}`)
  }
}

/** Kernels compiled natively run only in Node. */
export const isNative = false
export const nativeExports = undefined
