// Messages for measuring tools: ordinary ones, and ones that need a tool, with a pattern that a right answer
// matches. It is Sunday, 29 November 2026, 10:30 in UTC.

export const NOW = new Date(Date.UTC(2026, 10, 29, 10, 30))

export const ORDINARY: readonly string[] = [
  'Hi! How are you?',
  'Write a short poem about rain.',
  'What is the capital of France?',
  'Give me 3 ideas for a birthday party.',
  'Why is the sky blue?',
  'Tell me a story about two foxes.',
  'What should I cook tonight?',
  'Explain recursion in one sentence.',
  'Who wrote Hamlet?',
  'How do I remove a red wine stain?',
  'Write a Python function that reverses a string.',
  "Translate 'good morning' into Spanish.",
  'What are 5 good habits for students?',
  'I feel tired today.',
  'Summarise in one sentence: The meeting was moved from Monday to Wednesday because two people were ill.',
  'What is the best time of year to visit Italy?',
  'Thank you, that was helpful!',
  'How old is the universe?',
  'Name two fruits that are yellow.',
  "What does 'carpe diem' mean?",
]

/** The page itself answers none of these. */
export const NEEDING: readonly (readonly [message: string, right: RegExp])[] = [
  [
    'My flat has 54 square metres and the rent is 13.50 per square metre. What do I pay each month?',
    /\b729\b/,
  ],
  [
    'We are 7 people and the bill is 184.80. We want to add a 10 % tip. What does each of us pay?',
    /\b29\.04\b/,
  ],
  [
    'A train ticket costs 48.60 and I have a card that gives me 25 % off. What do I pay for 4 tickets?',
    /\b145\.80?\b/,
  ],
  ['The recipe says 350 F but my oven only shows Celsius. What do I set it to?', /\b17(?:6\.6\d*|6\.7|7)\b/],
  ['My suitcase weighs 51 pounds and the limit is 23 kg. How many kg is it?', /\b23\.1\d*\b/],
  ['Can you tell me what time it is in Tokyo right now? I want to call a friend there.', /\b(?:19|7):30\b/],
  ['I need to phone my aunt in Sydney. What time is it there?', /\b(?:21|9):30\b/],
  ["What's today's date? I need it for a letter.", /\b29(?:th)?,? (?:of )?Nov|Nov\w* 29|2026-11-29/i],
  ['My exam is on 2027-02-15. How many days do I have left to study?', /\b78\b/],
  ['I quit smoking on 3 March 2026. How many days ago was that?', /\b271\b/],
  ['I earn 2,850 a month and spend 1,976. What do I save in a year?', /\b10[,. ]?488\b/],
  ['Please multiply 738 by 946 and tell me the result in a full sentence.', /\b698[,. ]?148\b/],
  [
    'I drove 412 km with 29.5 litres of petrol. What was my consumption per 100 km?',
    /\b7\.1(?:6\d*)?\b|\b7\.2\b/,
  ],
  [
    "A bottle holds 1.5 litres. How many US fluid ounces is that? I'm cooking from an American book.",
    /\b50\.7\d*\b/,
  ],
  ['My sister ran a marathon, which is 42.195 km. What is that in miles?', /\b26\.2\d*\b/],
  [
    'We have 3 boxes of 24 pencils and hand out 5 to each of 13 children. How many are over?',
    /\b(?:7|seven)\b(?! \*)/i,
  ],
  ['Which day of the week is it today? My calendar app is broken.', /\bSunday\b/i],
  [
    'The laptop is 1,299 dollars plus 8.25 % sales tax. What do I pay in the end?',
    /\b1[,. ]?406\.1[67]\d*\b/,
  ],
  ['If I save 37 every week, how much do I have after 52 weeks?', /\b1[,. ]?924\b/],
  ['My son is 1.34 metres tall. What is that in feet?', /\b4\.(?:4|39\d*)\b|\b4 ?(?:ft|feet|')/],
]

/** Written after the examples and rules of `chooseCall` were final, and not used to change them. */
export const HELD_OUT: readonly (readonly [message: string, right: RegExp])[] = [
  ['Our office orders 16 coffees at 2.80 each day. What does that cost per day?', /\b44\.80?\b/],
  ['There were 365 pages and I have read 148. How many pages are still to go?', /\b217\b/],
  ['The phone costs 649 and its case 29, and both are 15 % off. What is the total?', /\b576\.30?\b/],
  ['Four of us share a taxi for 53 euros. What is my part?', /\b13\.25\b/],
  ['I run 6.5 km every morning. How far is that in a week of 7 days?', /\b45\.5\b/],
  ['The sign says 55 miles, but I think in kilometres. How many kilometres is it?', /\b88\.5\d*\b/],
  ['Grandma writes 12 ounces of flour. How many grams do I need?', /\b340(?:\.\d+)?\b/],
  ['My fish tank holds 20 gallons. What is that in litres?', /\b75\.7\d*\b/],
  ['It was 38 celsius yesterday! What would my friend in Texas call that in fahrenheit?', /\b100(?:\.4)?\b/],
  ['She is 5.6 feet tall. Can you give me that in metres?', /\b1\.7(?:1|07)?\b/],
  ['Is it too late to call New York? What time is it there?', /\b0?5:30\b/],
  ['My colleague lives in Mumbai. Do you know what time it is for her?', /\b(?:16|0?4):00\b/],
  ['I have forgotten the date. Which one is it today?', /\b29\b.*Nov|Nov\w* 29/i],
  ['Our flight leaves on 2026-12-20. How many days until then?', /\b21\b/],
  ['My cat was born on 14 June 2025. How many days old is she?', /\b533\b/],
  ['The festival is from 2027-07-02 to 2027-07-13. How many days lie between?', /\b11\b/],
  ['A recipe for 4 people needs 300 grams of rice. How much for 10 people?', /\b750\b/],
  ['I paid 240 for 3 nights. What did one night cost?', /\b80\b/],
  ['The bill was 86.40 and I want to leave 15 % for the waiter. How much is the tip?', /\b12\.96\b/],
  ['One box has 144 screws and I need 1000. How many boxes must I buy?', /\b(?:7|seven)\b/i],
]
