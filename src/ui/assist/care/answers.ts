// Answers to people in need, in the language of their message.
import type { Need } from './patterns/pattern-set.ts'

/** The sentences of a language. `{number}` is the emergency number, or `local`. */
interface Sentences {
  /** Used in place of an unknown number. */
  readonly local: string
  readonly selfHarm: string
  /** Added if a help line's `{number}` is known. */
  readonly crisis: string
  /** Where other countries' help lines are listed. */
  readonly lines: string
  readonly medical: string
  readonly violence: string
  /** Ends each answer: this is only a program. */
  readonly end: string
}

const FIND = '[findahelpline.com](https://findahelpline.com)'

const BY_LANGUAGE = {
  en: {
    local: 'your local emergency number',
    selfHarm:
      'I am sorry that things are so hard right now. You do not have to go through it alone, and talking to a person can help.\n\n- If you or someone else may be in danger now, please call {number}.',
    crisis: 'You can call {number} at any time, day or night, free of charge.',
    lines: `${FIND} lists free and confidential help lines in your country, by phone, text or chat.`,
    medical:
      'This may be an emergency. **Please call {number} now**, and say what happened and where you are.\n\n- Stay with the person, or ask someone to stay with you. The people on the phone will tell you what to do until help comes.\n- If someone swallowed something, keep the packaging. Do not make them vomit unless you are told to.',
    violence:
      'Nobody has the right to hurt you, and nobody should be hurt. If anyone is in danger now, please **call {number}**, and go somewhere safe if you can.\n\n- Tell someone you trust.',
    end: 'This is only a small program. The people there will listen and help.',
  },
  es: {
    local: 'al número de emergencias de tu país',
    selfHarm:
      'Siento mucho que lo estés pasando tan mal. No tienes que pasar por esto a solas; hablar con alguien puede ayudar.\n\n- Si tú u otra persona corren peligro ahora, llama {number}.',
    crisis: 'También puedes llamar al {number}, gratis, a cualquier hora.',
    lines: `En ${FIND} hay líneas de ayuda gratuitas y confidenciales de tu país.`,
    medical:
      'Puede ser una emergencia. **Llama {number} ahora mismo** y di qué ha pasado y dónde estás.\n\n- No dejes sola a la persona. Te dirán qué hacer hasta que llegue la ayuda.\n- Si tragó algo, guarda el envase y no provoques el vómito salvo que te lo digan.',
    violence:
      'Nadie tiene derecho a hacerte daño, y nadie debe sufrirlo. Si alguien corre peligro ahora, **llama {number}** y ve a un lugar seguro si puedes.\n\n- Cuéntaselo a alguien de confianza.',
    end: 'Esto es solo un programa pequeño. Allí hay personas que te escucharán y ayudarán.',
  },
  pt: {
    local: 'para o número de emergência do seu país',
    selfHarm:
      'Sinto muito que esteja tão difícil agora. Você não precisa passar por isso sem companhia; conversar com alguém pode ajudar.\n\n- Se você ou outra pessoa corre perigo agora, ligue {number}.',
    crisis: 'Você também pode ligar para {number}, de graça, a qualquer hora.',
    lines: `${FIND} mostra linhas de apoio gratuitas e confidenciais do seu país.`,
    medical:
      'Isto pode ser uma emergência. **Ligue {number} agora** e diga o que aconteceu e onde você está.\n\n- Não deixe a pessoa sozinha. Pelo telefone vão dizer o que fazer até a ajuda chegar.\n- Se alguém engoliu algo, guarde a embalagem e não provoque vômito, a menos que peçam.',
    violence:
      'Ninguém tem o direito de machucar você, e ninguém deve ser machucado. Se alguém corre perigo agora, **ligue {number}** e vá para um lugar seguro, se puder.\n\n- Conte a alguém de confiança.',
    end: 'Isto é só um pequeno programa. Lá há pessoas que vão ouvir e ajudar.',
  },
  fr: {
    local: "le numéro d'urgence de votre pays",
    selfHarm:
      "Je suis désolé que ce soit si dur en ce moment. Vous n'avez pas à traverser cela sans personne ; parler à quelqu'un peut aider.\n\n- Si vous ou quelqu'un d'autre êtes en danger maintenant, appelez {number}.",
    crisis: 'Vous pouvez aussi appeler le {number}, gratuitement, à toute heure.',
    lines: `${FIND} indique des lignes d'écoute gratuites et confidentielles de votre pays.`,
    medical:
      "C'est peut-être une urgence. **Appelez {number} maintenant** et dites ce qui s'est passé et où vous êtes.\n\n- Restez avec la personne. On vous dira quoi faire jusqu'à l'arrivée des secours.\n- Si quelqu'un a avalé un produit, gardez l'emballage et ne le faites pas vomir, sauf si on vous le demande.",
    violence:
      "Personne n'a le droit de vous faire du mal, et personne ne doit en subir. Si quelqu'un est en danger maintenant, **appelez {number}** et mettez-vous à l'abri si vous le pouvez.\n\n- Parlez-en à quelqu'un de confiance.",
    end: "Ceci n'est qu'un petit programme. Là-bas, des personnes vous écouteront et vous aideront.",
  },
  de: {
    local: 'die Notrufnummer deines Landes',
    selfHarm:
      'Es tut mir leid, dass es gerade so schwer ist. Du musst da nicht allein durch, und mit einem Menschen zu reden kann helfen.\n\n- Wenn du oder jemand anderes jetzt in Gefahr ist, ruf bitte {number} an.',
    crisis: 'Du kannst auch jederzeit kostenlos {number} anrufen.',
    lines: `${FIND} nennt kostenlose und vertrauliche Hilfsangebote in deinem Land, am Telefon oder im Chat.`,
    medical:
      'Das kann ein Notfall sein. **Ruf jetzt {number} an** und sag, was passiert ist und wo du bist.\n\n- Bleib bei der Person. Am Telefon sagt man dir, was zu tun ist, bis Hilfe kommt.\n- Hat jemand etwas verschluckt, heb die Verpackung auf und löse kein Erbrechen aus, außer man sagt es dir.',
    violence:
      'Niemand hat das Recht, dir wehzutun, und niemand soll verletzt werden. Wenn jetzt jemand in Gefahr ist, **ruf {number} an** und geh, wenn du kannst, an einen sicheren Ort.\n\n- Sag es jemandem, dem du vertraust.',
    end: 'Das hier ist nur ein kleines Programm. Dort sind Menschen, die zuhören und helfen.',
  },
  it: {
    local: 'il numero di emergenza del tuo paese',
    selfHarm:
      'Mi dispiace che sia così dura adesso. Non devi affrontarlo senza nessuno: parlare con una persona può aiutare.\n\n- Se tu o qualcun altro siete in pericolo ora, chiama {number}.',
    crisis: 'Puoi anche chiamare il {number}, gratis, a qualsiasi ora.',
    lines: `${FIND} elenca linee di ascolto gratuite e riservate del tuo paese.`,
    medical:
      "Può essere un'emergenza. **Chiama subito {number}** e di' che cosa è successo e dove sei.\n\n- Resta con la persona. Al telefono ti diranno che cosa fare finché arrivano i soccorsi.\n- Se qualcuno ha ingerito qualcosa, conserva la confezione e non farlo vomitare se non te lo dicono.",
    violence:
      "Nessuno ha il diritto di farti del male, e nessuno deve subirlo. Se qualcuno è in pericolo adesso, **chiama {number}** e va' in un posto sicuro, se puoi.\n\n- Dillo a una persona di fiducia.",
    end: 'Questo è solo un piccolo programma. Lì ci sono persone che ascoltano e aiutano.',
  },
  nl: {
    local: 'het alarmnummer van je land',
    selfHarm:
      'Wat erg dat het nu zo zwaar is. Je hoeft dit niet alleen te doen; met iemand praten kan helpen.\n\n- Ben jij of is iemand anders nu in gevaar, bel dan {number}.',
    crisis: 'Je kunt ook altijd gratis {number} bellen.',
    lines: `${FIND} toont gratis en vertrouwelijke hulplijnen in jouw land.`,
    medical:
      'Dit kan een noodgeval zijn. **Bel nu {number}** en zeg wat er is gebeurd en waar je bent.\n\n- Blijf bij de persoon. Aan de telefoon hoor je wat je moet doen tot er hulp is.\n- Heeft iemand iets ingeslikt, bewaar dan de verpakking en wek geen braken op, tenzij dat gezegd wordt.',
    violence:
      'Niemand heeft het recht je pijn te doen, en niemand mag gewond raken. Is er nu iemand in gevaar, **bel dan {number}** en ga als het kan naar een veilige plek.\n\n- Vertel het iemand die je vertrouwt.',
    end: 'Dit is maar een klein programma. Daar zitten mensen die luisteren en helpen.',
  },
  pl: {
    local: 'numer alarmowy w swoim kraju',
    selfHarm:
      'Przykro mi, że jest teraz tak ciężko. Nie musisz przechodzić przez to bez nikogo; rozmowa z kimś może pomóc.\n\n- Jeśli tobie lub komuś innemu grozi teraz niebezpieczeństwo, zadzwoń: {number}.',
    crisis: 'Możesz też o każdej porze bezpłatnie zadzwonić: {number}.',
    lines: `${FIND} podaje bezpłatne i poufne telefony zaufania w twoim kraju.`,
    medical:
      'To może być nagły wypadek. **Zadzwoń teraz: {number}** i powiedz, co się stało i gdzie jesteś.\n\n- Zostań z tą osobą. Przez telefon powiedzą, co robić, zanim dotrze pomoc.\n- Jeśli ktoś coś połknął, zachowaj opakowanie i nie wywołuj wymiotów, chyba że tak ci powiedzą.',
    violence:
      'Nikt nie ma prawa cię krzywdzić i nikomu nie powinna dziać się krzywda. Jeśli ktoś jest teraz w niebezpieczeństwie, **zadzwoń: {number}** i, jeśli możesz, idź w bezpieczne miejsce.\n\n- Powiedz o tym komuś zaufanemu.',
    end: 'To tylko mały program. Tam są ludzie, którzy wysłuchają i pomogą.',
  },
  tr: {
    local: 'ülkenizdeki acil yardım numarasını',
    selfHarm:
      'Şu anda bu kadar zor olduğu için üzgünüm. Bunu tek başınıza yaşamak zorunda değilsiniz; biriyle konuşmak iyi gelebilir.\n\n- Siz ya da bir başkası şu anda tehlikedeyse lütfen {number} arayın.',
    crisis: 'Günün her saatinde ücretsiz olarak {number} arayabilirsiniz.',
    lines: `${FIND} ülkenizdeki ücretsiz ve gizli yardım hatlarını gösterir.`,
    medical:
      'Bu acil bir durum olabilir. **Hemen {number} arayın**; ne olduğunu ve nerede olduğunuzu söyleyin.\n\n- Kişinin yanında kalın. Yardım gelene kadar ne yapacağınızı telefonda söyleyecekler.\n- Biri bir şey yuttuysa ambalajını saklayın, söylenmedikçe kusturmayın.',
    violence:
      'Kimsenin size zarar vermeye hakkı yok ve kimse zarar görmemeli. Şu anda tehlikede olan biri varsa **{number} arayın** ve mümkünse güvenli bir yere gidin.\n\n- Güvendiğiniz birine anlatın.',
    end: 'Bu yalnızca küçük bir program. Orada sizi dinleyecek ve yardım edecek insanlar var.',
  },
  ru: {
    local: 'по номеру экстренной помощи вашей страны',
    selfHarm:
      'Мне жаль, что сейчас так тяжело. Вы не обязаны справляться с этим без поддержки: разговор с человеком может помочь.\n\n- Если вам или кому-то ещё сейчас грозит опасность, звоните {number}.',
    crisis: 'Также можно в любое время бесплатно позвонить: {number}.',
    lines: `На ${FIND} есть бесплатные и анонимные линии помощи в вашей стране.`,
    medical:
      'Это может быть неотложный случай. **Звоните {number} прямо сейчас**, скажите, что случилось и где вы.\n\n- Оставайтесь с человеком. По телефону скажут, что делать до приезда помощи.\n- Если что-то проглотили, сохраните упаковку и не вызывайте рвоту, если вам этого не сказали.',
    violence:
      'Никто не имеет права причинять вам боль, и никто не должен пострадать. Если кто-то сейчас в опасности, **звоните {number}** и, если можете, уйдите в безопасное место.\n\n- Расскажите тому, кому доверяете.',
    end: 'Это лишь маленькая программа. Там люди, которые выслушают и помогут.',
  },
  uk: {
    local: 'за номером екстреної допомоги вашої країни',
    selfHarm:
      'Мені шкода, що зараз так важко. Ви не мусите проходити це без підтримки: розмова з людиною може допомогти.\n\n- Якщо вам або комусь іншому зараз загрожує небезпека, телефонуйте {number}.',
    crisis: 'Також можна будь-коли безкоштовно зателефонувати: {number}.',
    lines: `На ${FIND} є безкоштовні й анонімні лінії допомоги у вашій країні.`,
    medical:
      'Це може бути невідкладний випадок. **Телефонуйте {number} просто зараз**, скажіть, що сталося і де ви.\n\n- Залишайтеся з людиною. Телефоном скажуть, що робити до приїзду допомоги.\n- Якщо щось проковтнули, збережіть упаковку і не викликайте блювання, якщо вам цього не сказали.',
    violence:
      'Ніхто не має права завдавати вам болю, і ніхто не повинен постраждати. Якщо хтось зараз у небезпеці, **телефонуйте {number}** і, якщо можете, йдіть у безпечне місце.\n\n- Розкажіть тому, кому довіряєте.',
    end: 'Це лише маленька програма. Там люди, які вислухають і допоможуть.',
  },
  ar: {
    local: 'رقم الطوارئ في بلدك',
    selfHarm:
      'يؤسفني أن الأمر صعب إلى هذا الحد الآن. لست مضطرًا لمواجهته وحدك، والحديث مع شخص قد يساعد.\n\n- إن كنت أنت أو غيرك في خطر الآن، فاتصل: {number}.',
    crisis: 'يمكنك أيضًا الاتصال مجانًا في أي وقت: {number}.',
    lines: `يعرض ${FIND} خطوط مساعدة مجانية وسرية في بلدك.`,
    medical:
      'قد تكون هذه حالة طارئة. **اتصل الآن: {number}**، وقل ماذا حدث وأين أنت.\n\n- ابق مع الشخص. سيخبرونك عبر الهاتف بما تفعله حتى تصل المساعدة.\n- إذا ابتلع أحد شيئًا فاحتفظ بالعبوة، ولا تدفعه إلى التقيؤ إلا إذا طُلب منك ذلك.',
    violence:
      'لا يحق لأحد أن يؤذيك، ولا ينبغي أن يتأذى أحد. إن كان أحد في خطر الآن **فاتصل: {number}** واذهب إلى مكان آمن إن استطعت.\n\n- أخبر شخصًا تثق به.',
    end: 'هذا مجرد برنامج صغير. هناك أشخاص سيستمعون ويساعدون.',
  },
  he: {
    local: 'למספר החירום המקומי',
    selfHarm:
      'צר לי שכל כך קשה עכשיו. לא חייבים לעבור את זה לבד, ושיחה עם אדם יכולה לעזור.\n\n- אם נשקפת לך או למישהו אחר סכנה עכשיו, התקשרו {number}.',
    crisis: 'אפשר גם להתקשר בחינם בכל שעה: {number}.',
    lines: `ב־${FIND} יש קווי סיוע חינמיים וחסויים בארצך, בטלפון או בצ׳אט.`,
    medical:
      'ייתכן שזה מצב חירום. **התקשרו עכשיו {number}**, ואמרו מה קרה ואיפה אתם.\n\n- הישארו עם האדם. בטלפון יגידו לכם מה לעשות עד שתגיע עזרה.\n- אם מישהו בלע משהו, שמרו את האריזה ואל תגרמו להקאה אלא אם אמרו לכם.',
    violence:
      'לאף אחד אין זכות לפגוע בך, ואיש לא צריך להיפגע. אם מישהו בסכנה עכשיו, **התקשרו {number}**, ואם אפשר, לכו למקום בטוח.\n\n- ספרו למישהו שאתם סומכים עליו.',
    end: 'זאת רק תוכנה קטנה. שם יש אנשים שיקשיבו ויעזרו.',
  },
  hi: {
    local: 'अपने देश के आपातकालीन नंबर',
    selfHarm:
      'मुझे दुख है कि अभी इतना कठिन समय है। आपको यह अकेले नहीं सहना है; किसी से बात करने से मदद मिल सकती है।\n\n- अगर आप या कोई और अभी खतरे में है, तो {number} पर फोन करें।',
    crisis: 'आप किसी भी समय मुफ्त में {number} पर भी फोन कर सकते हैं।',
    lines: `${FIND} पर आपके देश की मुफ्त और गोपनीय हेल्पलाइनें मिलेंगी।`,
    medical:
      'यह आपात स्थिति हो सकती है। **अभी {number} पर फोन करें** और बताएं कि क्या हुआ और आप कहां हैं।\n\n- उस व्यक्ति के साथ रहें। मदद आने तक क्या करना है, यह फोन पर बताया जाएगा।\n- अगर किसी ने कुछ निगल लिया है तो पैकेट संभालकर रखें; कहे बिना उल्टी न कराएं।',
    violence:
      'किसी को आपको चोट पहुंचाने का हक नहीं है, और किसी को चोट नहीं लगनी चाहिए। अगर कोई अभी खतरे में है, तो **{number} पर फोन करें** और हो सके तो सुरक्षित जगह जाएं।\n\n- किसी भरोसेमंद व्यक्ति को बताएं।',
    end: 'यह केवल एक छोटा प्रोग्राम है। वहां लोग आपकी सुनेंगे और मदद करेंगे।',
  },
  id: {
    local: 'nomor darurat setempat',
    selfHarm:
      'Saya turut sedih bahwa saat ini terasa begitu berat. Anda tidak harus menghadapinya sendirian; berbicara dengan seseorang bisa membantu.\n\n- Jika Anda atau orang lain sedang dalam bahaya, hubungi {number}.',
    crisis: 'Anda juga bisa menghubungi {number} kapan saja, gratis.',
    lines: `${FIND} mencantumkan layanan bantuan gratis dan rahasia di negara Anda.`,
    medical:
      'Ini bisa jadi keadaan darurat. **Hubungi {number} sekarang**, katakan apa yang terjadi dan di mana Anda berada.\n\n- Tetaplah bersama orang itu. Lewat telepon Anda akan diberi tahu apa yang harus dilakukan sampai bantuan datang.\n- Jika ada yang tertelan, simpan kemasannya dan jangan memaksa muntah kecuali diminta.',
    violence:
      'Tidak ada yang berhak menyakiti Anda, dan tidak seorang pun boleh disakiti. Jika ada yang sedang dalam bahaya, **hubungi {number}** dan pergilah ke tempat aman bila bisa.\n\n- Ceritakan kepada orang yang Anda percayai.',
    end: 'Ini hanya program kecil. Di sana ada orang yang akan mendengarkan dan membantu.',
  },
  vi: {
    local: 'số khẩn cấp tại nơi bạn ở',
    selfHarm:
      'Tôi rất tiếc vì lúc này mọi thứ khó khăn đến vậy. Bạn không phải chịu đựng một mình; nói chuyện với ai đó có thể giúp ích.\n\n- Nếu bạn hoặc ai đó đang gặp nguy hiểm, hãy gọi {number}.',
    crisis: 'Bạn cũng có thể gọi miễn phí {number} bất cứ lúc nào.',
    lines: `${FIND} liệt kê các đường dây hỗ trợ miễn phí và bảo mật ở nước bạn.`,
    medical:
      'Đây có thể là trường hợp khẩn cấp. **Hãy gọi {number} ngay**, nói chuyện gì đã xảy ra và bạn đang ở đâu.\n\n- Hãy ở bên người đó. Qua điện thoại họ sẽ hướng dẫn bạn cho đến khi có người tới giúp.\n- Nếu ai đó đã nuốt thứ gì, hãy giữ lại bao bì và đừng gây nôn trừ khi được hướng dẫn.',
    violence:
      'Không ai có quyền làm tổn thương bạn, và không ai đáng bị tổn thương. Nếu có người đang gặp nguy hiểm, **hãy gọi {number}** và đến nơi an toàn nếu có thể.\n\n- Hãy nói với người mà bạn tin tưởng.',
    end: 'Đây chỉ là một chương trình nhỏ. Ở đó có những người sẽ lắng nghe và giúp đỡ.',
  },
  zh: {
    local: '当地的急救电话',
    selfHarm:
      '很抱歉,你现在这么难受。你不必独自承受,和人谈一谈会有帮助。\n\n- 如果你或别人现在有危险,请拨打{number}。',
    crisis: '你也可以随时免费拨打{number}。',
    lines: `${FIND} 列有你所在国家免费、保密的求助热线。`,
    medical:
      '这可能是紧急情况。**请立即拨打{number}**,说明发生了什么、你在哪里。\n\n- 请陪在那个人身边,电话里会告诉你在救援到来之前该怎么做。\n- 如果有人误食了东西,请保留包装;没有人要求时不要催吐。',
    violence:
      '没有人有权伤害你,也不应该有人受伤。如果现在有人处于危险之中,**请拨打{number}**,并尽可能去安全的地方。\n\n- 请告诉一个你信任的人。',
    end: '这里只是一个小程序。那里会有人倾听并帮助你。',
  },
  ja: {
    local: 'お住まいの地域の緊急通報番号',
    selfHarm:
      '今、とてもつらいのですね。ひとりで抱え込まなくて大丈夫です。誰かに話すと楽になることがあります。\n\n- あなたや誰かに危険が迫っているときは、{number}に電話してください。',
    crisis: '{number}には、いつでも無料で電話できます。',
    lines: `${FIND} に、お住まいの国の無料で秘密が守られる相談窓口が載っています。`,
    medical:
      '緊急事態かもしれません。**今すぐ{number}に電話**して、何が起きたか、どこにいるかを伝えてください。\n\n- その人のそばにいてください。助けが来るまでに何をすればよいか、電話で教えてくれます。\n- 何かを飲み込んだときは容器を残しておき、指示がない限り吐かせないでください。',
    violence:
      '誰にもあなたを傷つける権利はなく、誰も傷つくべきではありません。今、危険な人がいるなら**{number}に電話**し、できれば安全な場所に移ってください。\n\n- 信頼できる人に話してください。',
    end: 'これは小さなプログラムにすぎません。そこには話を聞いて助けてくれる人がいます。',
  },
  ko: {
    local: '현지 긴급 전화번호',
    selfHarm:
      '지금 이렇게 힘드시다니 마음이 아픕니다. 혼자 견디지 않아도 됩니다. 누군가와 이야기하면 도움이 될 수 있습니다.\n\n- 당신이나 다른 사람이 지금 위험하다면 {number}(으)로 전화하세요.',
    crisis: '언제든지 무료로 {number}에 전화할 수 있습니다.',
    lines: `${FIND}에서 거주 국가의 무료 비밀 상담 전화를 찾을 수 있습니다.`,
    medical:
      '응급 상황일 수 있습니다. **지금 바로 {number}(으)로 전화**해서 무슨 일이 있었는지, 어디에 있는지 말하세요.\n\n- 그 사람 곁에 있어 주세요. 도움이 올 때까지 무엇을 해야 하는지 전화로 알려 줍니다.\n- 무언가를 삼켰다면 포장을 보관하고, 지시가 없으면 토하게 하지 마세요.',
    violence:
      '누구도 당신을 해칠 권리가 없고, 누구도 다쳐서는 안 됩니다. 지금 위험한 사람이 있다면 **{number}(으)로 전화**하고 가능하면 안전한 곳으로 가세요.\n\n- 믿을 수 있는 사람에게 이야기하세요.',
    end: '이것은 작은 프로그램일 뿐입니다. 그곳에는 귀 기울이고 도와줄 사람들이 있습니다.',
  },
} as const satisfies Record<string, Sentences>
const SENTENCES: ReadonlyMap<string, Sentences> = new Map(Object.entries(BY_LANGUAGE))

