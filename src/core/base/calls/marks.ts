// The marks around tool calls, by form. The call parser and the grammar writer share them, so forced calls
// can always be parsed.
//
//   hermes      <tool_call>{"name": .., "arguments": {..}}</tool_call>      Hermes, Qwen 2.5 and 3, Granite 4
//               <tool_call><function=f><parameter=a>1</parameter></function></tool_call>      Qwen3-Coder
//               <tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>          GLM
//   function    <function=f>{..}</function>, also with tags of parameters   Llama 3.1, Qwen3-Coder
//   tools       <tools>{"name": .., "arguments": {..}}</tools>              small models of Qwen
//   functionCall, tool, json      the same with these tags, as llama.cpp reads them too
//   mistral     [TOOL_CALLS][{"name": .., "arguments": {..}}], or since 2506 [TOOL_CALLS]f[ARGS]{..}
//   llama       <|python_tag|>{"name": .., "parameters": {..}}, or f.call(a=1)
//   phi4mini    <|tool_call|>[{"name": .., "arguments": {..}}]<|/tool_call|>      also Granite 3
//   phi4        functools[{"name": .., "arguments": {..}}]
//   lfm2        <|tool_call_start|>[f(a=1)]<|tool_call_end|>
//   olmo3       <function_calls>f(a=1)</function_calls>, a call a line
//   gemma       <start_function_call>call:f{a:1,b:<escape>text<escape>}<end_function_call>    FunctionGemma
//   gemma4      <|tool_call>call:f{a:1,b:<|"|>text<|"|>}<tool_call|>
//   command     <|START_ACTION|>[{"tool_name": .., "parameters": {..}}]<|END_ACTION|>         Command R7B
//   seed        <seed:tool_call><function=f>..</function></seed:tool_call>  Seed-OSS
//   nemotron    <TOOLCALL>[{"name": .., "arguments": {..}}]</TOOLCALL>      Nemotron
//   apertus     <|tools_prefix|>[{"f": {..}}]<|tools_suffix|>               Apertus
//   kimi        <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{..}<|tool_call_end|>
//   deepseek    <｜tool▁call▁begin｜>f<｜tool▁sep｜>{..}<｜tool▁call▁end｜>
//   list        <tool_calls>[{"name": .., "arguments": {..}}]</tool_calls>  Jamba, Apriel, MiniMax M1
//               <tool_calls><tool_call>f```json{..}```</tool_call></tool_calls>               Hunyuan
//   toolcall    <toolcall>{"name": .., "arguments": {..}}</toolcall>        Nemotron Mini
//   longcat     <longcat_tool_call>{..}</longcat_tool_call>, or f and pairs as GLM            LongCat
//   plugin      <|action_start|><|plugin|>{"name": .., "parameters": {..}}<|action_end|>      InternLM
//   gigachat    <|function_call|>{"name": .., "arguments": {..}}            GigaChat
//   clova       -> tool/function_call[{"name": .., "arguments": {..}}]      HyperCLOVA X
//   action      Action: ```json[{"tool_name": .., "parameters": {..}}]```   Command R
//   llama4      <|python_start|>[f(a=1)]<|python_end|>                      Llama 4
//   minimax     <minimax:tool_call><invoke name="f"><parameter name="a">1</parameter></invoke>
//               </minimax:tool_call>                                        MiniMax M2
//   dsml        the same with <｜DSML｜invoke ..> and so on                   DeepSeek V3.2
//   minicpm     <function name="f"><param name="a">1</param></function>     MiniCPM 5
//
// Calls of `kimi` and `deepseek` may be enclosed in section marks.

interface CallMarks {
  /**
   * Texts that begin a block of calls. Models that lack a token for the first one may spell it differently.
   */
  readonly open: readonly string[]
  /** The text that ends the block. Absent in forms that end with their last call. */
  readonly close?: string
  /** Further texts within the block that a tokenizer may have as special tokens. */
  readonly inner?: readonly string[]
  /** The characters that may follow the opening text, for openings that also occur in prose or code. */
  readonly starts?: string
}

const deepSeek = (name: string): readonly string[] =>
  [`▁`, '_', ' '].map((blank) => `<｜${name.replaceAll(' ', blank)}｜>`)

/** DeepSeek's marks, as its own token spells them and as distilled models do. */
export const DEEPSEEK = {
  section: deepSeek('tool calls begin'),
  sectionEnd: deepSeek('tool calls end'),
  call: deepSeek('tool call begin'),
  separator: deepSeek('tool sep'),
  callEnd: deepSeek('tool call end'),
}

export const KIMI = {
  section: '<|tool_calls_section_begin|>',
  sectionEnd: '<|tool_calls_section_end|>',
  call: '<|tool_call_begin|>',
  separator: '<|tool_call_argument_begin|>',
  callEnd: '<|tool_call_end|>',
}

export const MISTRAL = { call: '[TOOL_CALLS]', id: '[CALL_ID]', separator: '[ARGS]' }

/** The quotes that Gemma's forms put around strings. */
export const GEMMA_QUOTES = { gemma: '<escape>', gemma4: '<|"|>' } as const

export const LLAMA4_END = '<|python_end|>'

/** The mark between a name and its arguments in Hunyuan's calls. */
export const HUNYUAN_SEPARATOR = '<tool_sep>'

const DSML = '｜DSML｜'

/** The tags of forms with the names of calls and parameters in attributes. */
export interface CallTags {
  readonly call: string
  readonly parameter: string
  /** Each parameter has an attribute that says whether its value is a string. */
  readonly saysTexts?: boolean
}

