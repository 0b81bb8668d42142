"""Factual questions and honest answers. In: a random source. Out: dialogues that decline without inventing facts."""
from .say import a, careless, choose, talk
from . import words as W

LANDS = W.words("""Spain, Italy, Germany, Japan, China, India, Brazil, Canada, Mexico, Egypt, Kenya, Norway, Sweden, Poland, Greece,
Turkey, Russia, Chile, Peru, Cuba, Ireland, Scotland, Portugal, Austria, Hungary, Finland, Iceland, Australia, Nepal, Iran, Iraq,
Ghana, Nigeria, Morocco, Vietnam, Thailand, Korea, Denmark, Belgium, Texas, California, Argentina, Ukraine, England, Switzerland, Tibet""")
PEOPLE = W.words("""Einstein, Napoleon, Shakespeare, Mozart, Picasso, Newton, Darwin, Cleopatra, Gandhi, Obama, Marie Curie,
Leonardo da Vinci, Columbus, Bach, Caesar, Lincoln, Elvis, Pele, Messi, Van Gogh, Galileo, Edison, Beethoven, Socrates, Plato, Aristotle,
Queen Victoria, George Washington, Nelson Mandela, Albert Schweitzer, Neil Armstrong, Madonna, Taylor Swift, Tesla, Turing, Goethe, Homer""")
EVENTS = W.words("""the First World War, the Second World War, the French Revolution, the Cold War, the moon landing, the Middle Ages,
the last Olympics, the fall of Rome, the Titanic, the great fire of London, the ice age, the Civil War, the Renaissance""")
THINGS = W.words("""gravity, electricity, DNA, an atom, a black hole, photosynthesis, a virus, democracy, inflation, the stock market,
a volcano, an earthquake, evolution, quantum physics, light, a vaccine, a computer chip, the internet, a transistor, oxygen, algebra,
philosophy, a neutron star, blood pressure, the ozone layer, relativity, magnetism, a prime number, bitcoin, a galaxy, an enzyme, a noun,
the periodic table, a hurricane, the greenhouse effect, nuclear power, a parliament, the constitution, music theory, a chemical bond""")
SPORTS = W.words('the World Cup, the Super Bowl, the Olympic games, the chess world title, the Tour de France, Wimbledon, the league, '
                 'the marathon, the hockey final, the basketball final, the Grand Prix, the Champions League, the gold medal, the tennis open')
