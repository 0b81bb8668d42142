// Fifty prompts for measuring drafts: chat, edits of code, summaries, and JSON that follows a schema.

import { BRIDGE, BUG, COFFEE, INVOICE, MEETING, OCTOPUS, ORDERS, RECIPE, SOLAR, TRAINS } from './articles.ts'
import { EVENTS, INVENTORY, PARSER, QUEUE, SQL, STYLES, TEMPERATURES } from './code.ts'
import { CALENDAR, CONTACTS, INVOICE_FIELDS, ORDER_LIST, PERSON, RECIPE_FIELDS, TICKET } from './schemas.ts'

export const KINDS = ['chat', 'code edits', 'summaries', 'JSON'] as const
export type Kind = (typeof KINDS)[number]

export interface DraftPrompt {
  readonly kind: Kind
  readonly question: string
  readonly schema?: object
}

const CHATS = [
  'Explain why the sky is blue.',
  'What should I pack for a weekend of hiking in autumn?',
  'Write a short story about a lighthouse keeper who finds a letter.',
  'What is the difference between TCP and UDP?',
  'Give me five ideas for a birthday party for a child who loves dinosaurs.',
  'How do I remove a coffee stain from a white shirt?',
  'Write a polite email that asks for a meeting next week.',
  'Compare Python and JavaScript for a beginner.',
  'What are the main causes of inflation?',
  'Explain recursion with an example in Python.',
  'Plan three days in Lisbon for a family.',
  'How does a refrigerator work?',
]

const edit = (code: string, task: string) =>
  `${task}\n\n\`\`\`\n${code}\n\`\`\`\n\nReply with the whole code.`

const EDITS = [
  edit(INVENTORY, 'Rename the class Inventory to Stock and the method remove to take.'),
  edit(INVENTORY, 'Add a type hint to every method of this class.'),
  edit(PARSER, 'Fix the bug: values that contain an equals sign are cut off.'),
  edit(PARSER, 'Make the parser ignore lines that start with a semicolon, too.'),
  edit(QUEUE, 'Add a method clear() that removes all tasks.'),
  edit(QUEUE, 'Rename running to active in this code.'),
  edit(EVENTS, 'Convert this code to TypeScript.'),
  edit(EVENTS, 'Add a method once() whose listener runs only one time.'),
  edit(SQL, 'Only count orders that were shipped, and sort by total in ascending order.'),
  edit(STYLES, 'Change the accent colour to #0a7f5a and make all corners square.'),
  edit(STYLES, 'Add a rule that makes the cards stack below 600 pixels.'),
  edit(TEMPERATURES, 'Add a docstring to each function.'),
  edit(TEMPERATURES, 'Use degrees Fahrenheit instead of Celsius in this code.'),
]

const summary = (text: string, how: string) => `${how}\n\n${text}`

const SUMMARIES = [
  ...[BRIDGE, COFFEE, OCTOPUS, SOLAR, TRAINS, MEETING].map((text) =>
    summary(text, 'Summarise this text in three sentences:'),
  ),
  ...[BRIDGE, COFFEE, OCTOPUS, SOLAR, TRAINS, MEETING].map((text) =>
    summary(text, 'List the key facts of this text as bullet points:'),
  ),
]

const json = (question: string, schema: object): DraftPrompt => ({ kind: 'JSON', question, schema })

const RECORDS = [
  json('Describe Marie Curie as JSON.', PERSON),
  json('Describe Alan Turing as JSON.', PERSON),
  json('List three famous physicists as JSON.', { type: 'array', items: PERSON, minItems: 3, maxItems: 3 }),
  json(`Extract the invoice as JSON.\n\n${INVOICE}`, INVOICE_FIELDS),
  json(`Extract the orders as JSON.\n\n${ORDERS}`, ORDER_LIST),
  json(`Turn this recipe into JSON.\n\n${RECIPE}`, RECIPE_FIELDS),
  json('Give me a recipe for pancakes as JSON.', RECIPE_FIELDS),
  json(`File this bug report as a ticket in JSON.\n\n${BUG}`, TICKET),
  json('Write a ticket in JSON for a login page that shows a blank screen on phones.', TICKET),
  json(`Extract the people of this meeting as JSON.\n\n${MEETING}`, CONTACTS),
  json('Invent three people for an address book, as JSON.', CONTACTS),
  json(`Extract what was agreed as calendar entries in JSON.\n\n${MEETING}`, CALENDAR),
  json('Plan a working week with four calendar entries, as JSON.', CALENDAR),
]

export const PROMPTS: readonly DraftPrompt[] = [
  ...CHATS.map((question): DraftPrompt => ({ kind: 'chat', question })),
  ...EDITS.map((question): DraftPrompt => ({ kind: 'code edits', question })),
  ...SUMMARIES.map((question): DraftPrompt => ({ kind: 'summaries', question })),
  ...RECORDS,
]
