// Foreign files. In: the name and first bytes of a file that cannot be read. Out: an error that says what it
// is.
import { HalfbyteError } from '../base/errors.ts'

const NEXT = 'give a .gguf, .safetensors (with config.json) or .hbm file'

/** Returns `unsupported` for another program's model, `format` for a file that is not a model. */
export function foreignFile(name: string, size: number, head: Uint8Array): HalfbyteError {
  const text = new TextDecoder('latin1').decode(head)
  const start = text.trimStart().slice(0, 64).toLowerCase()
  const starts = (...bytes: number[]) => bytes.every((byte, index) => head[index] === byte)
  if (size === 0) return notModel(name, 'it is empty', 'download it again')
  if (start.startsWith('<!doctype') || start.startsWith('<html') || start.startsWith('<?xml')) {
    return notModel(name, 'it is a web page, not a model', "use the file's download link (resolve, not blob)")
  }
  if (start.startsWith('version https://git-lfs')) {
    return notModel(
      name,
      'it is a Git LFS pointer, not the model itself',
      'fetch it with git lfs pull or from the hub',
    )
  }
  if (start.startsWith('{') || start.startsWith('['))
    return notModel(name, 'it is JSON without a model beside it', NEXT)
  if (starts(0x50, 0x4b, 3, 4))
    return otherModel(name, 'it is a zip archive, as PyTorch saves models (.bin, .pt)')
  if (starts(0x80, 2) || starts(0x80, 4))
    return otherModel(name, 'it is a Python pickle, as PyTorch saves models')
  if (text.slice(4, 8) === 'TFL3') return otherModel(name, 'it is a TensorFlow Lite model')
  if (text.slice(1, 4) === 'HDF') return otherModel(name, 'it is an HDF5 file, as Keras saves models')
  if (starts(8, 3) || (head[0] === 8 && head[2] === 0x12))
    return notModel(name, 'it may be an ONNX model', 'give it a name that ends in .onnx')
  if (['lmgg', 'fmgg', 'tjgg', 'algg'].includes(text.slice(0, 4))) {
    return otherModel(name, 'it is a GGML file from before GGUF')
  }
  if (starts(0x1f, 0x8b)) return notModel(name, 'it is compressed with gzip', 'unpack it first')
  const hex = Array.from(head.subarray(0, 4), (byte) => byte.toString(16).padStart(2, '0')).join(' ')
  return notModel(name, `it is no model Halfbyte knows (${size} bytes, beginning ${hex})`, NEXT)
}

function notModel(name: string, what: string, next: string): HalfbyteError {
  return new HalfbyteError('format', `${name}: ${what}; ${next}`, { file: name })
}

function otherModel(name: string, what: string): HalfbyteError {
  return new HalfbyteError('unsupported', `${name}: ${what}, which Halfbyte does not read; ${NEXT}`, {
    file: name,
  })
}
