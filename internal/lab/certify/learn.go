package certify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// learnOrders is the number of orders that learn begins.
const learnOrders = 2

// placeholder is a part of a Success URL that each order fills in: the ID of its session,
// or what the shop's answer to the order said, by its name.
var placeholder = regexp.MustCompile(`\{(session|told:[^{}]*)\}`)

// learn learns the Success URL from the redirects of two orders. Where they differ by a
// value that the shop's answer says, such as an order number, each order fills in its own.
func (r *run) learn() {
	var orders [learnOrders]*order
	var addresses [learnOrders]string
	for i := range orders {
		orders[i] = r.orderIn(newBrowser())
		r.tellCancel(orders[i])
		addresses[i] = withoutResult(r.redirectOf(orders[i]))
	}
	r.target.SuccessURL = addresses[0]
	if addresses[0] == addresses[1] {
		return
	}
	for name, value := range orders[0].told {
		pattern := strings.ReplaceAll(addresses[0], value, "{told:"+name+"}")
		if fill(pattern, orders[1]) == addresses[1] {
			r.target.SuccessURL, r.cancels = pattern, strings.HasPrefix(name, cancelPart)
			return
		}
	}
	r.varying = true
}

// withoutResult removes the parameters of a result from an address.
func withoutResult(address string) string {
	u := parse("the gateway's redirect", address)
	values := u.Query()
	for _, name := range resultParams {
		values.Del(name)
	}
	u.RawQuery = values.Encode()
	return u.String()
}

// fill returns the Success URL of an order.
func fill(pattern string, o *order) string {
	return placeholder.ReplaceAllStringFunc(pattern, func(part string) string {
		if part == sessionParam {
			return o.id.String()
		}
		return o.told[strings.TrimSuffix(strings.TrimPrefix(part, "{told:"), "}")]
	})
}

// told returns what the answer to an order says: its cookies, and the texts and numbers
// of its JSON, as they are written in a query.
func (v visit) told(buyer *browser, address string) map[string]string {
	said := map[string]string{}
	for _, cookie := range buyer.Cookies(parse("order.url", address)) {
		said[cookie.Name] = cookie.Value
	}
	members := map[string]any{}
	in := json.NewDecoder(bytes.NewReader(v.body))
	in.UseNumber()
	_ = in.Decode(&members) // text that is not JSON says nothing
	for name, value := range members {
		switch value.(type) {
		case string, json.Number:
			said[name] = fmt.Sprint(value)
		}
	}
	for name, value := range said {
		if said[name] = url.QueryEscape(value); value == "" {
			delete(said, name)
		}
	}
	return said
}

// cancelPart begins the names of what an order's Cancel URL tells.
const cancelPart = "cancel_url "

// tellCancel adds the parts of an order's Cancel URL to what the shop told of the order.
// The hosted page shows the Cancel URL, and a shop may write the order's number into it
// as well as into the Success URL.
func (r *run) tellCancel(o *order) {
	u := parse("the Cancel URL of the hosted page", r.cancelOf(o))
	for name, values := range u.Query() {
		if values[0] != "" {
			o.told[cancelPart+name] = url.QueryEscape(values[0])
		}
	}
	for i, part := range strings.Split(u.EscapedPath(), "/") {
		if part != "" {
			o.told[cancelPart+strconv.Itoa(i)] = part
		}
	}
}

// cancelOf returns the Cancel URL of an order, from the hosted page of its session unless
// the target names it; "" if the page has none.
func (r *run) cancelOf(o *order) string {
	if r.target.CancelURL != "" {
		return strings.ReplaceAll(r.target.CancelURL, sessionParam, o.id.String())
	}
	for n := range r.page(o).Descendants() {
		var address, is string
		for _, a := range n.Attr {
			switch a.Key {
			case "href":
				address = a.Val
			case "data-testid":
				is = a.Val
			}
		}
		if n.Data == "a" && (is == "return" || is == "leave") {
			return address
		}
	}
	return ""
}

// page returns the hosted page of an order's session.
func (r *run) page(o *order) *html.Node {
	body := must(r.gateway.Page(r.ctx, o.link))
	return must(html.Parse(bytes.NewReader(body)))
}

var agePattern = regexp.MustCompile(`\b[1-9][0-9]\b`)

// askedAge returns the age in the heading of an order's hosted page, or "".
func (r *run) askedAge(o *order) string {
	for n := range r.page(o).Descendants() {
		if n.Data != "h1" {
			continue
		}
		for text := range n.Descendants() {
			if age := agePattern.FindString(text.Data); text.Type == html.TextNode && age != "" {
				return age
			}
		}
	}
	return ""
}

// plainCookies returns the cookies for an address that have another value than before and
// that anybody could guess: those of a few characters.
func plainCookies(buyer *browser, at *url.URL, before []*http.Cookie) []*http.Cookie {
	const guessable = 16 // characters
	return slices.DeleteFunc(buyer.Cookies(at), func(c *http.Cookie) bool {
		return len(c.Value) >= guessable || slices.ContainsFunc(before, func(b *http.Cookie) bool {
			return b.Name == c.Name && b.Value == c.Value
		})
	})
}