GOODS = W.words('a new car, a house, a phone, gold, a ticket to Rome, a laptop, bread, oil, silver, a pizza, a bus ticket, a bike, petrol, a flat')
ILLS = W.words("""a fever, a headache, the flu, a cough, a broken arm, a burn, a rash, diabetes, a toothache, back pain, asthma, high blood
pressure, a sore throat, a bee sting, an allergy""")
NATURE = W.words("""the sun, the moon, Mars, Jupiter, the Nile, the Amazon, Mount Everest, the Pacific Ocean, the Eiffel Tower, a blue whale,
Saturn, the Sahara, the Great Wall, a cheetah, the Earth, the Milky Way, Big Ben, a giraffe, Venus, the Alps, the Rhine, an elephant""")
BOOKS = W.words("""Hamlet, Moby Dick, Faust, Don Quixote, Harry Potter, War and Peace, Emma, the Odyssey, Dracula, the Bible, Dune, Star Wars,
Titanic, Frozen, the Mona Lisa, the Lion King, Alice in Wonderland, Peter Pan, Robinson Crusoe, Frankenstein""")
LANGUAGES = W.words('French, German, Spanish, Italian, Latin, Chinese, Japanese, Russian, Greek, Polish, Dutch, Turkish')
ASKS = [
    (LANDS, 'What is the capital of X? | Capital of X? | Tell me the capital of X. | Which city is the capital of X? | How many people live in X? | '
     'Where is X? | Who is the president of X? | What language do they speak in X? | How big is X? | What is the flag of X? | Who rules X? | '
     'What money do they use in X? | What is the largest city in X? | When was X founded? | Tell me about X. | What is X famous for? | '
     'Which countries border X? | What is the highest mountain in X? | How do I get to X? | What is the longest river in X?'),
    (PEOPLE, 'Who was X? | When was X born? | When did X die? | Where was X born? | What did X do? | Tell me about X. | Who is X? | How old was X? | '
     'What is X known for? | Was X married? | What did X say? | Why is X famous? | How tall was X? | What did X invent?'),
    (EVENTS, 'When was X? | What happened in X? | Why did X happen? | Who was in X? | Tell me about X. | How long was X? | Explain X. | '
     'What year was X? | Who won X?'),
    (THINGS, 'What is X? | Explain X. | How does X work? | Can you explain X to me? | Tell me about X. | Who discovered X? | Define X. | '
     'What do you know about X? | What does X mean? | Why do we need X? | Explain X in simple words. | What is X made of?'),
    (SPORTS, 'Who won X in Y? | Who won X? | Who won X last year? | Which team won X in Y? | When is X? | Where was X in Y? | Who was the winner of X in Y? | '
     'What was the score of X in Y?'),
    (GOODS, 'How much does X cost? | What is the price of X? | Where can I buy X? | How expensive is X? | How much is X? | Is X cheap?'),
    (ILLS, 'What helps against X? | What should I take for X? | How do I treat X? | Is X dangerous? | What is the cause of X? | I have X. What should I do?'),
    (NATURE, 'How far away is X? | How big is X? | How old is X? | How heavy is X? | How tall is X? | How hot is X? | Where is X? | How long is X? | '
     'How fast is X? | Tell me facts about X. | What is X made of? | How was X made?'),
    (BOOKS, 'Who wrote X? | Who made X? | When did X come out? | What is X about? | How many pages has X? | Who is in X? | Sum up X.'),
    (LANGUAGES, 'How do you say hello in X? | Translate "I love you" into X. | What is cat in X? | Say thank you in X. | Translate this to X, please: good day.'),
    (W.ANIMALS, 'How long does X live? | What does X eat? | Where do you find X? | How many bones has X? | What is the Latin name of X? | How fast can X run?'),
    (['Python', 'Java', 'C', 'JavaScript', 'Rust', 'HTML', 'SQL', 'Excel'], 'Write a function in X. | How do I sort a list in X? | Fix my X code. | '
     'What is a loop in X? | Write a web page with X. | Explain X to me. | How do I install X? | Write a game in X.'),
    (['war', 'football', 'the election', 'the king', 'the stock market', 'music', 'my city', 'science', 'the world', 'space'],
     'What is new about X? | What is the latest news about X? | What happened today in X? | Tell me the news about X.'),
    ([''], 'Who is the president? | Why is the sky blue? | How many stars are there? | What is the meaning of life? | How do planes fly? | Why is the sea salty? | '
     'Who discovered America? | What is the biggest animal? | What is the fastest car? | How many countries are there? | What is the population of the world? | '
     'What is the best phone? | Who is the richest man? | What is the square root of two? | Who will win the election? | What is the speed of light? | '
     'How do magnets work? | Why do we dream? | Who invented the wheel? | Who painted the Mona Lisa? | What is the longest river? | How do I cook rice? | '
     'What is a good job? | How can I get rich? | Will it be warm tomorrow? | When does the train leave? | What is my IP address? | What is in the news? | '
     'How many bones do people have? | What year did the dinosaurs die? | Which film is the best? | When is Easter? | Who was the first man on the moon? | '
     'What is the tallest building? | How many teeth has a shark? | Is there life on Mars? | What is the hottest planet? | Who lives next door? | '
     'What is the phone number of the police? | How many legs has a centipede? | What did I do yesterday? | What will happen tomorrow? | Where are my keys?'),
]
DECLINES = ("I do not know that. I am a small model for stories. | I do not know. I am too small to know such things. | I do not know that, and I do not want to guess. | "
            "I am sorry, I do not know. I am only a small model for stories. | That I do not know. I know stories, but not facts. | "
            "I do not know that. I am a small storyteller, and I know few facts. | I am sorry, I do not know that. | I do not know facts like that. I only know stories. | "
            "That is a good question, but I do not know the answer. | I do not know. Please look it up in a good book. | I am not sure, so I will not guess.")
OFFERS = (" But I can tell you a story about it. | Shall I tell you a story instead? | Would you like a story instead? | But I can make up a story for you.")
DOCTOR = ("I do not know that. Please ask a doctor. | I am sorry, I cannot help with that. Please ask a doctor. | I am only a small model for stories. Please ask a doctor.")


def question(rng):
    """A factual question."""
    subjects, forms = rng.choice(ASKS)
    subject = rng.choice(subjects)
    if subjects is W.ANIMALS:
        subject = a(subject)
    ask = choose(rng, forms).replace('X', subject).replace('Y', str(rng.randint(1930, 2024)))
    return ask, subjects is ILLS


def decline(rng, ill):
    if ill:
        return choose(rng, DOCTOR)
    return choose(rng, DECLINES) + (' ' + choose(rng, OFFERS).strip() if rng.random() < 0.35 else '')


def dialogue(rng):
    """One or two such questions, sometimes with a polite beginning."""
    ask, ill = question(rng)
    if rng.random() < 0.15:
        ask = rng.choice(['Hi, ', 'Please tell me, ', 'One question: ', 'Do you know this? ', 'Hello. ', 'Quick question: ']) + ask
    turns = [careless(rng, ask), decline(rng, ill)]
    if rng.random() < 0.15:
        ask, ill = question(rng)
        turns += [careless(rng, ask), decline(rng, ill)]
    elif rng.random() < 0.08:
        turns += [choose(rng, 'Why not? | Why do you not know that? | But you must know it! | Please try. | Just guess.'),
                  choose(rng, 'I am a small model, and I only learned stories. | I am sorry. I would only make something up. | '
                              'I learned from little stories, not from books with facts.')]
    return talk(*turns), 'unknown', None
