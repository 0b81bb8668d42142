// German and Dutch. Texts and patterns are compared without accents and umlauts.
import type { PatternSet } from './pattern-set.ts'

const GERMAN_DRINKS =
  '(bleiche|bleichmittel|reiniger|putzmittel|spulmittel|frostschutzmittel|rattengift|gift|batterie|knopfzelle|benzin|lampenol|waschmittel|abflussreiniger|knollenblatterpilz|giftige pilze)'

const GERMAN: PatternSet = {
  language: 'de',
  selfHarm: [
    'mir (wieder )?die (arme|handgelenke) (auf)?(geschnitten|geritzt)',
    'pulsadern (auf)?(geschnitten|schneiden|zu schneiden)',
    'bringe? (ich )?mich (jetzt |heute |bald |noch heute )*um|hange (ich )?mich auf',
    'mich\\b.{0,25}\\b(umbringen|umzubringen|selbst toten|toten|zu toten|erhangen|zu erhangen|aufhangen|aufzuhangen|erschiessen|ritzen|selbst verletzen|vor (einen|den|die) (zug|bahn) (werfen|zu werfen|schmeissen))(?! (vor lachen|vor arbeit))',
    '(mir (et)?was antun|mir was anzutun|mir etwas anzutun|ich (springe|will)\\b.{0,15}(vor den zug|von der brucke|vom dach)( springen)?)',
    'ich (will|mochte|wurde gerne|wunschte|wunsche mir|mag|muss|kann|wollte|werde)\\b.{0,40}\\b(sterben|tot sein|tot zu sein|nicht mehr leben|nicht mehr aufwachen|nie wieder aufwachen|nicht mehr da sein|nicht mehr weiterleben|nicht mehr hier sein|ware tot)(?! (vor lachen|in berlin))',
    'ich (wunschte|wollte),? (ich (ware|war) (tot|nie geboren|nicht mehr da)|ich wurde nicht (mehr )?aufwachen)',
    '(mein leben|meinem leben|dem ganzen|allem|es)( endlich| jetzt| heute)? (ein ende|zu ende|beenden|zu beenden|ein ende (setzen|machen))',
    '(mir das leben (nehmen|zu nehmen)|selbstmord (begehen|machen)|suizid begehen|selbstmordgedanken|suizidgedanken|suizidal|ich denke an (selbstmord|suizid)|selbstmord nachdenken|an selbstmord|lebensmude)',
    '(keinen|kein|keine) (grund|sinn|lust)( mehr)?(,)? (zu leben|weiterzuleben|weiter zu leben|zum leben|am leben)(?! in)',
    '(mein leben|das leben|leben) (hat|macht|ist)( doch)? (keinen sinn|nicht (mehr )?lebenswert|sinnlos)',
    '(alle|alles|familie|welt|ihr|sie)\\b.{0,20}\\b(besser (dran )?ohne mich)|ohne mich (besser|glucklicher)|ich ware besser tot|besser,? ich ware tot|niemand wurde mich vermissen',
    '(mein|meine) (\\S+ )?(freund|freundin|bruder|schwester|sohn|tochter|mutter|vater|mann|frau|partner|partnerin|kind)\\b.{0,40}(will (sterben|nicht mehr leben)|umbringen|selbstmord|suizid|ritzt|das leben nehmen)',
    'ich (ritze|schneide|verletze) (mich|mir)( wieder| selbst| immer| absichtlich| die arme| ofter)',
    '(wie|was)\\b.{0,30}(schmerzlos|schmerzfrei|am schnellsten|am einfachsten) (sterben|umbringen|toten|suizid)|schmerzlos(er|en)? (sterben|tod|suizid)',
    '(kann|halte)\\b.{0,20}\\bnicht mehr\\b.{0,20}\\b(leben|sterben|ende|aus\\b.{0,10}leben)',
  ],
  medical: [
    '(schiefe[nrs]? mund|mundwinkel hang|mund hangt|gesicht hangt|gesicht ist gelahmt|eine seite (ist |des gesichts )?gelahmt)\\w*|(verliert|verliere) (so |sehr )?viel blut|verblutet(?! (im|in)\\b)',
    '(tabletten|pillen|schlaftabletten|schlafmittel|paracetamol|medikamente|ibuprofen)( auf einmal| alle)? (genommen|geschluckt|eingenommen|gegessen)',
    '(zu viele|zuviele|alle|ganze packung|eine packung|\\d\\d+|zwanzig|dreissig) (\\S+ )?(tabletten|pillen|schlaftabletten|paracetamol|ibuprofen)|uberdosis(?! (zucker|kaffee|niedlichkeit|vitamin c aus))',
    `${GERMAN_DRINKS}\\b.{0,25}\\b(getrunken|geschluckt|verschluckt|gegessen)|(trank|verschluckte|schluckte)\\b.{0,20}\\b${GERMAN_DRINKS}`,
    '(vergiftet|vergiftung)\\b.{0,30}(ich|hilfe|was tun|habe|kind|glaube)|(ich|er|sie|kind|hat sich|habe mich|wurde)\\b.{0,20}\\bvergiftet',
    '(atmet nicht|atmet kaum|hort auf zu atmen|aufgehort zu atmen|nicht mehr atmen|keine luft mehr|bekomme keine luft|kriege keine luft|bekommt keine luft|kriegt keine luft|kann nicht (mehr )?atmen|kann kaum atmen|atmet nicht mehr)(?! durch die nase)',
    '(brustschmerz|schmerzen? in der brust|stechen in der brust|druck (auf|in) der brust|brust (tut|schmerzt)|enge in der brust)\\w*',
    '(bewusstlos|ohnmachtig|erstickt|verschluckt sich|krampfanfall|krampft|herzinfarkt|schlaganfall|keinen puls|kein puls)\\b.{0,40}(hilfe|was|ich|er|sie|jetzt|glaube|hat|mein|$)(?<!was ist ein (herzinfarkt|schlaganfall))',
    '(wacht nicht (mehr )?auf|reagiert nicht (mehr )?(auf|und)|lasst sich nicht wecken)(?! (klicks?|eingaben?|die tastatur|die maus|touch))',
    '(blutet|blutung|blut)\\b.{0,25}(hort nicht auf|sehr stark|stoppt nicht|lasst sich nicht stoppen)|(ist|lauft|wird) (ganz )?blau (an|im gesicht|angelaufen)|blau angelaufen',
  ],
  violence: [
    'schlagt meine?n? (mutter|mama|schwester|bruder|kind|tochter|sohn)',
    '(hat|haben) mich\\b.{0,25}\\b(gestossen|geschubst|getreten|geohrfeigt|geboxt)(?! (beim|im)\\b)',
    '(mein|meine|der|die|er|sie)( (mann|frau|freund|freundin|ex|partner|vater|mutter|stiefvater|bruder|onkel|chef|papa|mama|ehemann))?( \\S+){0,2} (schlagt|verprugelt|vergewaltigt|bedroht|wurgt|missbraucht|misshandelt|begrapscht) mich(?! (beim|im|in) (schach|tennis|spiel))',
    '(hat|haben|werde|wurde|worden|bin)\\b.{0,30}\\b(mich )?(geschlagen|verprugelt|vergewaltigt|missbraucht|gewurgt|misshandelt|sexuell belastigt|entfuhrt)(?! (im|beim) )(?<!hat (bayern|dortmund).*)',
    '(will|droht,?|wird) mich (um(zu)?bringen|zu toten|toten|abstechen)|droht (mir|damit)\\b.{0,20}(umzubringen|zu toten)',
    'angst vor meinem (mann|vater|freund|ex|partner|stiefvater)|angst,? nach hause zu gehen|fasst mich (an|unsittlich)',
    '(jemand|ein mann|einbrecher)\\b.{0,20}(in meine(r)? (wohnung|haus)|in meinem haus|verfolgt mich|bricht (gerade )?(bei mir )?ein)',
    'ich (will|werde|mochte|konnte)\\b.{0,20}\\b(meine?n? (frau|mann|chef|ex|eltern|vater|mutter|kind|baby|nachbarn|lehrer)|jemanden|alle|ihn|sie|leute) (umbringen|toten|abstechen|erschiessen|erstechen|vergiften)(?! im spiel)',
  ],
  harmless: [
    '(sterbe|sterben|tot|tod)\\w* vor (lachen|hunger|langeweile|scham|neugier|hitze)',
    '(zeit|lange) totschlagen',
    'vor lachen \\w+',
    'suicide squad',
  ],
}

