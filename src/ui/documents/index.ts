// The part of a chat that loads with its first document: it reads files and finds passages. The widget
// imports it as a separate script.
export { chosenPassages, PASSAGES_SHARE } from './choose.ts'
export { readDocument } from './read-file.ts'
export { searchIn } from './search.ts'