export const CALL_TAGS = {
  minimax: { call: 'invoke', parameter: 'parameter' },
  dsml: { call: `${DSML}invoke`, parameter: `${DSML}parameter`, saysTexts: true },
  minicpm: { call: 'function', parameter: 'param' },
} as const satisfies Readonly<Record<string, CallTags>>

/** The names of the tags around an argument's name and value, in GLM's and LongCat's forms. */
export interface PairTags {
  readonly key: string
  readonly value: string
}

export const GLM_PAIRS: PairTags = { key: 'arg_key', value: 'arg_value' }
export const LONGCAT_PAIRS: PairTags = { key: 'longcat_arg_key', value: 'longcat_arg_value' }

const pairTexts = ({ key, value }: PairTags): readonly string[] =>
  [key, value].flatMap((name) => [`<${name}>`, `</${name}>`])

const MARKS = {
  hermes: {
    open: ['<tool_call>'],
    close: '</tool_call>',
    inner: pairTexts(GLM_PAIRS),
  },
  function: { open: ['<function='], close: '</function>' },
  tools: { open: ['<tools>'], close: '</tools>' },
  functionCall: { open: ['<function_call>'], close: '</function_call>', starts: '{[' },
  tool: { open: ['<tool>'], close: '</tool>', starts: '{[' },
  json: { open: ['<json>'], close: '</json>', starts: '{[' },
  mistral: { open: [MISTRAL.call], inner: [MISTRAL.separator, MISTRAL.id] },
  llama: { open: ['<|python_tag|>'], starts: '{' },
  phi4mini: { open: ['<|tool_call|>'], close: '<|/tool_call|>' },
  phi4: { open: ['functools'], starts: '[' },
  lfm2: { open: ['<|tool_call_start|>'], close: '<|tool_call_end|>' },
  olmo3: { open: ['<function_calls>'], close: '</function_calls>' },
  gemma: { open: ['<start_function_call>'], close: '<end_function_call>', inner: [GEMMA_QUOTES.gemma] },
  gemma4: { open: ['<|tool_call>'], close: '<tool_call|>', inner: [GEMMA_QUOTES.gemma4] },
  command: { open: ['<|START_ACTION|>'], close: '<|END_ACTION|>' },
  seed: { open: ['<seed:tool_call>'], close: '</seed:tool_call>' },
  nemotron: { open: ['<TOOLCALL>'], close: '</TOOLCALL>' },
  apertus: { open: ['<|tools_prefix|>'], close: '<|tools_suffix|>' },
  kimi: {
    open: [KIMI.section, KIMI.call],
    inner: [KIMI.sectionEnd, KIMI.separator, KIMI.callEnd],
  },
  deepseek: {
    open: [...DEEPSEEK.section, ...DEEPSEEK.call],
    inner: [...DEEPSEEK.sectionEnd, ...DEEPSEEK.separator, ...DEEPSEEK.callEnd],
  },
  list: { open: ['<tool_calls>'], close: '</tool_calls>', inner: [HUNYUAN_SEPARATOR] },
  toolcall: { open: ['<toolcall>'], close: '</toolcall>' },
  longcat: {
    open: ['<longcat_tool_call>'],
    close: '</longcat_tool_call>',
    inner: pairTexts(LONGCAT_PAIRS),
  },
  plugin: {
    open: ['<|action_start|><|plugin|>'],
    close: '<|action_end|>',
    inner: ['<|action_start|>', '<|plugin|>'],
  },
  gigachat: {
    open: ['<|function_call|>', 'function call<|role_sep|>'],
    inner: ['<|role_sep|>'],
    starts: '{',
  },
  clova: { open: ['-> tool/function_call'], starts: '[' },
  action: { open: ['Action:'], starts: '`' },
  llama4: { open: ['<|python_start|>'], inner: [LLAMA4_END] },
  minimax: { open: ['<minimax:tool_call>'], close: '</minimax:tool_call>' },
  dsml: { open: [`<${DSML}function_calls>`, `<${DSML}tool_calls>`], inner: [DSML] },
  minicpm: { open: ['<function name="'], inner: ['<function', '</function>', '<param', '</param>'] },
} as const satisfies Readonly<Record<string, CallMarks>>

/** The name of a form of tool calls that begins with a mark. */
export type CallForm = keyof typeof MARKS

export const CALL_MARKS: Readonly<Record<CallForm, CallMarks>> = MARKS

export const CALL_FORMS = Object.keys(MARKS) as readonly CallForm[]

/** The texts that begin a block of calls. */
export const MARKERS: readonly string[] = CALL_FORMS.flatMap((form) => CALL_MARKS[form].open)

/**
 * Tokens that must be kept as text so that calls can be found, although some vocabularies mark them as
 * special.
 */
export const TOOL_CALL_TEXTS: readonly string[] = CALL_FORMS.flatMap((form) => {
  const { open, close, inner = [] } = CALL_MARKS[form]
  return [...open, ...(close === undefined ? [] : [close]), ...inner]
})

/** The form that a marker begins. */
export const formOf = (marker: string): CallForm =>
  CALL_FORMS.find((form) => CALL_MARKS[form].open.includes(marker)) as CallForm

/**
 * The letter that represents a marker at the start of a call grammar. Markers themselves could be mistaken
 * for part of the JSON that follows.
 */
export const letterOf = (marker: string): string => String.fromCharCode(65 + MARKERS.indexOf(marker))
