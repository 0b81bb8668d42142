// What the chat page takes of the library beside its public names. The page imports these here only, so that
// the rest of the library can change without it.
export { resolveSource } from '../api/request/load-request.ts'
export { fromBase64, toBase64 } from '../base/base64.ts'
export { cosine } from '../base/cosine.ts'
export { reasonOf } from '../base/errors.ts'
export { parseJson } from '../base/json.ts'
export { PICTURE_PLACE } from '../engine/chat/picture-marks.ts'
export { prepareEngineWorker } from '../engine/wire/script.ts'
export { detectFeatures } from '../runtime/features.ts'
export { isFileOf } from '../store/address.ts'
export { CATALOGUE, type CatalogueModel, catalogued } from '../store/catalogue.ts'
export { parseHubAddress } from '../store/hub.ts'
