// `halfbyte/assist`: answers for a chat that must not be wrong and are given without asking a model. Nothing
// here needs an engine, a page or a network.
export { type CareAnswer, careAnswer } from './care/care.ts'
export { type Need, type RecognizedNeed, recognizeNeed } from './care/recognize.ts'
export { type ExactAnswer, type ExactContext, exactAnswer } from './exact/exact-answer.ts'
