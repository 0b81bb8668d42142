// The prompts with which a model generates its pack's calibration text.

/** Requests that people make of a model; `{}` is the subject. */
const REQUESTS = [
  'Write the first two paragraphs of an encyclopedia article about {}.',
  'Explain {} to a child of ten in a few sentences.',
  'Tell a short story in which {} matters.',
  'What are the three most important facts about {}?',
  'Write a letter to a friend about {}.',
  'How has {} changed over the last hundred years?',
  'Give me step by step advice for a beginner who is interested in {}.',
  'Write a news report of about a hundred words about {}.',
  'What do people often get wrong about {}?',
  'Describe {} as a traveller would in a diary.',
  'Compare {} with something that it resembles, and say which is better and why.',
  'Ask five questions about {} and answer each in one sentence.',
] as const

/** Subjects from across an encyclopedia. */
const SUBJECTS = [
  'the river Danube',
  'the invention of the printing press',
  'a football team that wins after years of defeats',
  'the moons of Jupiter',
  'baking bread at home',
  'the Roman army',
  'honey bees',
  'a hospital in a small town',
  'jazz music',
  'the first railways',
  'learning to play chess',
  'a volcano near a city',
  'the writing of a novel',
  'electric cars',
  'the parliament of a young country',
  'whales and how they hear',
  'medieval castles',
  'a computer program that sorts letters',
  'coral reefs',
  'an actress of silent films',
  'the price of houses',
  'mountain climbing',
  'the human heart',
  'a battle at sea in 1805',
  'gardens in Japan',
  'the discovery of penicillin',
  'a video game that made its studio famous',
  'the laws of motion',
  'a bridge that took twelve years to build',
  'growing tomatoes',
  'the Sahara desert',
  'a school for children with one teacher',
] as const

/** Number of requests per subject. */
const TURNS = 2

/** Adjacent prompts differ in both, so that the first ones are a fair sample of all. */
export const PROMPTS: readonly string[] = Array.from({ length: TURNS * SUBJECTS.length }, (_, index) => {
  const turn = Math.floor(index / SUBJECTS.length)
  const subject = SUBJECTS[index % SUBJECTS.length] as string
  const request = REQUESTS[(index + turn * 3) % REQUESTS.length] as string
  return request.replace('{}', subject)
})
