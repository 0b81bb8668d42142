// The JSON Schemas of the prompts.

const TEXT = { type: 'string' } as const
const WHOLE = { type: 'integer' } as const
const NUMBER = { type: 'number' } as const

const record = (properties: Record<string, object>): object => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
})
const list = (items: object, maxItems: number): object => ({
  type: 'array',
  items,
  minItems: 1,
  maxItems,
})

export const PERSON = record({
  name: TEXT,
  birthYear: WHOLE,
  nationality: TEXT,
  occupation: TEXT,
  famousFor: TEXT,
})
export const INVOICE_FIELDS = record({
  number: TEXT,
  seller: TEXT,
  customer: TEXT,
  date: TEXT,
  lines: list(record({ article: TEXT, quantity: WHOLE, unitPrice: NUMBER, total: NUMBER }), 5),
  net: NUMBER,
  vat: NUMBER,
  total: NUMBER,
  currency: { enum: ['GBP', 'EUR', 'USD'] },
})
export const ORDER_LIST = list(
  record({
    orderNumber: WHOLE,
    customer: TEXT,
    city: TEXT,
    articles: list(record({ quantity: WHOLE, article: TEXT, model: TEXT, colour: TEXT }), 3),
    delivery: TEXT,
  }),
  5,
)
export const RECIPE_FIELDS = record({
  title: TEXT,
  servings: WHOLE,
  minutes: WHOLE,
  ingredients: list(record({ name: TEXT, amount: NUMBER, unit: TEXT }), 12),
  steps: list(TEXT, 8),
})
export const TICKET = record({
  title: TEXT,
  component: TEXT,
  severity: { enum: ['low', 'medium', 'high', 'urgent'] },
  affectedVersions: list(TEXT, 3),
  browsers: list(TEXT, 3),
  stepsToReproduce: list(TEXT, 5),
  expected: TEXT,
  actual: TEXT,
})
export const CONTACTS = list(record({ firstName: TEXT, lastName: TEXT, role: TEXT, email: TEXT }), 4)
export const CALENDAR = list(
  record({
    title: TEXT,
    date: TEXT,
    start: TEXT,
    participants: list(TEXT, 3),
    isConfirmed: { type: 'boolean' },
  }),
  6,
)
