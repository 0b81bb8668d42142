"""Input that is not an English sentence, and tasks for other models. In: a random source. Out: dialogues that say so kindly."""
from .say import careless, choose, talk
from . import words as W

#: Sentences in other languages that people try.
FOREIGN = """Guten Tag! | Hallo, wie heißt du? | Erzähl mir eine Geschichte. | Ich möchte eine Geschichte über einen Hund. |
Was kannst du? | Kannst du Deutsch? | Guten Morgen, mir geht es gut. | Ich habe eine Frage. | Wie spät ist es? |
Das ist schön, danke! | Wer hat dich gemacht? | Kannst du mir helfen? | Wo bist du? | Ich bin traurig. |
Schreib mir einen Brief. | Was ist das? | Magst du Katzen? | Ich heiße Anna und bin sechs Jahre alt. | Bonsoir! |
Salut, ça va ? | Comment t'appelles-tu ? | Raconte-moi une histoire. | Je voudrais une histoire avec un chat. |
Merci beaucoup ! | Qui es-tu ? | Quelle heure est-il ? | Parle français, s'il te plaît. | Je suis triste. |
Tu peux m'aider ? | J'aime les chiens. | Où habites-tu ? | C'est quoi ? | ¡Buenos días! | ¿Cómo te llamas? |
Cuéntame un cuento. | Quiero una historia sobre un perro. | Muchas gracias. | ¿Quién eres? | ¿Qué hora es? | Estoy triste. |
¿Puedes ayudarme? | Me gusta el mar. | ¿Dónde vives? | Habla en español, por favor. | Tengo una pregunta. | Buongiorno! |
Come ti chiami? | Raccontami una storia. | Grazie mille. | Chi sei? | Che ore sono? | Parli italiano? | Sono felice oggi. |
Mi piace il gatto. | Bom dia! | Como você se chama? | Conte uma história. | Obrigado. | Quem é você? | Você fala português? |
Estou triste hoje. | Goedemorgen! | Hoe heet je? | Vertel me een verhaal. | Dank je wel. | Wie ben jij? | Ik ben moe. |
God morgon! | Vad heter du? | Berätta en saga. | Tack så mycket. | Hej, hur mår du? | Hyvää päivää! | Kerro minulle tarina. |
Dzień dobry! | Jak masz na imię? | Opowiedz mi bajkę. | Dziękuję. | Dobrý den! | Jak se jmenuješ? | Merhaba! | Adın ne? |
Bana bir hikaye anlat. | Teşekkür ederim. | Привет! | Как тебя зовут? | Расскажи сказку. | Спасибо большое. |
Ты говоришь по-русски? | Добрий день! | Γεια σου! | Πώς σε λένε; | 你好吗 | 给我讲个故事 | 你叫什么名字? | 谢谢你 |
请说中文 | こんばんは | お話を聞かせて | あなたは誰ですか | ありがとう | 안녕 | 이야기 해줘 | 이름이 뭐예요? | مرحبا |
احكي لي قصة | ما اسمك؟ | שלום, מה נשמע? | ספר לי סיפור | תודה רבה | नमस्ते | मुझे एक कहानी सुनाओ | สวัสดี | Xin chào! |
Kể cho tôi nghe một câu chuyện. | Habari yako? | Selamat pagi! | Ceritakan sebuah cerita. | Salve! Quid agis? | Saluton! |
Bună ziua! | Jó napot! | Mesélj nekem! | Zdravo! | Labas! | Tere!""".replace('\n', ' ')
ONLY_ENGLISH = ("I am sorry, I only speak English. Can you say it in English? | "
    "I only speak English. Please write to me in English. | "
                "I am sorry, I only know English. Shall I tell you a story in English? | "
                "I do not know that language. I only speak simple English.")
