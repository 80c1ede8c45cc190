package session

import (
	"strings"
	"testing"
)

func TestOrderOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://shop.example/ok?order=1042":               "1042",
		"https://shop.example/ok?lang=de&Order-ID=A%2F7#x": "A/7",
		"https://shop.example/ok?ref=r1&order_no=o1":       "o1",
		"https://shop.example/ok?cart=Größe-7":             "Größe-7",
		"https://shop.example/ok?encomenda=1702":           "1702",
		"https://shop.example/ok?border=1042":              "",
		"https://shop.example/ok?order=%3D1%2B1":           "",
		"https://shop.example/ok?order=":                   "",
		"https://shop.example/ok?token=secret":             "",
		"https://shop.example/ok":                          "",

		"https://shop.example/ok?order=" + strings.Repeat("ä", 64): strings.Repeat("ä", 64),
		"https://shop.example/ok?order=" + strings.Repeat("ä", 65): "",
	} {
		if got := orderOf(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

func TestTypedOrder(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"1042": "1042", "#1042": "1042", "order 1042": "1042", "Order no. #1042": "1042", "order=1042": "1042",
		"Bestellung Nr. 1042": "1042", " order_id=A/7 ": "A/7", "orders-7": "orders-7", "encomenda 1702": "1702",
		"a=1042": "", "two words": "", "": "",
	} {
		if got := TypedOrder(typed); got != want {
			t.Errorf("%q: %q, want %q", typed, got, want)
		}
	}
}
