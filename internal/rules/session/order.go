package session

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// orderNames are the parameters that name a merchant's order, in lower case and
// without punctuation, the most telling first.
var orderNames = []string{
	"order", "orderid", "orderno", "ordernumber", "orderref", "orderreference", "reference", "ref", "cart", "cartid",
	"basket", "basketid", "checkout", "checkoutid", "invoice", "invoiceid", "purchase", "purchaseid",
	"bestellung", "bestellnummer", "bestelling", "bestelnummer", "commande", "encomenda", "ordine", "pedido", "zamowienie",
}

// maxOrder is the maximum number of characters of an order.
const maxOrder = 64

// orderForm is the form of an order. It begins with a letter or a digit, so that a spreadsheet does not take it for
// a formula. It has no maximum length, for which package regexp would keep the classes of letters 64 times in memory.
var orderForm = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._:/#-]*$`)

func isOrder(text string) bool {
	return utf8.RuneCountInString(text) <= maxOrder && orderForm.MatchString(text)
}

// orderWords stand before an order that a person types.
var orderWords = regexp.MustCompile(`(?i)^(?:(?:order|bestell(?:ung|ing)|commande|encomenda|ordine|pedido)` +
	`(?: (?:no|nr|number|nummer)\.?)?[ :#]+)?#? *`)

// TypedOrder returns the order that a person means by a text, such as 1042, #1042,
// order 1042 or order=1042, or "" if the text names none.
func TypedOrder(text string) string {
	name, value, named := strings.Cut(strings.TrimSpace(text), "=")
	switch {
	case named && slices.Contains(orderNames, plainName(name)):
		text = value
	case !named:
		text = orderWords.ReplaceAllString(name, "")
	}
	if !isOrder(text) {
		return ""
	}
	return text
}

// plainName is the name of a parameter as in orderNames.
func plainName(name string) string {
	return notAlphanumeric.ReplaceAllString(strings.ToLower(name), "")
}

var notAlphanumeric = regexp.MustCompile(`[^a-z0-9]`)

// orderOf returns the merchant's order in the query of a success URL, or "": the
// value of a parameter such as order=1042, order_id or cart.
func orderOf(successURL string) string {
	u, err := url.Parse(successURL)
	if err != nil {
		return ""
	}
	best, found := len(orderNames), ""
	query := u.Query()
	for _, name := range slices.Sorted(maps.Keys(query)) {
		rank, value := slices.Index(orderNames, plainName(name)), query.Get(name)
		if rank >= 0 && rank < best && isOrder(value) {
			best, found = rank, value
		}
	}
	return found
}
