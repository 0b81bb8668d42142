// Turkish, Hindi, Indonesian, Vietnamese, Chinese, Japanese and Korean.
import type { PatternSet } from './pattern-set.ts'

const TURKISH: PatternSet = {
  language: 'tr',
  selfHarm: [
    '(olmek|kendimi oldurmek|intihar etmek|kendimi asmak|hayatima son vermek|canima kiymak|kendime zarar vermek|bileklerimi kesmek|yok olmak|kendimi kesmek|uyanmamak) (istiyorum|isterdim|istedim|uzereyim|uzere|geliyor icimden|istegi|dusunuyorum|niyetindeyim)(?! gulmekten)',
    '(keske (olsem|olseydim|hic dogmasaydim|uyanmasam)|intihar (edecegim|ediyorum|etmeyi|dusunceleri|dusunuyorum|etsem|yontem)|intihari dusunuyorum|kendimi (oldurecegim|oldurmeyi|asacagim|oldursem|kesiyorum|kestim)|canima kiyacagim|hayatima son verecegim|kendime zarar veriyorum)',
    '(yasamak istemiyorum|artik yasamak istemiyorum|yasamaktan (biktim|yoruldum)|yasamanin (bir )?anlami (yok|kalmadi)|yasamak icin (bir )?(sebebim|nedenim) (yok|kalmadi)|hayatin anlami kalmadi)',
    'bensiz daha (iyi|mutlu) olur|kimse beni (ozlemez|ozlemezdi)',
    '(arkadasim|kardesim|ablam|abim|oglum|kizim|annem|babam|sevgilim|esim|kocam|karim)\\b.{0,40}(olmek istiyor|intihar|kendini (oldur|kes|as)|yasamak istemiyor)',
    '(acisiz|en kolay|agrisiz) (olum|intihar|olme)|nasil (intihar|acisiz olur|kendimi oldur)',
  ],
  medical: [
    '(agzi|yuzu) (kaydi|yamuldu|egildi|carpildi)|kan kaybediyor',
    '(cok fazla|butun|tum|bir kutu|bir sise|\\d\\d+|avuc dolusu) (\\S+ ){0,2}(hap|ilac|ilaclar\\w*|uyku ilaci|tablet|parol|haplar\\w*)\\w* (ictim|icti|yuttum|yuttu|aldim|aldi|icmis|yutmus)|asiri doz',
    '(camasir suyu|zehir|fare zehri|deterjan|pil|temizlik (malzemesi|urunu)|benzin|antifriz|tuz ruhu|zehirli mantar|kezzap)\\w* (ictim|icti|yuttum|yuttu|yedi|yedim|icmis|yutmus)',
    'zehirlen(dim|di|dik|mis)|(nefes al(miyor|amiyor|amiyorum)|nefesi (kesildi|durdu)|nefes alamiyor\\w*|boguluyor|boguluyorum|bogazina (bir sey )?(kacti|takildi))',
    'gogsum(de|u)?\\b.{0,20}(agri|agriyor|sikis|baski|aci)|gogus(umde|te)? (agri\\w*|sikisma)',
    '(bayildi|bilincini kaybetti|bilinci (yok|kapali)|kalp krizi (geciriyor|gecirdi)|felc (geciriyor|gecirdi)|nobet geciriyor|nabzi yok|uyanmiyor|tepki vermiyor)(?! (tusa|ekran|fare))',
    'kan(ama)?\\w*\\b.{0,15}(durmuyor|cok kan)|mosmor oldu|morardi',
  ],
  violence: [
    '(kocam|karim|esim|sevgilim|babam|annem|uvey babam|abim|amcam|patronum|eski (kocam|sevgilim|esim)|o)\\b.{0,15}(beni (dovuyor|dovdu|bogdu|taciz ed\\w*|tecavuz etti|oldurecek|oldurmekle|tehdit|vurdu|istismar)|bana (vuruyor|vurdu|siddet|tecavuz|saldirdi|dokunuyor))',
    '(bana|beni) (tecavuz (ettiler|etti|edildi)|taciz (ettiler|ediyorlar)|dovuyorlar|kacirdilar|takip ediyor|bicakladilar|oldurecekler)|tecavuze ugradim|siddet goruyorum|tacize ugradim|istismara ugr',
    '(kocamdan|babamdan|sevgilimden|eve (gitmekten|donmekten)) korkuyorum|(biri|bir adam)\\b.{0,15}(evime girdi|evime giriyor|evimde|beni takip)',
    '(karimi|kocami|patronumu|annemi|babami|birini|herkesi|onu|komsumu|eski sevgilimi) (oldurmek istiyorum|oldurecegim|bicaklayacagim|vuracagim|zehirlemek istiyorum)(?! (oyunda))',
  ],
  harmless: [
    'gulmekten (ol\\w+|kiril\\w+)',
    '(acliktan|sicaktan|utanctan|meraktan|sikintidan) ol\\w+',
    'vakit oldur\\w+',
    'oyunda \\w+ oldur\\w+',
  ],
}

