// `halfbyte/assist`: what a chat does instead of asking a model, because it must not be wrong. Nothing here needs
// an engine, a page or a network.
export { type CareAnswer, careAnswer } from './care/care.ts'
export { type Need, type RecognizedNeed, recognizeNeed } from './care/recognize.ts'
export { type ExactAnswer, type ExactContext, exactAnswer } from './exact/exact-answer.ts'
