// `halfbyte/assist`: answers for a chat that must not be wrong and are given without asking a model. Nothing
// here needs an engine, a page or a network.
export { type CareAnswer, careAnswer } from './care/care.ts'
export { type Need, type RecognizedNeed, recognizeNeed } from './care/recognize.ts'
export { type ExactAnswer, type ExactContext, exactAnswer } from './exact/exact-answer.ts'
export { type AssistOffer, assistOffer } from './tools/assist-offer.ts'
export {
  type AssistTool,
  type AssistToolName,
  type AssistToolOptions,
  assistTools,
} from './tools/assist-tools.ts'
export { type ChooseOptions, chooseCall, withResult } from './tools/choose-call.ts'
export { needsTool } from './tools/needs-tool.ts'
export { type ToolWay, toolWay } from './tools/tool-way.ts'