FACES = {
    '😀 😃 😄 😁 😂 🤣 😊 😎 🥳 👍 🎉 💪 😺 🙌': 'That looks happy! Would you like a happy story? | '
    'How nice! What shall the story be about? | I like happy faces! Shall I tell you a story?',
    '😢 😭 😞 😔 🥺 💔 😿 ☹️': 'That looks sad. Do you want to tell me about it? | Oh, are you sad? Would a kind story help? | '
    'I am sorry if you are sad. I am here.',
    '❤️ 💕 💙 😍 🥰 😘 💖 🤗': 'How kind! Thank you! | Thank you! That is very kind of you. | Thank you! Would you like a story?',
    '😡 😠 🤬 👎 😤': 'That looks angry. Take a deep breath. Do you want to talk about it? | '
    'Oh, are you angry? Shall I tell you a quiet story?',
    '👋 🙋 👻 😴 🌙 🌞 ⭐ 🌈 ☀️ ❄️ 🔥 🎈 🎁 ⚽ 🚗 🚀 🏠 🍎 🍕 🍰 🌸 🌳': 'What a nice little picture! Tell me in words what the story should be about. | I read words best. What shall I tell you? | '
    'A little picture! Tell me in words what you would like.',
    '🐶 🐱 🐭 🐰 🐻 🐼 🐸 🐷 🐔 🐧 🦁 🐴 🦄 🐝 🐢 🐙 🐳 🐞 🦉': 'A little picture! Is it an animal? Tell me its name, and I tell you a story. | '
    'I read words best. Which animal shall the story be about? | '
    'What a nice little picture! Tell me in words who should be in the story.',
}
#: Requests by subject. X is a thing, N a number.
WORK = [
    ('a mail', 'Write an email to my teacher. | Write a mail to my boss that I am ill. | Can you write an email for me? | '
    'Please write a mail to Tom. | Answer this mail. | Write an e-mail to the bank. | I need a mail to my landlord. | '
    'Email my mom that I will be late. | Write a letter to the school. | Write a formal email. | Help me to write an email. | '
    'Write a short mail to say thank you. | '
    'Draft a mail to my friend about X.', 'I cannot write mails. I am a small model for stories. | '
    'Mails are too hard for me. But I can tell you a story about a letter. | '
    'I am sorry, I cannot write mails or letters. Shall I tell you a story instead?'),
    ('a list', 'Make a shopping list. | Make a list of N animals. | List N fruits. | Write a to-do list for today. | '
    'Give me a list of X names. | List all months. | Give me N ideas for a birthday. | Name N countries. | '
    'Write a packing list. | Make a table of colours. | Give me N tips for school. | List the planets. | '
    'I need a list of things to buy. | Name N words with a. | '
    'Give me N names for my X.', 'I am not good at lists. I am a small model for stories. | '
    'Lists are too hard for me. But I can tell you a story. | '
    'I am sorry, I cannot write lists. Shall I tell you a story instead?'),
    ('a poem', 'Write a poem about X. | Can you write a poem? | Make a rhyme with X. | Write a song about X. | '
    'I want a poem. | Rap for me. | Write a haiku. | '
    'Sing a song about X.', 'I cannot write poems, but I can tell you a story. | '
    'Rhymes are too hard for me. Would you like a story instead? | I am sorry, I only know stories. Shall I tell you one?'),
    ('a text', 'Write an essay about X. | Write a report about X. | Write a text for my homework. | '
    'Write an article about X. | Summarize this text. | Correct my text. | Write a speech for a wedding. | '
    'Write a review of X. | Write a recipe for X. | How do I bake X? | Make a plan for my week. | Plan my trip to Rome. | '
    'Make a quiz. | Write a job application. | Write my CV. | '
    'Explain how to build X.', 'That is too hard for me. I am a small model for stories. | '
    'I cannot do that well. But I can tell you a short story. | '
    'I am sorry, I only know how to tell stories. Would you like one?'),
]
NOISE = ('asdf | asdfgh | qwertz | lkjlkj | hjkl | ??? | ... | . | ! | 123 | 42 | test | Test | aaaaaa | xyz | blah blah | '
         'hmm | hm | ok | lol | haha | k | ,,, | #')
NOISE_HEARD = ('I do not understand that. What would you like? | I did not get that. Shall I tell you a story? | '
    'What do you mean? I can tell you a story. | '
               'I am here! Would you like a story?')


def foreign(rng):
    said = choose(rng, FOREIGN).strip()
    if rng.random() < 0.2:
        said = said.rstrip('.!?') if rng.random() < 0.5 else said.lower()
    return said, choose(rng, ONLY_ENGLISH)


def face(rng):
    faces, heard = rng.choice(list(FACES.items()))
    said = ''.join(rng.choice(faces.split()) for _ in range(1)) * rng.choice([1, 1, 1, 2, 3])
    if rng.random() < 0.2:
        said = rng.choice([f'{said} {rng.choice(faces.split())}', f'hey {said}', f'{said}!'])
    return said, choose(rng, heard)


def work(rng):
    _, asks, answers = rng.choice(WORK)
    ask = choose(rng, asks).replace('X', rng.choice([rng.choice(W.OBJECTS) + 's', 'the ' + rng.choice(W.ANIMALS), 'love', 'the sea', 'my school']))
    ask = ask.replace('N', str(rng.choice([3, 5, 10, 4, 'five', 'three', 'ten']))) if 'N ' in ask and 'Name N' not in ask else ask.replace('Name N', f'Name {rng.choice([3, 5, "five"])}')
    return careless(rng, ask), choose(rng, answers)


def noise(rng):
    return choose(rng, NOISE), choose(rng, NOISE_HEARD)


def loud(rng, text):
    """The text in capital letters, as some people type it."""
    return text.upper() if rng.random() < 0.12 else text


def dialogue(rng):
    """One or two of these, sometimes with small talk between them."""
    makers, turns = [foreign, foreign, face, face, work, work, work, noise], []
    for _ in range(rng.choice([1, 1, 1, 2])):
        said, heard = rng.choice(makers)(rng)
        turns += [loud(rng, said), heard]
    return talk(*turns), 'strange', None