const HINDI: PatternSet = {
  language: 'hi',
  script: 'devanagari',
  selfHarm: [
    '(मरना|मर जाना|खुदकुशी करना|आत्महत्या करना|जान देना|अपनी जान लेना|खुद को मारना|खुद को मार|फांसी लगाना|अपनी जिंदगी खत्म करना|सब खत्म करना|खुद को नुकसान पहुंचाना|खुद को चोट|अपनी नस काट)[^।?!.]{0,15}(चाहत|चाह रह|है|लूंग|लूंगी|का मन|सोच|जा रह)',
    'मर (जाऊं|जाऊँ|जाना)[^।?!.]{0,10}|आत्महत्या (के विचार|करने|कर लूं|के बारे में सोच|का ख्याल)|खुदकुशी (कर|के|का)|(जीना|जिंदा रहना) नहीं (चाहत|है)|जीने (की|का) (इच्छा|कोई (मतलब|वजह|कारण)|मन|वजह)[^।?!.]{0,12}(नहीं|खत्म)|जिंदगी (से (थक|तंग)|का कोई मतलब नहीं|बेकार)|मेरे बिना (सब|सभी|परिवार)[^।?!.]{0,15}(खुश|बेहतर)',
    '(दोस्त|भाई|बहन|बेटा|बेटी|मां|माँ|पिता|पति|पत्नी)[^।?!.]{0,30}(मरना चाहत|आत्महत्या|खुदकुशी|खुद को (मार|काट))|बिना दर्द के (मर|मौत)|मरने का (आसान|सबसे) ',
  ],
  medical: [
    '(मुंह|मुँह|चेहरा) (टेढ़ा|टेढ़ा|लटक)|बहुत (ज्यादा |सारा )?खून (बह|निकल)',
    '(बहुत सारी|बहुत|सारी|पूरी शीशी|ज्यादा|\\d\\d+)[^।?!.]{0,12}(नींद की )?(गोलियां|गोलियाँ|गोली|दवा|दवाई)[^।?!.]{0,8}(खा ली|खा लीं|निगल|खाई|ले ली)|ओवरडोज',
    '(जहर|ज़हर|तेजाब|फिनाइल|ब्लीच|हार्पिक|बैटरी|कीटनाशक|चूहे मारने|मिट्टी का तेल|पेट्रोल|डिटर्जेंट)[^।?!.]{0,12}(पी लिया|खा लिया|निगल|पी ली|खा ली|पी गया|पी गई)',
    'सांस नहीं (ले|आ)|साँस नहीं (ले|आ)|सांस (रुक|बंद)|सीने में (तेज |बहुत |काफी |भयंकर ){0,3}(दर्द|जकड़न|दबाव)|छाती में (तेज |बहुत |काफी |भयंकर ){0,3}दर्द|(बेहोश|दिल का दौरा|हार्ट अटैक|मिर्गी का दौरा|लकवा)[^।?!.]{0,15}(हो गया|हो गई|पड़|है|आया|मदद)|(खून)[^।?!.]{0,15}(रुक नहीं|बंद नहीं|बह रहा)|होश में नहीं|दम घुट|गले में (कुछ )?(फंस|अटक)|नीला पड़',
  ],
  violence: [
    '(पति|पत्नी|पिता|पापा|मां|माँ|भाई|चाचा|ससुर|बॉयफ्रेंड|सौतेले|वह|वो)[^।?!.]{0,15}(मुझे (मारत|पीटत|मारा|पीटा|मार डाल|जान से मार|गलत तरीके|छूत|धमक)|मेरे साथ (मारपीट|बलात्कार|जबरदस्ती|दुष्कर्म|गलत काम)|मारते पीटते)',
    '(मेरा|मेरे साथ) (बलात्कार|रेप|यौन शोषण|दुष्कर्म|यौन उत्पीड़न)|घरेलू हिंसा[^।?!.]{0,15}(मेरे|शिकार|मैं)|कोई (मेरे घर में घुस|मेरा पीछा कर)|घर जाने से डर|मुझे (किडनैप|अगवा|बंद कर)',
    '(मैं|मुझे)[^।?!.]{0,15}(बॉस|पति|पत्नी|उसे|उसको|सबको|किसी को|पड़ोसी)[^।?!.]{0,10}(मार डाल|जान से मार|मारना चाहत|मार दूंग|चाकू मार|गोली मार)',
  ],
  harmless: [
    'तो (मां|माँ|मम्मी|पापा|टीचर|बॉस) मुझे मार डाल[^।?! ]*',
    '(हंसते हंसते|हँसते हँसते|भूख से|शर्म से|गर्मी से) मर[^।?! ]*',
    'समय मार',
    'सुसाइड स्क्वाड',
  ],
  edges: 'none',
}

