// The parts of the library that the chat page uses besides the public API. The page imports them only through
// this file, so that the rest of the library can change independently.
export { fromBase64, toBase64 } from '../../core/base/base64.ts'
export { cosine } from '../../core/base/cosine.ts'
export { reasonOf } from '../../core/base/errors.ts'
export { parseJson } from '../../core/base/json.ts'
export { SerialQueue } from '../../core/base/time/serial-queue.ts'
export { detectFeatures } from '../../core/runtime/features.ts'
export { isFileOf } from '../../core/store/address.ts'
export { CATALOGUE, type CatalogueModel, catalogued } from '../../core/store/catalogue.ts'
export { parseHubAddress } from '../../core/store/hub.ts'
export { resolveSource } from '../../engine/api/request/load-request.ts'
export { PICTURE_PLACE } from '../../engine/chat/picture-marks.ts'
export { prepareEngineWorker } from '../../engine/wire/script.ts'
