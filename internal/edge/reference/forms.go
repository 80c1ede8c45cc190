package reference

import (
	"slices"
	"strings"
)

// fillers are words that say nothing about what is looked for.
var fillers = strings.Fields(`a an and are but can did do does example examples for he how i in is it my of on or our
	says she the this to we what when where who why with`)

// askedFor returns the words of a query without its fillers, or all if it has no others.
func askedFor(query string) []string {
	all := wordsOf(query)
	words := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(fillers, w) })
	if len(words) == 0 {
		return all
	}
	return words
}

// synonyms are words by which people look for what these pages call otherwise.
var synonyms = map[string]string{
	"2fa": "authenticator", "bias": "group", "buyer": "shopper", "ccpa": "gdpr", "chargeback": "refund", "child": "minors",
	"children": "minors", "colour": "group", "csharp": "languages", "customer": "shopper",
	"customers": "shopper", "deepfake": "spoof", "demo": "sample", "desktop": "computer", "django": "python",
	"dotnet": "languages", "dpa": "processor", "driver": "driving", "dsgvo": "gdpr", "duration": "takes",
	"embed": "iframe", "embedded": "iframe", "fairness": "group", "fast": "takes", "flask": "python",
	"forgot": "lost", "forgotten": "forgot", "https": "tls", "invoice": "billing", "ios": "iphone",
	"kid": "minors", "kids": "minors", "kotlin": "languages", "laravel": "php", "leaked": "rotate",
	"license": "licence", "login": "log", "minor": "minors", "monitor": "metrics", "monitoring": "metrics",
	"much": "costs", "ngrok": "localhost", "parental": "minors", "pc": "computer", "permission": "role",
	"permissions": "role", "race": "group", "racism": "group", "rails": "ruby", "regulator": "evidence",
	"reset": "recovery", "retention": "stored", "rust": "languages",
	"selfie": "camera", "signin": "log", "skin": "group", "slow": "takes", "speed": "takes", "ssl": "tls",
	"stolen": "rotate", "symfony": "php", "tablet": "phone", "teenager": "minors", "teenagers": "minors",
	"tier": "costs", "timing": "takes", "translate": "language", "translation": "language",
	"underage": "minors", "update": "upgrade", "wcag": "accessibility",
}

// endings are cut off a word to find its other forms, such as refunds for refunded.
var endings = []string{"ing", "ies", "ly", "ed", "es", "s"}

// minStem is the least that must be left of a word.
const minStem = 4

// formsOf returns other forms of a word that is asked for: its stem, and the word of
// these pages for it.
func formsOf(asked string) (forms []string) {
	for _, ending := range endings {
		if stem, ok := strings.CutSuffix(asked, ending); ok && len(stem) >= minStem {
			forms = append(forms, stem)
			break
		}
	}
	if other, ok := synonyms[asked]; ok {
		forms = append(forms, other)
	}
	return forms
}

// gradeOfForm says how well a word matches another form of one that is asked for, or 0:
// the beginning must be the same, and it is not as good as the word itself.
func gradeOfForm(form, w string) int {
	if !strings.HasPrefix(w, form) {
		return 0
	}
	return grade(form, w) - 1
}