/** Hindi in Latin letters, as in a chat. */
const ROMANIZED_HINDI: PatternSet = {
  language: 'hi',
  selfHarm: [
    '(jee?na|zinda rehna) nahi?n? (chaht[ai]|hai|chahiye)|(marna|mar jana|suicide karna|khudkushi karna|aatma?hatya karna) (chaht[ai]|hai|cahta)',
    '(khudkushi|aatma?hatya|suicide) (kar (lu|dun|raha|rahi)|karne (ja|ka (man|soch)))|khud ?ko (maar|khatam|nuksan)|zindagi (khatam karn|se (thak|tang))',
  ],
  medical: [
    '(saans|sans) nahi?n? (le|aa)|(seene|chaa?ti) me(in|n)? (bahut |tez |bohot )*dard|(zeher|zehar|phenyl|harpic) (kha|pee?) l',
    '(bahut|bohot|saari|poori) (\\S+ ){0,2}(goliyan?|neend ki goli\\w*) kha l|khoon (\\S+ )?(ruk nahi|band nahi)|behosh ho gay',
  ],
  violence: [
    '(pati|papa|bhai|sasur|boyfriend|wo|woh|biwi)\\b.{0,15}\\bmujhe (maa?rt|peett|pitt|maara|dhamk)|mere? saath (rape|balatkar|zabardasti)',
  ],
  harmless: ['(hans|hass|bhookh|garmi|sharm)\\w*( \\S+)? (se )?mar'],
}

const INDONESIAN: PatternSet = {
  language: 'id',
  selfHarm: [
    '(ingin|mau|pengen|pengin|kepingin|berpikir untuk|berniat|akan|mencoba|rasanya ingin|cara|lebih baik|terpikir untuk)( saja| sekali)? (mati|bunuh diri|membunuh diri(ku)?|mengakhiri hidup(ku)?|akhiri hidup(ku)?|gantung diri|menghilang selamanya|menyakiti diri( sendiri)?|melukai diri( sendiri)?|mengiris (nadi|tangan)|tidak bangun lagi|lompat dari (jembatan|gedung)|mengakhiri semuanya)(?! (ketawa|lampu|kutu|gaya|listrik|karena ketawa))',
    '(pikiran (untuk )?bunuh diri|bunuh diri saja|menyayat (tangan|diri)|saya menyakiti diri|aku menyakiti diri|memikirkan bunuh diri)',
    '(tidak|gak|nggak|ga|tak|enggak|ngga) (ingin|mau|pengen|sanggup|kuat)( lagi)? hidup( lagi)?(?! (di|dengan|bersama|sendiri|boros|miskin) )|(tidak ada|gak ada|nggak ada) (gunanya|alasan|artinya)( lagi)?( untuk| buat)? hidup|hidup(ku)? (tidak|gak|nggak)( lagi)? (berarti|berguna|ada artinya)|(capek|lelah|bosan) hidup(?! di)',
    '(lebih baik|lebih bahagia) (tanpa aku|tanpa saya|kalau aku mati|aku mati|saya mati)|(andai|seandainya) aku (mati|tidak (pernah )?lahir)|tidak ada yang (akan )?merindukan(ku| saya)',
    '(teman|adik|kakak|anak|ibu|ayah|pacar|suami|istri|sahabat)(ku| saya)?\\b.{0,40}(ingin mati|mau mati|bunuh diri|menyakiti dirinya|mengakhiri hidup)',
    'mati tanpa (rasa )?sakit|cara (termudah|tercepat|paling mudah)[^.]{0,15}(mati|bunuh diri)',
  ],
  medical: [
    '(mulut|wajah|muka)(nya)? (miring|mencong|perot|turun sebelah)|darah(nya)?( \\S+){0,2} (terus|tidak mau berhenti|gak mau berhenti|mengucur)|kehilangan banyak darah',
    '(minum|menelan|makan|telan|meminum|nelan) (terlalu banyak|banyak|semua|sebotol|sekotak|satu botol|\\d\\d+)[^.]{0,15}(pil|obat|tablet|obat tidur|parasetamol)|overdosis|over ?dosis',
    '(minum|meminum|menelan|makan|tertelan|telan) (\\S+ )?(pemutih|racun|racun tikus|deterjan|baterai|bensin|cairan pembersih|pembersih|obat nyamuk|baygon|minyak tanah|jamur beracun)|keracunan\\b.{0,30}(tolong|bagaimana|saya|aku|anak|makanan dan|apa yang)',
    '(tidak|gak|nggak|ga|berhenti|sulit|susah|tidak bisa|sesak) (bisa )?(bernapas|bernafas|napas|nafas)(?! lewat hidung)|sesak napas\\b.{0,20}(berat|tolong|parah)',
    '(nyeri|sakit|sesak|tekanan)( sekali| hebat| berat)? (di )?dada|dada(ku| saya)? (sakit|nyeri|sesak|terasa tertekan)',
    '(pingsan|tidak sadar(kan diri)?|serangan jantung|(kena|terkena|serangan) stroke|kejang|tersedak|tidak ada denyut)\\b.{0,30}(tolong|apa|saya|aku|ayah|ibu|anak|sekarang|suami|$)(?<!apa itu (stroke|serangan jantung))|tidak (bangun-bangun|mau bangun|merespons?)(?! (klik|sentuhan))',
    '(darah|pendarahan)\\w*\\b.{0,20}(tidak berhenti|banyak sekali|gak berhenti)|(membiru|jadi biru|kebiruan)',
  ],
  violence: [
    '(suami|istri|pacar|ayah|bapak|ibu|ayah tiri|kakak|paman|bos|mantan|dia)(ku| saya)?\\b.{0,15}(memukul(i)?|menampar|mencekik|memperkosa|melecehkan|menganiaya|mengancam (akan )?(membunuh)?|menyiksa|menendang|mau membunuh|meraba) ?(saya|aku|ku)',
    '(saya|aku) (di(perkosa|pukuli|lecehkan|aniaya|siksa|culik|cekik|ancam|kuntit|tusuk|buntuti)|korban (kdrt|kekerasan|pelecehan))|takut (pada suami|sama suami|sama ayah|pada ayah|pulang ke rumah|pulang ke|dibunuh)',
    '(seseorang|ada orang|orang asing)\\b.{0,15}(masuk ke rumah|membobol|mengikuti|membuntuti) ?(saya|aku|ku)?',
    '(ingin|mau|akan|pengen) (membunuh|menusuk|menembak|meracuni|bunuh) (suami|istri|bos|ayah|ibu|dia|seseorang|semua|mantan|tetangga|orang)',
  ],
  harmless: [
    'mati (ketawa|lampu|kutu|gaya|listrik|rasa|suri)',
    '(ketawa|tertawa) sampai mati',
    'mati kelaparan',
    'membunuh waktu',
    'skuad bunuh diri',
  ],
}

