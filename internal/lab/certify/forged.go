package certify

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"agegate/internal/rules/webhook"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// damage is what becomes of a value when something is taken from it.
type damage struct{ name, value string }

// damages returns every damage to a value, for each field of each format; with cased,
// also the value in the other case of letters.
func damages(value string, cased bool) []damage {
	n := len(value)
	all := []damage{
		{"empty", ""}, {"its first byte", value[:min(n, 1)]}, {"its first half", value[:n/2]},
		{"its last half", value[n/2:]}, {"without its last byte", value[:max(n-1, 0)]}, {"twice", value + value},
	}
	if other := otherCase(value); cased && other != value {
		all = append(all, damage{"in the other case", other})
	}
	return all
}

const wholeFix = "Compare whole values, and never with startsWith, includes or LIKE: an empty text, and every " +
	"beginning, is in all of them."

var forgedRedirectCases = []testCase{
	{
		name: "redirect.cut-token", passes: true,
		title: "A token of which a part is empty, cut, doubled or in another case is refused",
		fix:   wholeFix + " " + compareFix,
		act: func(t *trial) error {
			var changes []query
			change := func(name string, of func(expires, mac string) []damage) {
				for i := range of("0", "0") {
					c := changedToken(func(token string) string {
						expires, mac, _ := strings.Cut(token, ".")
						return of(expires, mac)[i].value
					})
					c.what = name + " " + of("0", "0")[i].name
					changes = append(changes, c)
				}
			}
			change("token", func(expires, mac string) []damage { return damages(expires+"."+mac, false) })
			change("expiry", func(expires, mac string) (all []damage) {
				for _, d := range damages(expires, false) {
					all = append(all, damage{d.name, d.value + "." + mac})
				}
				return all
			})
			change("MAC", func(expires, mac string) (all []damage) {
				for _, d := range damages(mac, false) {
					all = append(all, damage{d.name, expires + "." + d.value})
				}
				return append(all, damage{"missing, with the dot", expires})
			})
			return t.redirectAs(t.goodURL, changes...)
		},
	},
	{
		name: "redirect.cut-value", passes: true,
		title: "A redirect whose session, status or is_adult is empty, cut or doubled is refused", fix: wholeFix,
		act: func(t *trial) error {
			var changes []query
			for _, name := range resultParams[1:] {
				for i, d := range damages("00", false) {
					changes = append(changes, query{name + " " + d.name, func(q string) string {
						pairs := strings.Split(q, "&")
						for k, pair := range pairs {
							if value, ok := strings.CutPrefix(pair, name+"="); ok {
								pairs[k] = name + "=" + damages(value, false)[i].value
							}
						}
						return strings.Join(pairs, "&")
					}})
				}
			}
			return t.redirectAs(t.goodURL, changes...)
		},
	},
	{
		name: "redirect.unsigned", title: "A token that anybody can write, with no MAC or with a piece of one, is refused",
		fix: wholeFix + " " + compareFix,
		act: func(t *trial) error {
			own, err := t.order()
			if err != nil {
				return err
			}
			later := strconv.FormatInt(t.Now().Add(tokenTTL).Unix(), 10)
			made := pass(own).Token(t.foreignKey, t.Now().Add(tokenTTL))
			tokens := []string{"", ".", later, later + ".", later + ".A", later + ".undefined", later + ".null", "." + later,
				later + ".." + later}
			for _, d := range damages(made, false) {
				tokens = append(tokens, d.value)
			}
			for _, token := range tokens {
				address, err := t.successURL(own, pass(own), token)
				if err != nil {
					return err
				}
				t.visit(own, "", address)
			}
			return nil
		},
	},
}