const DUTCH_DRINKS =
  '(bleek|bleekmiddel|schoonmaakmiddel|afwasmiddel|antivries|rattengif|vergif|gif|\\w*batterij(tje)?|knoopcel|benzine|wasmiddel|gootsteenontstopper|giftige paddenstoel(en)?)'

const DUTCH: PatternSet = {
  language: 'nl',
  selfHarm: [
    'ik (wil|zou willen|wou dat|wilde|ga|denk eraan|denk er over na|wens|heb zin om|moet|probeer|heb geprobeerd)\\b.{0,40}\\b(dood( zijn| was| gaan)?|sterven|zelfmoord( plegen)?|mezelf (doden|ophangen|pijn doen|snijden|van kant maken|iets aandoen|wat aandoen|vermoorden)|niet meer (leven|wakker worden|bestaan|verder leven|hier zijn)|een eind(e)? (aan|maken)|er een eind aan maken|uit het leven stappen|voor de trein springen)(?! (van het lachen|van de honger))',
    '(mezelf (doden|ophangen|snijden|verwonden|van kant maken)|zelfmoord (plegen|gedachten)|zelfmoordgedachten|ik ben suicidaal|suicidale gedachten|denk aan zelfmoord)(?! (tijdens|bij) )',
    '(geen|geen enkele)( \\S+)? (reden|zin)( meer)? (om|in|het)( te| nog)? (leven|verder te leven|te leven)(?! in)',
    '(mijn leven|het leven) (heeft geen zin|is het niet (meer )?waard|is zinloos)|iedereen (is|zou) beter af( zijn)? zonder mij|ik ben beter af dood',
    '(levensmoe|niemand zou me missen|ik snijd mezelf|ik snij mezelf|ik kras mezelf)',
    'mijn (\\S+ )?(vriend|vriendin|broer|zus|zoon|dochter|moeder|vader|man|vrouw|partner|kind)\\b.{0,40}(wil (dood|sterven|niet meer leven)|zelfmoord|snijdt zichzelf|suicid)',
    '(pijnloos|pijnloze|snelste|makkelijkste) (sterven|dood|manier om (te sterven|dood te gaan|zelfmoord|mezelf))',
    'ik (wou|wens) dat ik (dood was|nooit geboren was|niet meer wakker werd)',
  ],
  medical: [
    '(scheve mond|mond hangt|gezicht hangt|mond trekt scheef)|verliest (heel )?veel bloed|bloedt dood',
    '(te veel|teveel|alle|hele doos|hele strip|\\d\\d+|twintig|dertig) (\\S+ )?(pillen|tabletten|slaappillen|paracetamol|pijnstillers|medicijnen)( \\S+){0,2} (geslikt|genomen|ingenomen|op)|overdosis(?! (suiker|koffie))',
    `${DUTCH_DRINKS}\\b.{0,25}\\b(gedronken|ingeslikt|geslikt|doorgeslikt|gegeten|opgegeten)|(dronk|slikte)\\b.{0,20}\\b${DUTCH_DRINKS}`,
    'vergiftigd\\b.{0,20}|koolmonoxide(melder)? (gaat af|piept)',
    '(ademt niet|ademt nauwelijks|niet meer ademen|stopte met ademen|gestopt met ademen|krijg(t)? geen lucht|kan niet (meer )?ademen|kan nauwelijks ademen|haalt geen adem)(?! door (mijn|de) neus)',
    '(pijn|druk|steken|beklemming)( \\S+)? (op|in) (de|mijn|zijn|haar) borst|borstpijn',
    '(bewusteloos|buiten bewustzijn|stikt|verslikt zich|hartaanval|beroerte|geen hartslag|geen polsslag|stuiptrekking)\\b.{0,40}(help|wat|ik|hij|zij|ze|nu|denk|mijn|$)(?<!wat is een (hartaanval|beroerte))',
    '(wordt niet wakker|reageert niet meer)(?! op (klikken|de muis|toetsen))|(bloed|bloedt)\\b.{0,20}(stopt niet|heel erg|hevig)|(loopt|wordt|is) blauw( aan|[.!?]|$)',
  ],
  violence: [
    '(mijn|hij|zij|ze)( (man|vrouw|vriend|vriendin|ex|partner|vader|moeder|stiefvader|broer|oom|baas))?( \\S+){0,2} (slaat|mishandelt|verkracht|bedreigt|wurgt|misbruikt|schopt|betast) (mij|me)(?! (bij|met|in) (schaken|tennis))',
    '(ik ben|ik word|ben ik|heeft (mij|me))\\b.{0,20}(verkracht|mishandeld|geslagen|misbruikt|aangerand|bedreigd met|gewurgd|ontvoerd|neergestoken)',
    '(wil|gaat|dreigt) (mij|me) (te )?(vermoorden|doden|doodsteken|doodmaken)|bang (voor mijn (man|vader|vriend|ex|partner)|om naar huis te gaan)',
    '(iemand|een man)\\b.{0,20}(breekt (in|bij mij in)|in mijn huis|achtervolgt me|volgt me op straat)',
    'ik (wil|ga|zou)\\b.{0,15}(mijn (vrouw|man|baas|ex|ouders|vader|moeder|kind|baby|buurman|leraar)|iemand|iedereen|hem|haar) (vermoorden|doden|neersteken|doodschieten|vergiftigen)(?! in het spel)',
  ],
  harmless: [
    '(dood|sterven|sterf) van (het lachen|de honger|verveling|schaamte|de hitte)',
    'de tijd doden',
    'suicide squad',
  ],
}

export const GERMANIC: readonly PatternSet[] = [GERMAN, DUTCH]