const VIETNAMESE: PatternSet = {
  language: 'vi',
  selfHarm: [
    '(muon|dinh|se|nghi den|nghi toi|y dinh|cach|thu|co y)( duoc| viec)? (chet|tu tu|tu sat|ket lieu( doi minh| cuoc doi)?|treo co|cat co tay|rach tay|bien mat mai mai|tu lam dau|lam hai ban than|khong tinh day|nhay cau|nhay lau|nhay xuong)(?! (cuoi|vi cuoi|doi|them))',
    '(khong|chang|chan|het)( con)? (muon|thiet|ly do de|con ly do) (song|ton tai)( nua)?(?! (o|voi|tai|gan|chung) )|(cuoc song|cuoc doi|song)( cua toi)? (khong con|vo nghia|khong co) ?(y nghia|nghia ly)?( nua)?|chan song|met moi voi cuoc song',
    'y (nghi|dinh) (tu tu|tu sat)|toi (tu cat|rach) tay|uoc gi (toi|minh|em) (chet|chua tung sinh ra|khong ton tai)|(tot hon|hanh phuc hon)[^.]{0,15}(khong co toi|neu toi chet)',
    '(ban|em|anh|chi|con|me|bo|cha|chong|vo|nguoi yeu)( trai| gai| than)?( cua)? (toi|minh|em)\\b.{0,25}(muon chet|muon tu tu|tu tu|tu sat|tu lam hai)',
    'chet khong dau|cach (chet|tu tu)|tu tu (the nao|nhu the nao|khong dau)',
  ],
  medical: [
    '(meo mieng|mieng meo|liet nua (mat|nguoi))|mat (rat )?nhieu mau',
    '(uong|nuot|da uong|da nuot) (qua nhieu|het|ca lo|nhieu|ca vi|\\d\\d+)[^.]{0,15}(thuoc|vien)|(su dung )?qua lieu|soc thuoc',
    '(uong|nuot|an)( phai| nham)? [^.]{0,12}(thuoc tay|thuoc chuot|chat tay|thuoc tru sau|nuoc tay|pin|xang|axit|thuoc diet co|nam doc|nuoc javel|chat doc)|(ngo|trung) doc\\b.{0,25}(toi|giup|lam sao|con|phai lam|bi|$)',
    '(khong|ngung|kho|khong the|kho ma|khong con) tho( duoc| noi| nua)?(?! (bang mui|duoi nuoc))|kho tho\\b|tuc nguc|(dau|tuc|nang|that) (o )?(nguc|tim)( du doi| qua)?',
    '(bat tinh|ngat xiu|hon me|nhoi mau co tim|dot quy|dau tim|(bi|dang|len con|len) co giat|mac nghen|hoc (di vat|xuong|hat|keo|thach|dau phong)|khong co mach)\\b.{0,30}(giup|lam|toi|bo|me|con|ong|ba|cuu|$)(?<!(dot quy|nhoi mau co tim) la gi)|(khong|mai khong) (tinh day|tinh lai)',
    '(mau|chay mau)\\b.{0,15}(khong ngung|khong cam|nhieu qua|rat nhieu)|tim tai|nguoi tim',
  ],
  violence: [
    '(chong|vo|bo|cha|me|bo duong|anh trai|chu|ban trai|nguoi yeu|sep|no|anh ta|han)( toi| em| minh| cu)?\\b.{0,12}(danh|dap|bop co|hiep dam|cuong hiep|doa giet|hanh hung|bao hanh|so soang|xam hai|lam dung|tat|da) (toi|em|minh|con|me toi)',
    '(toi|em|minh) bi (hiep|hiep dam|cuong hiep|danh dap|bao hanh|lam dung|xam hai|bat coc|theo doi|dam|bop co|quay roi)|so (chong|bo|ve nha|bi giet)\\b.{0,15}(danh|giet|$|toi)|(ai do|co nguoi|mot nguoi)\\b.{0,15}(dot nhap|xong vao|theo doi toi|di theo toi|trong nha toi)',
    '(toi|em|tao) (muon|se|dinh) (giet|dam|ban|dau doc) (chong|vo|sep|no|ai do|moi nguoi|bo|me|han|anh ta|co ta)(?! trong (game|tro choi))',
  ],
  harmless: [
    '(cuoi|doi|them|nong|buon cuoi|nguong)( muon)? chet',
    'chet (cuoi|doi|them)',
    'giet thoi gian',
    'biet doi cam tu',
  ],
}

