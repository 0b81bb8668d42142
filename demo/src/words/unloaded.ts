// The sentence that first-paint.js shows if the page's scripts do not load, in each language. The build puts
// the table into the page.
import type { Language } from '../../../src/ui/words/languages.ts'

export const UNLOADED: Readonly<Record<Language, string>> = {
  ar: 'تعذّر تحميل جزء من هذه الصفحة. تحقّق من الاتصال، ثم أعد تحميل الصفحة.',
  bn: 'এই পৃষ্ঠার একটি অংশ লোড করা যায়নি। সংযোগ পরীক্ষা করে পৃষ্ঠাটি আবার লোড করুন।',
  de: 'Ein Teil dieser Seite konnte nicht geladen werden. Prüfe die Verbindung und lade die Seite neu.',
  en: 'A part of this page could not be loaded. Check the connection, then reload the page.',
  es: 'No se ha podido cargar una parte de esta página. Comprueba la conexión y vuelve a cargarla.',
  fr: 'Une partie de cette page n’a pas pu être chargée. Vérifiez la connexion, puis rechargez la page.',
  he: 'חלק מהדף לא נטען. בדקו את החיבור וטענו את הדף מחדש.',
  hi: 'इस पेज का एक हिस्सा लोड नहीं हो सका। कनेक्शन जाँचें, फिर पेज को फिर से लोड करें।',
  id: 'Sebagian halaman ini tidak dapat dimuat. Periksa koneksi, lalu muat ulang halaman.',
  it: 'Una parte di questa pagina non è stata caricata. Controlla la connessione e ricarica la pagina.',
  ja: 'このページの一部を読み込めませんでした。接続を確認してから、ページを再読み込みしてください。',
  ko: '이 페이지의 일부를 불러오지 못했습니다. 연결을 확인한 후 페이지를 새로고침하세요.',
  nl: 'Een deel van deze pagina kon niet worden geladen. Controleer de verbinding en laad de pagina opnieuw.',
  pl: 'Nie udało się wczytać części tej strony. Sprawdź połączenie i odśwież stronę.',
  pt: 'Não foi possível carregar uma parte desta página. Verifique a conexão e recarregue a página.',
  ru: 'Не удалось загрузить часть этой страницы. Проверьте подключение и перезагрузите страницу.',
  tr: 'Bu sayfanın bir bölümü yüklenemedi. Bağlantıyı kontrol edip sayfayı yeniden yükleyin.',
  uk: 'Не вдалося завантажити частину цієї сторінки. Перевірте з’єднання та перезавантажте сторінку.',
  vi: 'Không thể tải một phần của trang này. Hãy kiểm tra kết nối rồi tải lại trang.',
  'zh-Hans': '此页面的一部分无法加载。请检查网络连接，然后重新加载页面。',
  'zh-Hant': '無法載入此頁面的一部分。請檢查網路連線，然後重新載入頁面。',
}
