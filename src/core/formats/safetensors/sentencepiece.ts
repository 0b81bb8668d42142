// Converts a tokenizer.model and its tokenizer_config.json to the specification that a GGUF of the same
// tokenizer gives. Token types have the same numbers in both.
import { isCount, isObject, type JsonObject } from '../../base/values.ts'
import { type GgufTokenizerSpec, MAX_TOKENS, shown, unsupported } from '../../text/spec.ts'
import { Message } from '../protobuf.ts'

const NORMAL = 1
const CONTROL = 3
const USER_DEFINED = 4
const BPE = 2
const NEXT = "give the model's tokenizer.json, or its GGUF file"

interface Piece {
  text: string
  score: number
  type: number
}

/** `file`: its name in errors. Throws `format` if the file is corrupt, `unsupported` if it isn't BPE. */
export function readSentencePiece(
  file: string,
  bytes: Uint8Array,
  config: JsonObject = {},
): GgufTokenizerSpec {
  const pieces: Piece[] = []
  // The values of absent fields.
  const trained = { type: 1, unknownId: 0, bosId: 1, eosId: 2 }
  const normal = { charsmap: 0, addsPrefix: true, trims: true }
  new Message(file, bytes).fields((field, message) => {
    if (field === 1) {
      if (pieces.length === MAX_TOKENS) throw message.wrong(`it has more than ${MAX_TOKENS} pieces`)
      pieces.push(readPiece(message.message()))
    } else if (field === 2) {
      message.message().fields((of, value) => {
        if (of === 3) trained.type = value.int()
        else if (of === 40) trained.unknownId = value.int()
        else if (of === 41) trained.bosId = value.int()
        else if (of === 42) trained.eosId = value.int()
      })
    } else if (field === 3) {
      message.message().fields((of, value) => {
        if (of === 2) normal.charsmap = value.bytes().byteLength
        else if (of === 3) normal.addsPrefix = value.int() !== 0
        else if (of === 4) normal.trims = value.int() !== 0
      })
    }
  })
  if (trained.type !== BPE)
    throw unsupported(`of ${file} has the model type ${trained.type}; only 2 (BPE) is supported`, NEXT)
  if (normal.charsmap > 0 || normal.trims)
    throw unsupported(`of ${file} normalises text with a table or by trimming spaces`, NEXT)
  addTokens(pieces, config)
  const named = (key: string, id: number): number | undefined => {
    const value = config[key]
    const text = isObject(value) ? value['content'] : value
    const found = typeof text === 'string' ? pieces.findLastIndex((piece) => piece.text === text) : -1
    return found >= 0 ? found : id >= 0 ? id : undefined
  }
  const template = config['chat_template']
  const flag = (key: string) => (typeof config[key] === 'boolean' ? config[key] : undefined)
  return {
    kind: 'gguf',
    model: 'llama',
    tokens: pieces.map(({ text }) => text),
    scores: pieces.map(({ score }) => score),
    types: pieces.map(({ type }) => type),
    bosId: named('bos_token', trained.bosId),
    eosId: named('eos_token', trained.eosId),
    unknownId: named('unk_token', trained.unknownId),
    addBos: flag('add_bos_token'),
    addEos: flag('add_eos_token'),
    addSpacePrefix: normal.addsPrefix,
    chatTemplate: typeof template === 'string' ? template : undefined,
  }
}

function readPiece(message: Message): Piece {
  const piece = { text: '', score: 0, type: NORMAL }
  message.fields((field, value) => {
    if (field === 1) piece.text = value.text()
    else if (field === 2) piece.score = value.float()
    else if (field === 3) piece.type = value.int()
  })
  return piece
}

/** Tokens that were added after training are only in tokenizer_config.json. */
function addTokens(pieces: Piece[], config: JsonObject): void {
  const added = isObject(config['added_tokens_decoder']) ? config['added_tokens_decoder'] : {}
  for (const [key, token] of Object.entries(added)) {
    const id = Number(key)
    const { content: text, special } = isObject(token) ? token : {}
    if (!isCount(id) || id >= MAX_TOKENS || typeof text !== 'string')
      throw unsupported(`has an added token ${shown(key)} without text or an id`, NEXT)
    while (pieces.length < id) pieces.push({ text: '', score: 0, type: NORMAL })
    const known = pieces[id]
    // Unknown tokens and bytes keep their type.
    if (known !== undefined && known.text === text && known.type !== NORMAL) continue
    pieces[id] = { text, score: known?.score ?? 0, type: special === true ? CONTROL : USER_DEFINED }
  }
}