const CHINESE: PatternSet = {
  language: 'zh',
  script: 'han',
  selfHarm: [
    '(想|要|好想|真想|打算|准备|準備|计划|計劃|不如|考虑|考慮|试过|試過|怎么|怎麼|如何|怎样|怎樣)(要|去|就|地)?(死掉|死了算了|去死|自杀|自殺|自尽|自盡|轻生|輕生|上吊|割腕|跳楼|跳樓|跳河|跳桥|跳橋|结束(自己的?|我的)?生命|結束(自己的?|我的)?生命|了结自己|了結自己|伤害自己|傷害自己|自残|自殘|寻死|尋死|永远消失|永遠消失)',
    '我(真的|好|很|只|就|也|现在|現在)*想死(?!你|他|她|了你)|想死(了|的心|的念头|的念頭)?(。|!|！|,|，|$|但)|不想(再)?(活|活着|活著|活下去|醒来|醒來)(了)?|活不下去|活着没(有)?(意思|意义)|活著沒(有)?(意思|意義)|不如死了|生无可恋|生無可戀|死了(就)?(算了|好了|更好)|没有活(下去|着)的(理由|意义)|沒有活(下去|著)的(理由|意義)|活(够|夠|腻|膩)了|(自杀|自殺|轻生|輕生)(的)?(念头|念頭|想法|倾向|傾向)|我(在|又|经常|經常|开始|開始)?(自残|自殘|割自己|割腕)',
    '(没有我|沒有我)[^。!?]{0,8}(更好|更快乐|更快樂|会好)|没人会(想念|在乎)我|沒人會(想念|在乎)我|(朋友|弟弟|妹妹|哥哥|姐姐|儿子|兒子|女儿|女兒|妈妈|媽媽|爸爸|老公|老婆|同学|同學|女友|男友)[^。!?]{0,12}(想死|想自杀|想自殺|要自杀|要自殺|想轻生|自残|自殘|不想活)|(无痛|無痛|没有痛苦|沒有痛苦|不痛|最快|最简单|最簡單)的?(死法|自杀|自殺|死亡方式)|写好(了)?遗书|寫好(了)?遺書',
  ],
  medical: [
    '嘴(巴)?歪|口角歪斜|[脸臉]歪|(大量|一直)(失血|出血)|流了(很多|好多)血',
    '(吃|吞|服|喝)(了|下|掉)?(了)?(太多|很多|一整瓶|整瓶|一瓶|一把|大量|\\d\\d+)[^。!?]{0,5}(药|藥|安眠药|安眠藥|止痛药)|(药物|藥物|吸毒|用药|服药)(过量|過量)|(服|吃)(药|藥)过量',
    '(喝|吞|吃|误食|誤食|误喝|誤喝|误吞|吞下)(了|下|到|进|掉)?(了)?[^。!?]{0,4}(漂白水|漂白剂|漂白劑|消毒水|毒药|毒藥|老鼠药|老鼠藥|洗衣液|洗洁精|电池|電池|汽油|农药|農藥|百草枯|清洁剂|清潔劑|毒蘑菇|防冻液|洁厕灵)|(煤气|煤氣|一氧化碳|食物|农药|農藥)?中毒(了|怎么办|怎麼辦|,|，|救)',
    '(没有|沒有|没|沒|停止|不能|无法|無法|不会|不)(了)?呼吸(了)?(?!法)|呼吸(停止|困难|困難)|喘不(过|過|上)(气|氣)来?|(胸口|胸部|胸|心脏|心臟)(很|好|突然|非常|剧烈|劇烈|一直)?(痛|疼|闷痛|悶痛|压痛|绞痛|絞痛)|(昏迷|晕倒|暈倒|失去意识|失去意識|叫不醒|没有脉搏|沒有脈搏|没心跳|噎住|窒息|抽搐|心脏病发作|心臟病發作|中风了|中風了|心梗)(?!是什么|是什麼)|(血|流血)[^。!?]{0,4}(止不住|不停)|(脸色|嘴唇|臉色|全身)(发|變|变|發)(紫|青|蓝|藍)',
  ],
  violence: [
    '(老公|丈夫|老婆|男友|男朋友|前男友|女友|爸爸|父亲|父親|妈妈|媽媽|继父|繼父|哥哥|叔叔|老板|他|她|有人)(总是|總是|经常|經常|一直|又|昨晚|今天|刚才|剛才)?(在)?(打我|家暴我|强奸|強姦|强暴|強暴|性侵|侵犯我|猥亵|猥褻|掐我|掐住我|威胁要杀|威脅要殺|要杀我|要殺我|虐待我|摸我(的)?(下面|身体|身體|胸))(?!电话|電話|的(电话|手机|電話|手機))',
    '我(被|遭到|遭受)([^。!?]{0,6})?(强奸|強姦|强暴|強暴|性侵|家暴|殴打|毆打|打了|绑架|綁架|虐待|猥亵|猥褻|跟踪|跟蹤|性骚扰|性騷擾|捅)|(不敢|害怕|怕)回家|有人(闯进|闖進|正在闯|跟踪我|跟蹤我|在跟着我|潜入|闯入)|害怕(我)?(丈夫|老公|爸爸|他会杀|他會殺)',
    '我(想|要|真想|会|會|准备|準備|打算)(去)?(杀了|殺了|杀死|殺死|杀|殺|捅死|毒死|砍死)(我)?(老板|老闆|老公|老婆|他|她|所有人|他们|他們|某人|邻居|鄰居|父母|爸爸|妈妈|同学|全家)(?!的时间)',
  ],
  harmless: [
    '(笑|饿|餓|热|熱|困|累|羞|气|氣|爱|愛|想|帅|帥|好吃|可爱|可愛)死(了|我了|你|人)',
    '想死你(了|们|們)?',
    '杀时间|殺時間',
    '自杀小队|自杀突击队|自殺突擊隊',
  ],
  edges: 'none',
}