var forgedWebhookCases = []testCase{
	{
		name: "webhook.cut-signature", title: "A delivery whose signature is empty, cut or doubled is refused", fix: wholeFix,
		act: func(t *trial) error {
			return t.sendDamaged(func(h http.Header) (all []damage) {
				whole := h.Get(standardwebhooks.HeaderWebhookSignature)
				_, mac, _ := strings.Cut(whole, ",")
				for _, d := range damages(mac, false) {
					all = append(all, damage{d.name, "v1," + d.value})
				}
				all = append(all, damages(whole, false)...)
				return append(all, damage{"v1 alone", "v1"}, damage{"a comma alone", ","}, damage{"a space", " "},
					damage{"cut, behind a wrong one", "v1,AAAA v1," + mac[:4]})
			}, standardwebhooks.HeaderWebhookSignature)
		},
	},
	{
		name: "webhook.foreign-scheme", title: "A delivery that has only signatures of unknown schemes is refused",
		fix: "Ignore signatures that do not begin with \"v1,\": they prove nothing. Where none is left, refuse.",
		act: func(t *trial) error {
			return t.sendDamaged(func(http.Header) []damage {
				return []damage{{"v2", "v2,x"}, {"v1a", "v1a,bm90IG9mIHRoaXMgc2NoZW1l"}, {"v0", "v0,"}, {"none", "x"},
					{"several", "v2,x v3,y"}}
			}, standardwebhooks.HeaderWebhookSignature)
		},
	},
	{
		name: "webhook.cut-header", orders: 2,
		title: "A delivery whose webhook-id or webhook-timestamp is empty, cut or doubled is refused",
		fix:   "Verify the signature over webhook-id, webhook-timestamp and the body, each whole and as received.",
		act: func(t *trial) error {
			for _, name := range []string{standardwebhooks.HeaderWebhookID, standardwebhooks.HeaderWebhookTimestamp} {
				err := t.sendDamaged(func(h http.Header) []damage { return damages(h.Get(name), true) }, name)
				if err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name: "webhook.cut-body", title: "A delivery whose body is not all that was signed, or more, is refused",
		fix: "Verify the signature over the whole body, with every byte that arrived, before anything reads it.",
		act: func(t *trial) error {
			d, err := t.good()
			if err != nil {
				return err
			}
			d.signed = d.body
			whole := string(d.body)
			for _, cut := range append(damages(whole, true), damage{"with a member behind it",
				strings.TrimSuffix(whole, "}") + `,"x":1}`}) {
				d.what, d.body = cut.name, []byte(cut.value)
				if err := t.send(d, refuse); err != nil {
					return err
				}
				if err := t.tell(d.to, cut.name); err != nil {
					return err
				}
			}
			return nil
		},
	},
	{
		name:  "webhook.cut-member",
		title: "A signed delivery releases nothing whose session_id, status or is_adult is missing, empty, cut or doubled",
		fix: "Require the session_id of the order, the status VERIFIED and is_adult true, each exactly: a JSON true, " +
			"neither a text nor a default.",
		act: (*trial).sendCutMembers,
	},
}

// sendDamaged sends one event with each damage to a header, which makes it a forgery.
func (t *trial) sendDamaged(of func(good http.Header) []damage, header string) error {
	d, err := t.good()
	if err != nil {
		return err
	}
	good, err := d.header()
	if err != nil {
		return err
	}
	for _, cut := range of(good) {
		d.what, d.alter = header+" "+cut.name, func(h http.Header) { h.Set(header, cut.value) }
		if err := t.send(d, refuse); err != nil {
			return err
		}
		if err := t.tell(d.to, d.what); err != nil {
			return err
		}
	}
	return nil
}

// sendCutMembers sends signed events of one order that the gateway never sends.
func (t *trial) sendCutMembers() error {
	o, err := t.order()
	if err != nil {
		return err
	}
	e, err := t.event(o, webhook.ResultVerified, false, t.Now())
	if err != nil {
		return err
	}
	type cut struct {
		member, what string
		value        any // nil: the member is missing
	}
	cuts := []cut{{"session_id", "missing", nil}, {"status", "missing", nil}, {"is_adult", "missing", nil},
		{"session_id", "null", json.RawMessage("null")}, {"status", "null", json.RawMessage("null")},
		{"status", "true", true}, {"is_adult", "null", json.RawMessage("null")}, {"is_adult", "false as a text", "false"},
		{"is_adult", "empty", ""}, {"is_adult", "0", 0}, {"is_adult", "0 as a text", "0"}}
	for _, d := range damages(o.session.ID.String(), false) {
		cuts = append(cuts, cut{"session_id", d.name, d.value})
	}
	for _, d := range damages(string(webhook.ResultVerified), true) {
		cuts = append(cuts, cut{"status", d.name, d.value})
	}
	for _, c := range append(cuts, cut{"status", "another", "UNVERIFIED"}, cut{"status", "the session's", "PASSED"}) {
		var members map[string]any
		if err := json.Unmarshal(bytes.Clone(e.Body), &members); err != nil {
			return err
		}
		if members[c.member] = c.value; c.value == nil {
			delete(members, c.member)
		}
		body, err := json.Marshal(members)
		if err != nil {
			return err
		}
		what := c.member + " " + c.what
		d := &delivery{to: o, what: what, id: "evt_" + newID().String(), at: t.Now(), keys: t.webhookKeys, body: body}
		if err := t.send(d, either); err != nil {
			return err
		}
		if err := t.tell(o, what); err != nil {
			return err
		}
	}
	return nil
}
