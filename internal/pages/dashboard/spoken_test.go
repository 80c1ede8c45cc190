package dashboard

import "testing"

// TestSpoken: the language of a mail is that with the most of its words, and the page's if none has more.
func TestSpoken(t *testing.T) {
	all, err := readReplies()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"My age was refused, I am 34": "en", "I want a refund": "en", "Ich will mein Geld zurück": "de",
		"Ich bin 34 und wurde abgelehnt": "de", "J'ai 34 ans et votre caméra m'a refusé": "fr",
		"Mam 34 lata, dlaczego nie mogę kupić?": "pl", "Tengo 34 años y no me deja comprar": "es",
		"Ho 34 anni e la vostra fotocamera non mi riconosce": "it", "Ik ben 34 en word geweigerd": "nl",
		"Jag är 34 år och kameran fungerar inte": "sv", "Ben 34 yaşındayım, neden kabul edilmedi?": "tr",
		"لماذا لا تعمل الكاميرا؟": "ar", "refund": "de", "Wallet": "de", "1042": "de",
	} {
		if got := all.spoken(text, "de"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