const JAPANESE: PatternSet = {
  language: 'ja',
  script: 'han',
  selfHarm: [
    '死にたい(?!くない|くはない|ほど(笑|眠|暑|恥))|死のう(と思|かな|か)|自殺(したい|しよう|を考え|の方法|したく|願望|しそう|する方法|します|未遂をし)|消えたい|消えて(しまい|なくなり)たい|いなくなりたい|(もう)?生きて(いたく|いく(の|意味|気力|自信)|る意味が|いる意味|いても(意味|仕方)|られない|いけない|たくない)|生きるのが?(つらい|辛い|疲れ|嫌|しんどい)|(人生|すべて|全て|命)を(終わらせ|終わりにし|絶)|(リスカ|リストカット|自傷)(し|を|が|行為を)|手首を切|首を(吊|つ)(り|ろ|る|って)|飛び降り(たい|よう|て死)|(自分を|自分の体を)傷つけ(たい|て|る)|殺して(ほしい|ください|くれ)(?!.{0,6}(プロセス|害虫))|楽に死(ね|に)|痛くない死に方|死ぬ方法|死んだほうが(まし|いい|マシ)|死んでしまいたい|生まれてこなければ|遺書を(書|準備)|目が覚めなければ',
    '(友達|友人|弟|妹|兄|姉|息子|娘|母|父|彼氏|彼女|夫|妻|恋人)[^。!?]{0,15}(死にたい|自殺|リストカット|自傷|死のう)|私(が|なんて)(いない|いなくなった|死んだ)(方|ほう|ら)[^。!?]{0,10}(いい|幸せ|まし)',
  ],
  medical: [
    '口(元)?が(曲が|ゆがん|歪ん)|顔の(片側|半分|右側|左側)|ろれつが回ら|(大量に|大量の|ひどく)出血|出血がひど',
    '(薬|睡眠薬|錠剤|痛み止め|風邪薬)(を|が)?(大量|たくさん|全部|一瓶|\\d\\d+錠|何十錠)(に|も|を)?(飲|のみ|のん)|(大量|たくさん|全部|\\d\\d+錠)[^。!?]{0,6}(薬|睡眠薬|錠剤)を(飲|のん)|オーバードーズ|過剰摂取(した|し)|(漂白剤|洗剤|毒|殺虫剤|電池|ボタン電池|灯油|農薬|除草剤|不凍液|ガソリン|毒キノコ|ハイター)を?(間違えて|誤って)?(飲(ん|み)|食べ|飲み込)|(一酸化炭素|ガス|食)?中毒(に|か|かも|です|になった)(なり|なっ|も|かも|助)',
    '息を?(していない|してない|が?できない|していません|が苦しい|が止ま|を?してない)|息が(できない|できません|苦しい|止まっ)|呼吸(が|を)?(止まっ|していない|してない|できない|困難|していません)|胸が(とても|すごく|急に|激しく|締め付け|ぎゅっと)*(痛い|痛む|痛くて|苦しい|締め付け)(?!ほど(好き|感動|切ない))|胸の(痛み|激痛|圧迫)|(意識が(ない|ありません|なく)|意識不明|気を失っ|倒れて(動か|意識)|けいれん(して|が)|痙攣して|窒息|喉に詰ま|のどに詰ま|脈が(ない|ありません)|心臓発作(か|で|を|みたい)|脳卒中(か|かも|みたい))|血が止まら|(唇|顔)が(青|紫)|起こしても起き|目を覚まさ(ない|ず)[^。!?]{0,10}(助|呼吸|冷)',
  ],
  violence: [
    '(夫|妻|彼氏|彼女|彼|父|母|義父|継父|兄|叔父|上司|元彼|旦那|親)(に|から|が)[^。!?]{0,8}(殴(られ|る|って)|叩かれ|蹴られ|暴力を|暴力(を)?(ふる|振る)|首を絞め|レイプ|性的(暴行|虐待)|虐待され|脅され|殺され(そう|る)|殺すと|触られ|襲われ)|(レイプ|強姦|痴漢|性的暴行|監禁|誘拐|虐待|DV|dv|ストーカー|刺)(され|に遭|を受け|被害)(?!.{0,6}(映画|小説|ニュース))|家に(帰るのが怖|誰かが(入|侵入))|誰かが(家に|後をつけ|ついて来)|(つけられ|尾行され)て|殺されそう',
    '(上司|夫|妻|親|父|母|あいつ|みんな|誰か|元彼|隣人|先生|彼|彼女|全員)を(殺したい|殺してやる|刺したい|刺してやる|殺そう)(?!.{0,6}ゲーム)',
  ],
  harmless: [
    '死(に|ぬ)(たい)?ほど(笑|眠|暑|恥|美味|好き|おいし|面白|可愛)',
    '(笑い|暑くて|眠くて|恥ずかしくて|萌え|キュン)死に?',
    '時間を(つぶ|潰)',
    '虫の息',
    '(?<!逃げ|別れ|話し|言っ|出)(たら|れば|ると)[^。!?]{0,6}(母|母親|親|先生|上司|嫁|姉|お母さん)に殺され(る|ます|そう)',
  ],
  edges: 'none',
}

