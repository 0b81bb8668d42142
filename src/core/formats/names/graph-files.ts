// The graphs of a repository in the layout of transformers.js: onnx/model_q4.onnx and its siblings, with
// config.json and tokenizer.json one level up.
import { HalfbyteError } from '../../base/errors.ts'
import { baseName } from './named-files.ts'

/** The folder of the graphs in such a repository. */
export const GRAPH_FOLDER = 'onnx/'

/**
 * File name endings by precision (`dtype` in transformers.js), in the order in which they are tried:
 * transformers.js also uses `q8` on a CPU, and float graphs are the largest.
 */
const ENDINGS = {
  q8: '_quantized',
  q4: '_q4',
  q4f16: '_q4f16',
  int8: '_int8',
  uint8: '_uint8',
  bnb4: '_bnb4',
  fp16: '_fp16',
  fp32: '',
} as const

/** The precision of a graph's weights, under its name in transformers.js. */
export type GraphDtype = keyof typeof ENDINGS

export const GRAPH_DTYPES = Object.keys(ENDINGS) as readonly GraphDtype[]

/** Precisions whose decoders, in older repositories, have graphs that choose between two branches. */
const MERGED: readonly GraphDtype[] = ['q8', 'fp16', 'fp32']

/** The graphs that may be used for such a repository, the preferred one first. */
export function graphNames(dtype?: GraphDtype): readonly string[] {
  const wanted = dtype === undefined ? GRAPH_DTYPES : [dtype]
  return [
    ...wanted.map((each) => `model${ENDINGS[each]}.onnx`),
    ...wanted
      .filter((each) => MERGED.includes(each))
      .map((each) => `decoder_model_merged${ENDINGS[each]}.onnx`),
  ]
}

/** A graph of a model, with the data files whose names start with its own. */
export interface GraphFiles {
  /** Its path in the model's folder, e.g. `onnx/model_q4.onnx`. */
  readonly file: string
  readonly bytes: number
  /** Bytes that are not yet on this device. */
  readonly downloadBytes: number
}

/** The precision in a graph's file name; undefined if there is none. */
export const dtypeOf = (file: string): GraphDtype | undefined =>
  GRAPH_DTYPES.find((dtype) => graphNames(dtype).includes(baseName(file)))

/** The graphs with standard names among local files, the preferred one first. */
export function graphsAmong(
  files: readonly { readonly name: string; readonly size: number }[],
  folder = '',
): GraphFiles[] {
  return graphNames().flatMap((name) => {
    if (!files.some((each) => baseName(each.name) === name)) return []
    // The names of data files begin with the graph's name: model.onnx_data, model.onnx.data.
    const bytes = files.reduce((sum, each) => sum + (baseName(each.name).startsWith(name) ? each.size : 0), 0)
    return [{ file: folder + name, bytes, downloadBytes: 0 }]
  })
}

/** Files that describe a graph's model, and may be one level above the folder of the graphs. */
export const COMPANIONS: ReadonlySet<string> = new Set([
  'config.json',
  'generation_config.json',
  'tokenizer.json',
  'tokenizer_config.json',
  'chat_template.jinja',
])

/**
 * The graph among the names of a model's files: the only one, or else the preferred one of `graphNames`.
 * Throws `format`, with the names, if there are several and none is preferred, or none has the requested
 * `dtype`.
 */
export function chooseGraph(names: readonly string[], dtype?: GraphDtype): string {
  const graphs = names.filter((name) => name.endsWith('.onnx'))
  const [only] = graphs
  if (only !== undefined && graphs.length === 1 && dtype === undefined) return only
  const wanted = graphNames(dtype)
  for (const name of wanted) {
    const found = graphs.find((graph) => baseName(graph) === name)
    if (found !== undefined) return found
  }
  const shown = graphs.map(baseName)
  throw new HalfbyteError(
    'format',
    dtype === undefined
      ? `the files have ${graphs.length} ONNX graphs (${shown.join(', ')}), and none is called model.onnx; pass one of them`
      : `the files have no graph ${wanted[0]} for dtype ${dtype}; they have ${shown.join(', ') || 'none'}`,
    { files: shown, ...(dtype && { dtype }) },
  )
}