/** Languages whose sentences lack the preposition before a number: "llama al 112". */
const BEFORE_NUMBER: ReadonlyMap<string, string> = new Map(
  Object.entries({
    es: 'al ',
    pt: 'para ',
    fr: 'le ',
    it: 'il ',
    he: 'ל־',
  }),
)

/** Languages that have answers to people in need. */
export const CARE_LANGUAGES: readonly string[] = [...SENTENCES.keys()]

/** The answer in Markdown. Without a known number it names "your local emergency number". */
export function answerTo(
  need: Need,
  language: string,
  numbers: { emergency?: string; crisis?: string },
): string {
  const said = SENTENCES.get(language) ?? BY_LANGUAGE.en
  const named =
    numbers.emergency === undefined ? said.local : `${BEFORE_NUMBER.get(language) ?? ''}${numbers.emergency}`
  const main = (need === 'self-harm' ? said.selfHarm : said[need]).replace('{number}', named)
  const isCrisis = need === 'self-harm' && numbers.crisis !== undefined
  const lines = [
    ...(isCrisis ? [said.crisis.replace('{number}', numbers.crisis!)] : []),
    ...(need === 'medical' ? [] : [said.lines]),
  ]
  return [main, ...lines.map((line) => `- ${line}`)].join('\n').concat(`\n\n${said.end}`)
}