const KOREAN: PatternSet = {
  language: 'ko',
  script: 'hangul',
  selfHarm: [
    '죽고 ?싶(?!을 ?만큼|을 ?정도|지 ?않)|죽어 ?버리고 ?싶|자살(하고|할|을|하는|하려|시도|충동|생각|방법|하겠)|목숨을 ?끊|스스로 ?목숨|목을 ?(매|맬)|극단적(인)? ?선택을 ?(하|생각)|살고 ?싶지 ?않(?!은 ?(동네|곳|도시|집))|살기 ?싫(?!은 ?(동네|곳|도시|집))|더 ?(이상 )?살(고 ?싶지|기 ?싫|아갈 ?(자신|이유))|살(아야 ?할|) ?이유가 ?없|사는 ?(게|것이) ?(의미|지겹|너무 ?힘들|힘들어 ?죽)|삶을 ?(끝내|마감)|인생을 ?끝내|다 ?끝내고 ?싶|사라지고 ?싶|없어지고 ?싶|자해(를|하|했|하고)|손목을 ?(긋|그었|그어)|(뛰어내리|투신하)(고 ?싶|려|ㄹ)|내가 ?(없는|죽는|죽으면|없어지)[^.!?]{0,10}(낫|좋|행복)|안 ?아프게 ?죽|고통 ?없이 ?죽|태어나지 ?말|깨어나지 ?(않았으면|말았으면)|유서를 ?(썼|쓰|써)',
    '(친구|동생|형|누나|언니|오빠|아들|딸|엄마|아빠|어머니|아버지|남편|아내|남자친구|여자친구|남친|여친)[^.!?]{0,15}(죽고 ?싶|자살|자해|죽으려|목숨)',
  ],
  medical: [
    '입이 ?(돌아|비뚤)|얼굴( ?한쪽)?이 ?(마비|처졌|비뚤)|말이 ?어눌|피를 ?(너무 )?많이 ?흘|출혈이 ?심',
    '(약|수면제|알약|타이레놀|진통제)(을|를)? ?(너무 ?많이|많이|한 ?통|한 ?움큼|다|\\d\\d+알|수십 ?알|과다)[^.!?]{0,6}(먹|삼켰|복용)|과다 ?복용|약물 ?과다|(락스|표백제|세제|독약|농약|쥐약|건전지|배터리|휘발유|부동액|독버섯|제초제)(를|을)? ?[^.!?]{0,6}(마셨|마신|먹었|삼켰|먹은|마심|삼킨)|(가스|일산화탄소|음식)? ?중독(된 ?것|됐|되었)[^.!?]{0,10}',
    '숨을? ?(안 ?쉬|못 ?쉬|쉬지 ?(않|못)|쉴 ?수 ?없|멈췄)|숨이 ?(안 ?쉬어|막혀|멎|멈)|호흡이 ?(없|멈|곤란)|가슴이? ?(너무 |심하게 |갑자기 |많이 )?(아파요|아프고|아픈데|아파|조여|답답하고 ?식은|쥐어짜)(?!하는 ?(노래|영화))|가슴 ?통증|흉통|(의식이 ?없|의식을 ?잃|기절했|쓰러졌는데|쓰러져서|경련을|발작을|심장마비(가|인|온)|뇌졸중(인|이 ?온|같)|질식|목에 ?(뭐가 ?)?걸렸|맥박이 ?없)|피가 ?(안 ?멈|멈추지|계속)|(입술|얼굴)이 ?(파래|파랗|보라)|깨어나지 ?(않|못)|안 ?깨어나',
  ],
  violence: [
    '(남편|아내|남자친구|여자친구|남친|아빠|아버지|엄마|어머니|새아빠|계부|오빠|형|삼촌|상사|전남친|그 ?사람|그가)[^.!?]{0,12}(때려|때렸|때린|폭행|성폭행|강간|목을 ?졸|죽이겠|죽인다고|학대|추행|만져요|협박|칼로 ?위협|때립)|(성폭행|강간|성추행|폭행|납치|학대|스토킹|가정 ?폭력|데이트 ?폭력|성폭력)(을|를)? ?(당했|당하|당한|피해)|집에 ?(가기|들어가기)가? ?무서|누(가|군가)[^.!?]{0,10}(집에 ?(들어|침입)|따라와|따라오|미행)|나를 ?죽이려',
    '(상사|남편|아내|부모|아빠|엄마|그 ?새끼|모두|사람들?|누군가|전남친|이웃|그를|그녀)(를|을)? ?(죽이고 ?싶|죽일 ?거|죽여 ?버리|찌르고 ?싶|칼로 ?찌)(?!.{0,6}게임)',
  ],
  harmless: [
    '(웃겨|배고파|더워|졸려|쪽팔려|귀여워|보고 ?싶어|힘들어) ?죽(겠|을|는)[가-힣]*',
    '죽을 ?만큼',
    '시간(을)? ?(죽이|때우)',
    '수어사이드 ?스쿼드',
  ],
  edges: 'none',
}

export const ASIAN: readonly PatternSet[] = [
  TURKISH,
  HINDI,
  ROMANIZED_HINDI,
  INDONESIAN,
  VIETNAMESE,
  CHINESE,
  JAPANESE,
  KOREAN,
]
